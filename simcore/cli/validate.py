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


def _say(out: Path, counts: dict[str, int]) -> None:
    click.echo(f"{out}: " + ", ".join(f"{count} {status}" for status, count in counts.items()))
