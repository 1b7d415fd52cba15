"""``simcore packets``: a network packet by packet."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcore.cli.first_use import announce_compilation_of
from simcore.cli.settings import write_text
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.packets.case import Case
    from simcore.packets.run import Outcome

MOST_FLOWS = 20
"""Flows that are listed in the terminal; all of them stand in the results."""


@dataclass(frozen=True)
class _Wishes:
    """Files that a run of one case shall write, and what they are to hold."""

    trace: Path | None
    series: Path | None
    plot: Path | None
    every_ns: int

    @property
    def are_of_one(self) -> bool:
        """True if anything is asked for that only one case can give."""
        return any(path is not None for path in (self.trace, self.series, self.plot))


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write the results (JSON) here.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Write every packet that a host receives."
)
@click.option(
    "--series",
    type=click.Path(path_type=Path),
    help="Write depths of queues, rates and pauses over time (Parquet).",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw them (.svg, .png, .pdf).")
@click.option(
    "--every", type=click.IntRange(min=1), default=1000, help="Nanoseconds between samples."
)
@click.option("--seed", type=click.IntRange(0, (1 << 48) - 1), help="Of random marks and losses.")
def packets(file: Path, out: Path | None, seed: int | None, every: int, **files: Any) -> None:
    """Simulate the case in FILE, or every case of the manifest FILE, packet by packet."""
    from simcore.files.json_file import read_json
    from simcore.packets.case import case_of, is_case

    data, wishes = read_json(file), _Wishes(**files, every_ns=every)
    announce_compilation_of("packets.run_loop.run_packets", "packet")
    try:
        if not is_case(data):
            _run_manifest(data, file, out, is_of_one=wishes.are_of_one or seed is not None)
            return
        case = case_of(data)
        outcome = _run_one(case, 1 if seed is None else seed, wishes)
    except ConfigError as error:
        raise error.in_file(file) from None
    if out is not None:
        shown_seed = str(1 if seed is None else seed)
        _write(out, {case.name or file.stem: {shown_seed: _table(outcome)}})
    _print(outcome)


def _run_manifest(data: object, file: Path, out: Path | None, *, is_of_one: bool) -> None:
    from simcore.packets.files.manifest import entries_of, run_entries

    if out is None:
        raise ConfigError("--out", "must name a file where there are many cases", got=None)
    if is_of_one:
        rule = "must be a single case where --trace, --series, --plot or --seed is given"
        raise ConfigError("", rule, got="a manifest")
    results = run_entries(entries_of(data), file.parent)
    _write(out, results)
    runs = [run for found in results.values() for run in found.values()]
    statuses = Counter(str(run["status"]) for run in runs)
    told = ", ".join(f"{count} {status}" for status, count in sorted(statuses.items()))
    click.echo(f"{len(runs)} runs: {told}. Results in {out}.")
    if statuses["error"] == len(runs):
        for message in dict.fromkeys(str(run["message"]) for run in runs):
            click.echo(f"simcore: {message}", err=True)
        raise SystemExit(2)


def _run_one(case: "Case", seed: int, wishes: _Wishes) -> "Outcome":
    from simcore.packets.run import run_case
    from simcore.packets.views.series import Series
    from simcore.packets.views.trace import trace_into

    watched = wishes.series is not None or wishes.plot is not None
    series = Series(case, wishes.every_ns) if watched else None
    if wishes.trace is None:
        outcome = run_case(case, seed, watch=series)
    else:
        with trace_into(wishes.trace, case) as on_rows:
            outcome = run_case(case, seed, on_rows, series)
    if series is not None and wishes.series is not None:
        series.write(wishes.series)
    if series is not None and wishes.plot is not None:
        from simcore.packets.views.picture import draw

        draw(wishes.plot, outcome, series)
    return outcome


def _table(outcome: "Outcome") -> dict[str, Any]:
    from simcore.packets.files.manifest import as_table

    return as_table(outcome)


def _write(path: Path, results: dict[str, Any]) -> None:
    from json import dumps

    write_text(path, dumps(results))


def _print(outcome: "Outcome") -> None:
    """Print what a reader asks first: who ended when, and what the network did."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("flow", "start ns", "finish ns", "time ns", "packets", "marked", box=None)
    for column in table.columns:
        column.justify = "right"
    for name, start, finish, fct, _, taken, marked in outcome.flows[:MOST_FLOWS]:
        cells = (name, start, finish, fct, taken, marked)
        table.add_row(*("-" if cell is None else str(cell) for cell in cells))
    console.print(table)
    if len(outcome.flows) > MOST_FLOWS:
        console.print(f"and {len(outcome.flows) - MOST_FLOWS} further flows", highlight=False)
    queue = max((row[2] for row in outcome.queues), default=0)
    told = f"{outcome.pauses} pauses, {outcome.drops} packets dropped, {outcome.lost} lost"
    told += f"; largest queue {queue} bytes; {outcome.events} events"
    console.print(told, highlight=False)
    if outcome.message:
        console.print(outcome.message, highlight=False)
