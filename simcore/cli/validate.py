"""``simcore validate``: predicts the rows of measured tables."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

_Command = Callable[..., None]


def _table_options(command: _Command) -> Any:
    rows = click.option(
        "--rows",
        required=True,
        type=click.Path(path_type=Path),
        help="Table of measured runs; the measured columns may be empty.",
    )
    out = click.option(
        "--out", required=True, type=click.Path(path_type=Path), help="Predictions go here."
    )
    return rows(out(command))


@click.group()
def validate() -> None:
    """Predict published measured runs, one line per row."""


@validate.command()
@_table_options
def llm(rows: Path, out: Path) -> None:
    """Predict training iterations."""
    from simcore.cli.first_use import announce_compilation
    from simcore.validation import predict_training, write_training

    announce_compilation(folded=True)
    _say(out, write_training(out, predict_training(rows)))


@validate.command()
@_table_options
def collectives(rows: Path, out: Path) -> None:
    """Predict collectives."""
    from simcore.cli.first_use import announce_compilation
    from simcore.validation import predict_collectives, write_collectives

    announce_compilation(folded=True)
    _say(out, write_collectives(out, predict_collectives(rows)))


@validate.command()
@_table_options
def serving(rows: Path, out: Path) -> None:
    """Predict load tests of inference engines."""
    from simcore.cli.first_use import announce_compilation
    from simcore.validation.score import write_serving
    from simcore.validation.served.predict import predict_serving

    announce_compilation(folded=False)
    _say(out, write_serving(out, predict_serving(rows)))


@validate.command()
@_table_options
def batches(rows: Path, out: Path) -> None:
    """Predict the throughput of whole batches and of engines at full load."""
    from simcore.cli.first_use import announce_compilation
    from simcore.validation.score import write_batches
    from simcore.validation.served.batches import predict_batches

    announce_compilation(folded=False)
    _say(out, write_batches(out, predict_batches(rows)))


@validate.command()
@click.option("--llm", required=True, type=click.Path(path_type=Path), help="Training runs.")
@click.option(
    "--collectives", "moves", required=True, type=click.Path(path_type=Path), help="Collectives."
)
@click.option(
    "--docs", default="docs", type=click.Path(path_type=Path), help="Folder of validation.md."
)
@click.option(
    "--configs",
    default="configs",
    type=click.Path(path_type=Path),
    help="Folder that gets validation/measured.csv, from which error bands are told.",
)
def report(llm: Path, moves: Path, docs: Path, configs: Path) -> None:
    """Predict both tables with their measured columns filled, and write the page of errors."""
    from simcore.cli.first_use import announce_compilation
    from simcore.validation.report import write_report

    announce_compilation(folded=True)
    for path in write_report(llm, moves, docs, configs):
        click.echo(str(path))


def _say(out: Path, counts: dict[str, int]) -> None:
    click.echo(f"{out}: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
