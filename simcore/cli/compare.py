"""``simcore compare``: two runs side by side."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.cli.settings import json_option, setting, settings_option, write_text
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.comparison import Comparison
    from simcore.config import Run
    from simcore.serving import Service

_UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    "_usd_per_hour": "USD/h",
    "_bytes": "B",
    "_s": "s",
    "_w": "W",
    "_usd": "USD",
}
"""Units by the ends of names, longer ends first."""

MOST_VALUES = 30
"""Values that differ and are listed; all of them stand in the JSON."""


@click.command()
@click.argument("one", type=click.Path(path_type=Path), metavar="A")
@click.argument("two", type=click.Path(path_type=Path), metavar="B")
@settings_option("plan.tp=4, in B alone")
@json_option
def compare(one: Path, two: Path, settings: tuple[str, ...], json_out: Path | None) -> None:
    """Compare the runs, or services, of the files A and B: what differs, and what that does."""
    from simcore.comparison import compare as compare_runs

    announce_compilation(folded=True)
    first, second = _load(one, {}), _load(two, dict(setting(text) for text in settings))
    try:
        found = compare_runs(first, second)
    except TypeError as error:
        raise ConfigError("B", "must be of the same kind as A", got=str(error)) from None
    _print(found)
    if json_out is not None:
        write_text(json_out, _as_json(found))


def _load(path: Path, values: dict[str, object]) -> "Run | Service":
    from simcore.config import load_run
    from simcore.serving import is_service, load_service

    if is_service(path):
        return load_service(path, values)
    return load_run(path, values)


def _print(found: "Comparison") -> None:
    from rich.console import Console
    from rich.table import Table

    from simcore.units import format_quantity

    console = Console()
    if not found.values:
        console.print("A and B are the same")
        return
    named = {path: pair for path, pair in found.values.items() if not _is_source(path)}
    values = Table("value", "A", "B", box=None)
    for path, pair in list(named.items())[:MOST_VALUES]:
        values.add_row(path, *(_shown(path, value) for value in pair))
    console.print(values)
    if (left := len(found.values) - min(len(named), MOST_VALUES)) > 0:
        console.print(f"and {left} further values (--json has them all)", highlight=False)
    times = Table("time", "A", "B", "difference", box=None)
    for column in times.columns[1:]:
        column.justify = "right"
    for reason, pair in found.by_reason_ns().items():
        if pair[0] != pair[1]:
            told = [format_quantity(time * 1e-9, "s") for time in (*pair, pair[1] - pair[0])]
            times.add_row(str(reason), *told)
    whole = [time.time_ns for time in found.times]
    told = [format_quantity(time * 1e-9, "s") for time in (*whole, found.difference_ns)]
    times.add_row(f"in all, {found.times[0].what}", *told)
    console.print(times)
    console.print(f"B takes {whole[1] / whole[0]:.4g} times as long as A", highlight=False)


def _is_source(path: str) -> bool:
    """True if *path* says where values come from, which changes no time."""
    return not {"source", "sources"}.isdisjoint(path.split("."))


def _shown(path: str, value: object) -> str:
    """*value* with the unit that a name along its path ends in."""
    from simcore.units import format_memory, format_quantity

    if value is None:
        return "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        for name in reversed(path.split(".")):
            unit = next((unit for end, unit in _UNITS.items() if name.endswith(end)), None)
            if unit == "B":
                return format_memory(value)
            if unit is not None:
                return format_quantity(value, unit)
    return f"{value:g}" if isinstance(value, float) else f"{value}"


def _as_json(found: "Comparison") -> str:
    import json

    content = {
        "values": {path: list(pair) for path, pair in found.values.items()},
        "time_ns": [time.time_ns for time in found.times],
        "way": [time.way for time in found.times],
        "parts": [
            {"reason": str(reason), "a_ns": pair[0], "b_ns": pair[1]}
            for reason, pair in found.by_reason_ns().items()
        ],
    }
    return json.dumps(content, indent=2) + "\n"
