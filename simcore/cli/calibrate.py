"""``simcore calibrate``: predictions learn from runs of one's own."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from simcore.validation.calibrated.runs import OwnLoadTest, OwnRun, OwnRuns
    from simcore.validation.calibrated.site import SitePart


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
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="File for --calibration of `simcore simulate` and `serve`, and for studies (YAML).",
)
@click.option("--name", default="", help="Name of the site; that of the file by default.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="ID=FILE",
    help="Log that tells the time of a row: Megatron-LM, torchtitan, PyTorch profiler, vLLM.",
)
@click.option(
    "--collectives",
    "moves",
    multiple=True,
    metavar="ID=FILE",
    help="Output of nccl-tests on the machine of a row, to hold against its links.",
)
def calibrate(
    runs: tuple[Path, ...], out: Path, name: str, logs: tuple[str, ...], moves: tuple[str, ...]
) -> None:
    """Learn from measured runs of one site: RUNS are tables like those of `validate`.

    Training runs as in `validate llm`, load tests as in `validate serving`; a row without a time is
    one that could be measured next.
    """
    from simcore import __version__
    from simcore.validation.calibrated.file import Calibration, write_calibration
    from simcore.validation.calibrated.links import link_lines
    from simcore.validation.calibrated.runs import (
        check_logs,
        is_of_load_tests,
        read_load_tests,
        read_runs,
    )
    from simcore.validation.calibrated.site import Site

    by_log, by_output = _pairs("--log", logs), _pairs("--collectives", moves)
    announce_compilation(folded=True)
    check_logs(runs, by_log)
    loaded = [path for path in runs if is_of_load_tests(path)]
    training = [path for path in runs if path not in loaded]
    told = link_lines(training, by_output)
    trained = [read_runs(path, by_log) for path in training]
    served = [read_load_tests(path, by_log) for path in loaded]
    own = Calibration.build(
        name=name or out.stem,
        simcore_version=__version__,
        runs=tuple(one.as_site_run() for found in trained for one in found.measured),
        load_tests=tuple(one.as_site_run() for found in served for one in found.measured),
    )
    site = Site(own)
    if trained:
        _print(site.training, trained, "iter_time_s")
    if served:
        _print(site.load_tests, served, "tpot_ms")
    for line in told:
        click.echo(line)
    write_calibration(out, own)
    click.echo(f"written to {out}")


def _print(
    site: "SitePart", found: "Sequence[OwnRuns[OwnRun]] | Sequence[OwnRuns[OwnLoadTest]]", time: str
) -> None:
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
    for name, reason in (one for table in found for one in table.skipped):
        click.echo(f"not used: {name}: {reason}")
    chosen = next_run(site, [one for table in found for one in table.candidates])
    if chosen is None:
        click.echo(f"next: rows of RUNS without {time} are ranked by what they would tell")
        return
    run, spread = chosen
    click.echo(
        f"next: measure {run.name}, which tells most of the others (spread left: {spread:.0%})"
    )
