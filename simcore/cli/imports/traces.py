"""``simcore diff``: a prediction beside a trace of PyTorch's profiler."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.cli.settings import json_option, setting, settings_option, write_text

if TYPE_CHECKING:
    from simcore.comparison import TraceDifference

MOST_UNKNOWN = 5
"""Kernels of no known kind that are named; all of them stand in the JSON."""


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@settings_option("plan.tp=4")
@click.option("--step", type=int, help="Number of ProfilerStep#.  [the one of median length]")
@click.option("--stage", type=int, help="Pipeline stage of the rank.  [as its number says]")
@json_option
def diff(
    trace: Path,
    file: Path,
    settings: tuple[str, ...],
    step: int | None,
    stage: int | None,
    json_out: Path | None,
) -> None:
    """Compare a step in TRACE (Kineto, JSON) with the run of FILE: what takes more, what less."""
    from simcore.comparison import compare_with_trace
    from simcore.config import load_run

    run = load_run(file, dict(setting(text) for text in settings))
    announce_compilation(folded=True)
    found = compare_with_trace(run, trace, step=step, stage=stage)
    _print(found)
    if json_out is not None:
        write_text(json_out, _as_json(found))


def _print(found: "TraceDifference") -> None:
    from rich.console import Console
    from rich.table import Table

    from simcore.units import format_quantity

    def told(*times_ns: int) -> list[str]:
        return [format_quantity(time * 1e-9, "s") for time in times_ns]

    console = Console()
    console.print(f"measured: {found.step}; predicted: stage {found.stage}", highlight=False)
    table = Table("", "measured", "predicted", "difference", "kernels", "predicted", box=None)
    for column in table.columns[1:]:
        column.justify = "right"
    for row in found.rows:
        if row.measured_ns or row.predicted_ns:
            times = told(row.measured_ns, row.predicted_ns, row.difference_ns)
            table.add_row(str(row.work), *times, f"{row.kernels:,}", f"{row.nodes:,}")
    whole = told(found.measured_ns, found.predicted_ns, found.difference_ns)
    table.add_row("in all", *whole, "", "")
    console.print(table)
    for name, time_ns in found.unknown[:MOST_UNKNOWN]:
        line = f"of no known kind: {name}, {told(time_ns)[0]}"
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    for note in found.notes:
        console.print(f"note: {note}", highlight=False, soft_wrap=True)


def _as_json(found: "TraceDifference") -> str:
    import json

    content = {
        "step": found.step,
        "stage": found.stage,
        "measured_ns": found.measured_ns,
        "predicted_ns": found.predicted_ns,
        "difference_ns": found.difference_ns,
        "rows": [
            {
                "kind": row.work.kind,
                "phase": row.work.phase,
                "measured_ns": row.measured_ns,
                "predicted_ns": row.predicted_ns,
                "difference_ns": row.difference_ns,
                "measured_kernels": row.kernels,
                "predicted_kernels": row.nodes,
            }
            for row in found.rows
        ],
        "unknown_kernels": [{"name": name, "time_ns": time} for name, time in found.unknown],
        "notes": list(found.notes),
    }
    return json.dumps(content, indent=1) + "\n"
