"""``simcore calibrate``: predictions learn from runs of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.validation.calibrated.runs import OwnRuns
    from simcore.validation.calibrated.site import Site


def _pairs(option: str, texts: tuple[str, ...]) -> dict[str, Path]:
    """Files by the id before the equals sign.

    Raises:
        ConfigError: There is none, or an id stands there twice.
    """
    found: dict[str, Path] = {}
    for text in texts:
        name, equals, file = text.partition("=")
        if not (name and equals and file):
            raise ConfigError(option, "must look like ID=FILE", got=text)
        if name in found:
            raise ConfigError(option, "must name each row once", got=name)
        found[name] = Path(file)
    return found


@click.command()
@click.argument("runs", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File for `simcore simulate --calibration` and studies (YAML).",
)
@click.option("--name", default="", help="Name of the site; that of the file by default.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="ID=FILE",
    help="Log that tells the time of a row: Megatron-LM, torchtitan, PyTorch profiler.",
)
@click.option(
    "--collectives",
    "moves",
    multiple=True,
    metavar="ID=FILE",
    help="Output of nccl-tests on the machine of a row, to hold against its links.",
)
def calibrate(
    runs: Path, out: Path, name: str, logs: tuple[str, ...], moves: tuple[str, ...]
) -> None:
    """Learn from measured runs of one site: RUNS is a table like those of `validate llm`.

    A row without a time is one that could be measured next.
    """
    from simcore import __version__
    from simcore.validation.calibrated.file import Calibration, write_calibration
    from simcore.validation.calibrated.links import link_lines
    from simcore.validation.calibrated.runs import read_runs
    from simcore.validation.calibrated.site import Site

    by_log, by_output = _pairs("--log", logs), _pairs("--collectives", moves)
    announce_compilation(folded=True)
    told = link_lines(runs, by_output)
    found = read_runs(runs, by_log)
    own = tuple(one.as_site_run() for one in found.measured)
    name = name or out.stem
    site = Site(Calibration.build(name=name, simcore_version=__version__, runs=own))
    _print(site, found)
    for line in told:
        click.echo(line)
    write_calibration(out, name, __version__, own)
    click.echo(f"written to {out}")


def _print(site: "Site", found: "OwnRuns") -> None:
    from simcore.validation.calibrated.told import class_lines, mean_errors, next_run, run_lines

    lines = run_lines(site)
    click.echo("run: error as simulated -> moved by the other runs; the class that it informs")
    for line in lines:
        click.echo(f"  {line.name}: {line.error:+.1%} -> {line.left:+.1%}; {line.informs}")
    before, after = mean_errors(lines)
    click.echo(f"mean error {before:.1%} -> {after:.1%} (each run moved by the others alone)")
    click.echo("class: factor of the time; part of the band's width that is left")
    for entry in class_lines(site):
        runs = f"{entry.runs} run{'s' if entry.runs > 1 else ''}"
        click.echo(f"  {entry.name} ({runs}): x {entry.factor:.3f}; {entry.band_left:.0%}")
    for name, reason in found.skipped:
        click.echo(f"not used: {name}: {reason}")
    chosen = next_run(site, found.candidates)
    if chosen is None:
        click.echo("next: rows of RUNS without iter_time_s are ranked by what they would tell")
        return
    run, spread = chosen
    click.echo(
        f"next: measure {run.name}, which tells most of the others (spread left: {spread:.0%})"
    )
