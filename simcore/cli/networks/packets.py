"""``simcore packets``: a network packet by packet."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simcore.cli.first_use import announce_compilation
from simcore.cli.settings import write_text
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.packets.case import Case
    from simcore.packets.run import Outcome

MOST_FLOWS = 20
"""Flows that are listed in the terminal; all of them stand in the results."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Write the results (JSON) here.")
@click.option(
    "--trace", type=click.Path(path_type=Path), help="Write every packet that a host receives."
)
@click.option("--seed", type=click.IntRange(0, (1 << 48) - 1), help="Of random marks and losses.")
def packets(file: Path, out: Path | None, trace: Path | None, seed: int | None) -> None:
    """Simulate the case in FILE, or every case of the manifest FILE, packet by packet."""
    from simcore.files.json_file import read_json
    from simcore.packets.case import case_of, is_case

    data = read_json(file)
    announce_compilation(packets=True)
    try:
        if not is_case(data):
            _run_manifest(data, file, out, [trace, seed])
            return
        case = case_of(data)
        outcome = _run_one(case, 1 if seed is None else seed, trace)
    except ConfigError as error:
        raise error.in_file(file) from None
    if out is not None:
        _write(out, {case.name or file.stem: {str(seed or 1): _table(outcome)}})
    _print(outcome)


def _run_manifest(data: object, file: Path, out: Path | None, of_one: list[Any]) -> None:
    from simcore.packets.manifest import entries_of, run_entries

    if out is None:
        raise ConfigError("--out", "must name a file where there are many cases", got=None)
    if any(option is not None for option in of_one):
        rule = "must be a single case where --trace or --seed is given"
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


def _run_one(case: "Case", seed: int, trace: Path | None) -> "Outcome":
    from simcore.packets.run import run_case
    from simcore.packets.trace import trace_into

    if trace is None:
        return run_case(case, seed)
    with trace_into(trace, case) as on_rows:
        return run_case(case, seed, on_rows)


def _table(outcome: "Outcome") -> dict[str, Any]:
    from simcore.packets.manifest import as_table

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
