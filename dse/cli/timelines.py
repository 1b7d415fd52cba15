"""``dse timeline``: one iteration of a trial in time."""

from pathlib import Path

import click

from dse.launch.trial import trial_run, trial_title
from dse.plain_files import written_whole
from dse.results.result import load_study
from simcore import ConfigError, timeline_run

MOST_BYTES = 20_000_000
"""Length of a trace from which on it is packed, unless ``--out`` names it."""


def timeline_command(
    folder: Path, trial: int, *, out: Path | None, svg: Path | None, pool: str | None
) -> None:
    """Write the trace of a trial, and a picture of its stages if one is asked for.

    Raises:
        ConfigError: There is no such trial or pool, or a file cannot be written.
        InfeasibleError: The trial cannot be simulated.
    """
    result = load_study(folder)
    laid_out = timeline_run(trial_run(result, trial, pool=pool))
    path = out or folder / f"trial-{trial}.trace.json"
    trace = laid_out.trace_file(path.name)
    if out is None and len(trace) > MOST_BYTES:
        path = path.with_suffix(".json.gz")
        trace = laid_out.trace_file(path.name)
    _write(path, trace)
    if svg is not None:
        _write(svg, laid_out.picture(trial_title(result, trial)).encode())


def _write(path: Path, content: bytes) -> None:
    try:
        with written_whole(path) as partial:
            partial.write_bytes(content)
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(path), "must be a file that can be written", got=got) from None
    click.echo(f"written to {path}")
