"""Command lines: names, options and help."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from math import inf
from pathlib import Path
from typing import IO, Any, TypeVar

import click

from dse.cli.errors import told_plainly
from dse.evaluate import DEFAULT_EVALUATOR, EVALUATORS
from dse.objectives import OBJECTIVES
from dse.plain_files import written_whole
from dse.proof import Effort, Proof, close_gap
from dse.report import chosen_numbers, write_journal
from dse.results.summary import study_front
from dse.run.api import check_study
from dse.store import StudyFolder
from dse.store.tables import CHUNK_ROWS, Columns, write_csv, write_json, write_parquet
from dse.study.compile import Study, find_study, load_study_file
from dse.study.trials import Trial
from simcore import ConfigError, RunTemplate, read_yaml

F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(path_type=Path)
_SAMPLER_HELP = (
    "design, exhaustive, local, portfolio, random, or one of Optuna's: tpe, nsga2, nsga3, gp, "
    "cmaes, qmc.  [default: the file's]"
)
_EVALUATOR_HELP = (
    "simulator, service (of two pools) or model0 (a closed form, for P5).  [default: the file's]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Search designs of machines and plans for training large models."""


def _execution_options(command: F) -> F:
    options = [
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Of the sampler."),
        click.option("--workers", type=click.IntRange(1, 4096), help="Default: one per core."),
        click.option("--executor", help="ray, local (processes of this machine) or serial."),
        click.option("--address", help="A running Ray cluster, as host:port or auto."),
        click.option("--evaluator", help=_EVALUATOR_HELP),
        click.option(
            "--cache", envvar="DSE_CACHE", show_envvar=True, help="Folder of evaluations to share."
        ),
        click.option("--out", type=_FOLDER, help="Results; default: runs/NAME OF FILE."),
        click.option("--resume", is_flag=True, help="Go on with the study in --out."),
        click.option(
            "--retry-failed", is_flag=True, help="With --resume: evaluate failed designs again."
        ),
        click.option(
            "--accept-changes",
            is_flag=True,
            help="With --resume: go on though a named file, the code or a package has changed.",
        ),
        click.option("--quiet", is_flag=True, help="No progress display."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


_GAP_HELP = "Stop once no design can be better by more than this, such as 1%."


def _percent(value: str) -> float:
    """The share that a percentage means, with or without its sign."""
    try:
        share = float(value.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise click.BadParameter(f"must be at least 0% and below 100%, but got {value}.")
    return share


@main.command()
@click.argument("file")
@click.option("--trials", type=click.IntRange(min=1), help="Proposals, all in all.")
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds, then no new proposals.")
@click.option("--sampler", help=_SAMPLER_HELP)
@click.option("--gap", type=_percent, metavar="SHARE", help=_GAP_HELP)
@_execution_options
def study(
    file: str, timeout: float | None, out: Path | None, resume: bool, quiet: bool, **options: Any
) -> None:
    """Run the study in FILE (a path, or the name of a shipped study such as llm_gpt.yaml)."""
    with told_plainly():
        from dse.cli.running import run_command

        run_command(file, out=out, resume=resume, quiet=quiet, timeout_s=timeout, overrides=options)


@main.command()
@click.argument("file")
@_execution_options
def enumerate(  # the command is called so
    file: str, out: Path | None, resume: bool, quiet: bool, **options: Any
) -> None:
    """Evaluate every design of the space in FILE; refuses one that is too large."""
    with told_plainly():
        from dse.cli.running import enumerate_command

        enumerate_command(file, out=out, resume=resume, quiet=quiet, overrides=options)


@main.command()
@click.argument("file")
@click.option("--evaluator", help="In place of the file's.")
def check(file: str, evaluator: str | None) -> None:
    """Check FILE; print the size of its space, its objectives and its constraints."""
    with told_plainly():
        from dse.cli.showing import check_command

        check_command(file, {"evaluator": evaluator})


@main.command()
@click.argument("file")
@click.option("--objective", "objectives", multiple=True, help="Default: those of the study.")
@click.option(
    "--gap", type=_percent, metavar="SHARE", default="1%", show_default=True, help=_GAP_HELP
)
@click.option("--timeout", type=click.FloatRange(min=0), help="CPU seconds.")
@click.option("--out", type=_FOLDER, help="JSON file for what was proven.")
def gap(
    file: str, objectives: tuple[str, ...], gap: float, timeout: float | None, out: Path | None
) -> None:
    """Find designs of the study in FILE that no design beats by more than --gap percent."""
    with told_plainly():
        gap_command(file, objectives=objectives, gap=gap, timeout_s=timeout, out=out)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
def report(folder: Path) -> None:
    """Write the report of the study in DIR again, and print its front."""
    with told_plainly():
        from dse.cli.showing import report_command

        report_command(folder)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["csv", "parquet", "json"]),
    default="csv",
    show_default=True,
)
@click.option("--front", is_flag=True, help="The Pareto front only.")
@click.option(
    "--optuna-journal",
    is_flag=True,
    help="A journal for optuna-dashboard: the front, the newest trials and a sample of the others.",
)
@click.option("--out", type=_FOLDER, help="File; default: standard output (not for parquet).")
def export(folder: Path, kind: str, front: bool, optuna_journal: bool, out: Path | None) -> None:
    """Export the trials of the study in DIR as a table, or for optuna-dashboard."""
    with told_plainly():
        if optuna_journal:
            journal_command(folder, out=out)
        else:
            export_command(folder, kind=kind, front=front, out=out)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.argument("trial", type=click.IntRange(min=0))
def explain(folder: Path, trial: int) -> None:
    """Say why TRIAL of the study in DIR is as fast, as costly and as feasible as it is."""
    with told_plainly():
        from dse.cli.showing import explain_command

        explain_command(folder, trial)


def export_command(folder: Path, *, kind: str, front: bool, out: Path | None) -> None:
    """``dse export``; trials are streamed, whatever their number."""
    if kind == "parquet" and out is None:
        raise ConfigError("--out", "parquet needs a file", got=None)
    store, study = _stored(folder)
    columns = store.columns(study)
    rows: Iterable[Trial] = chain(store.read_trials(), store.read_refined(study))
    if front:
        rows = streamed_front(store, study)
    if out is None:
        _write(kind, columns, rows, sys.stdout)
        return
    with _writable(out) as partial:
        if kind == "parquet":
            write_parquet(columns, rows, partial)
        else:
            with partial.open("w", encoding="utf-8") as file:
                _write(kind, columns, rows, file)


def _stored(folder: Path) -> tuple[StudyFolder, Study]:
    store = StudyFolder(folder)
    if not store.holds_study:
        raise ConfigError("DIR", "must be the folder of a study", got=str(folder))
    return store, load_study_file(store.study_file())


def streamed_front(store: StudyFolder, study: Study) -> list[Trial]:
    """The front of any number of trials: the front of the fronts of their parts."""
    rest = chain(store.read_feasible(), store.read_refined(study))
    front: list[Trial] = []
    while part := list(islice(rest, CHUNK_ROWS)):
        rows = front + part
        front = [rows[place] for place in sorted(study_front(study, rows).front)]
    return [front[place] for place in study_front(study, front).front]


def _write(kind: str, columns: Columns, rows: Iterable[Trial], out: IO[str]) -> None:
    if kind == "csv":
        write_csv(columns, rows, out)
    else:
        write_json(columns, rows, out)


@contextmanager
def _writable(out: Path) -> Iterator[Path]:
    """A file beside *out* that takes its name once it is whole."""
    try:
        with written_whole(out) as partial:
            yield partial
    except OSError as error:
        got = error.strerror or str(error)
        raise ConfigError(str(out), "must be a file that can be written", got=got) from None


def journal_command(folder: Path, *, out: Path | None) -> None:
    """``dse export --optuna-journal``; holds what it writes, and no more."""
    if out is None:
        raise ConfigError("--out", "a journal needs a file", got=None)
    store, study = _stored(folder)
    front = [trial.number for trial in streamed_front(store, study)]
    chosen = chosen_numbers(store.read_numbers(), front)
    with _writable(out) as partial:
        write_journal(study, list(store.read_numbered(chosen)), partial)


def gap_command(
    file: str, *, objectives: Sequence[str], gap: float, timeout_s: float | None, out: Path | None
) -> None:
    """Close the gap of the study in *file*, and print what was proven."""
    _check_evaluator(file)
    study = check_study(file, {"evaluator": DEFAULT_EVALUATOR})
    effort = Effort(seconds=inf if timeout_s is None else timeout_s)
    proof = close_gap(study, objectives, gap=gap, effort=effort)
    if out is not None:
        out.write_text(json.dumps(proof_data(proof), indent=2) + "\n", encoding="utf-8")
    click.echo(proof_text(proof, study.space.counts.searched, gap))


def _check_evaluator(file: str) -> None:
    """See whether the simulator can stand in for the evaluator of the study in *file*.

    Raises:
        ConfigError: There is no such study, or its ``run`` is no run file.
    """
    data = read_yaml(find_study(file))
    name = str(data.get("evaluator")) if isinstance(data, dict) else ""
    if name in EVALUATORS and EVALUATORS[name].template is not RunTemplate:
        rule = f"a gap is proven with the {DEFAULT_EVALUATOR} alone, which needs a run file"
        raise ConfigError(f"{file}: evaluator", rule, got=name)


def proof_data(proof: Proof) -> dict[str, Any]:
    """*proof* as plain data."""
    return {
        "objectives": list(proof.objectives),
        "lower_bounds": dict(zip(proof.objectives, proof.lower_bounds, strict=True)),
        "optimality_gap": dict(zip(proof.objectives, proof.gaps, strict=True)),
        "closed": proof.is_closed,
        "simulations": proof.simulations,
        "cpu_s": proof.seconds,
        "front": [
            {"design": design, "objectives": dict(zip(proof.objectives, values, strict=True))}
            for design, values in zip(proof.designs, proof.values.tolist(), strict=True)
        ],
    }


def proof_text(proof: Proof, designs: int, gap: float) -> str:
    """A few lines for people."""
    lines = []
    for index, name in enumerate(proof.objectives):
        objective, found = OBJECTIVES[name], "nothing found"
        if len(proof.values):
            found = f"best found {proof.values[:, index].min():.6g} {objective.unit}"
        lines.append(
            f"{objective.label}: {found}; no design is below {proof.lower_bounds[index]:.6g} "
            f"{objective.unit}: gap {proof.gaps[index]:.3%}"
        )
    ending = "closed" if proof.is_closed else "not closed"
    lines.append(
        f"gap of {gap:.3%} {ending}: {proof.simulations:,} of {designs:,} designs simulated, "
        f"{len(proof.designs)} on the front, {proof.seconds:.1f} CPU s"
    )
    return "\n".join(lines)
