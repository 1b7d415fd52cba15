"""Command lines: names, options and help."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TypeVar

import click

from dse.cli.errors import told_plainly

F = TypeVar("F", bound=Callable[..., Any])
_FOLDER = click.Path(path_type=Path)
_SAMPLER_HELP = (
    "design, exhaustive, local, portfolio, random, or one of Optuna's: tpe, nsga2, nsga3, gp, "
    "cmaes, qmc, a class of its samplers, package.module:Class, or "
    "optunahub:samplers/PACKAGE:Class.  [default: the file's]"
)
_EVALUATOR_HELP = (
    "simulator, service (of two pools), jobs (on one machine), model0 or libra (closed forms) or "
    "own (the study's metrics alone).  [default: the file's]"
)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Search designs of machines and plans for training large models."""


def _with(command: F, *options: Callable[[F], F]) -> F:
    """*command* with *options*, in this order."""
    for option in reversed(options):
        command = option(command)
    return command


def _evaluation_options(command: F) -> F:
    return _with(
        command,
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Of the sampler."),
        click.option("--workers", type=click.IntRange(1, 4096), help="Default: one per core."),
        click.option("--executor", help="ray, local (processes of this machine) or serial."),
        click.option("--evaluator", help=_EVALUATOR_HELP),
    )


def _execution_options(command: F) -> F:
    return _with(
        command,
        _evaluation_options,
        click.option("--address", help="A running Ray cluster, as host:port or auto."),
        click.option(
            "--cache", envvar="DSE_CACHE", show_envvar=True, help="Folder of evaluations to share."
        ),
        click.option(
            "--out",
            type=_FOLDER,
            help="Results; default: runs/NAME OF FILE, numbered if it is there.",
        ),
        click.option("--force", is_flag=True, help="Delete the study in the folder of results."),
        click.option("--resume", is_flag=True, help="Go on with the study in --out."),
        click.option(
            "--retry-failed", is_flag=True, help="With --resume: evaluate failed designs again."
        ),
        click.option(
            "--accept-changes",
            is_flag=True,
            help="With --resume: go on though a named file, the code or a package has changed.",
        ),
        click.option("--log", help="Log to a tracker of experiments too: mlflow or wandb."),
        click.option("--quiet", is_flag=True, help="No progress display."),
    )


_ISLANDS_HELP = "Searches side by side, each on a worker; part of the study, as its seed is."
_GAP_HELP = "Stop once no design can be better by more than this, such as 1%."
_FRONT_HELP = "Stop once no more of the front's hypervolume than this can be missing, such as 5%."


def _percent(value: str) -> float:
    """The share that a percentage means, with or without its sign."""
    try:
        share = float(value.removesuffix("%")) / 100
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise click.BadParameter(f"must be at least 0% and below 100%, but got {value}.")
    return share


_TRIALS_HELP = "Proposals, all in all; auto: until the front does not improve any more."


def _trials(value: str) -> int | str:
    """A number of proposals, or the word for as many as it takes."""
    if value == "auto":
        return value
    if not value.isdecimal() or int(value) < 1:
        raise click.BadParameter(f"must be a number from 1 on, or auto, but got {value}.")
    return int(value)


def _search_options(command: F) -> F:
    return _with(
        command,
        click.option("--trials", type=_trials, metavar="N|auto", help=_TRIALS_HELP),
        click.option("--sampler", help=_SAMPLER_HELP),
        click.option("--gap", type=_percent, metavar="SHARE", help=_GAP_HELP),
        click.option("--hypervolume-gap", type=_percent, metavar="SHARE", help=_FRONT_HELP),
        click.option("--islands", type=click.IntRange(1, 4096), help=_ISLANDS_HELP),
    )


@main.command()
@click.argument("file")
@_search_options
@click.option("--timeout", type=click.FloatRange(min=0), help="Seconds, then no new proposals.")
@_execution_options
def study(
    file: str, timeout: float | None, out: Path | None, resume: bool, force: bool, **options: Any
) -> None:
    """Run the study in FILE (a path, or the name of a shipped study such as llm_gpt.yaml)."""
    with told_plainly():
        from dse.cli.running import results_folder, run_command

        quiet, folder = options.pop("quiet"), results_folder(file, out, resume=resume, force=force)
        run_command(
            file, out=folder, resume=resume, quiet=quiet, timeout_s=timeout, overrides=options
        )


@main.command()
@click.argument("file")
@_execution_options
def enumerate(  # the command is called so
    file: str, out: Path | None, resume: bool, force: bool, **options: Any
) -> None:
    """Evaluate every design of the space in FILE; refuses one that is too large."""
    with told_plainly():
        from dse.cli.running import enumerate_command, results_folder

        quiet, folder = options.pop("quiet"), results_folder(file, out, resume=resume, force=force)
        enumerate_command(file, out=folder, resume=resume, quiet=quiet, overrides=options)


@main.command()
@click.argument("file", type=_FOLDER, default=Path("study.yaml"))
@click.option("--model", help="A shipped name, a .yaml file or a config.json of Hugging Face.")
@click.option(
    "--machine", "machines", multiple=True, help="An accelerator (again: another one), a platform."
)
@click.option("--npus", type=click.IntRange(min=1), help="Accelerators; default: the platform's.")
@click.option("--objective", "objectives", multiple=True, help="What counts, such as mfu.")
@click.option("--sequence", type=click.IntRange(min=1), default=4096, show_default=True)
@click.option("--global-batch", type=click.IntRange(min=1), help="Default: 4 million tokens.")
@click.option("--bandwidth", default="", help="Of an NPU to other servers; default: as sold.")
@click.option("--force", is_flag=True, help="Write over FILE.")
def init(file: Path, force: bool, **answers: Any) -> None:
    """Write a study to FILE from a model, a machine and an objective; asks for the rest."""
    with told_plainly():
        from dse.cli.starting import init_command

        init_command(file, force=force, given=answers)


_TIME_HELP = "Try it out: what its run reaches by itself, and how long the study will take."


@main.command()
@click.argument("file")
@click.option("--time", "timed", is_flag=True, help=_TIME_HELP)
@_search_options
@_evaluation_options
def check(file: str, timed: bool, **options: Any) -> None:
    """Check FILE; print the size of its space, its objectives and its constraints.

    With the options of the study it is that study that is checked. Nothing is simulated but with
    --time, so that this takes less than a second.
    """
    from simcore import no_collection

    # the search for unused objects takes a tenth of the time of so short a command
    with told_plainly(), nullcontext() if timed else no_collection():
        from dse.cli.checking import check_command

        check_command(file, options, timed=timed)


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
        from dse.cli.proving import gap_command

        gap_command(file, objectives=objectives, gap=gap, timeout_s=timeout, out=out)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
def report(folder: Path) -> None:
    """Write the report of the study in DIR again, and print its front."""
    with told_plainly():
        from dse.cli.showing import report_command

        report_command(folder)


_AS_HELP = "With TRIAL: run, megatron, torchtitan, deepspeed, nemo, maxtext, vllm or sglang."


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.argument("trial", type=click.IntRange(min=0), required=False)
@click.option("--as", "tool", metavar="TOOL", help=_AS_HELP)
@click.option("--pool", help="Of a service: prefill or decode.")
@click.option("--format", "kind", type=click.Choice(["csv", "parquet", "json"]), help="[csv]")
@click.option("--front", is_flag=True, help="The Pareto front only.")
@click.option("--recommended", is_flag=True, help="The recommended designs of the front only.")
@click.option(
    "--optuna-journal",
    is_flag=True,
    help="A journal for optuna-dashboard: the front, the newest trials and a sample of the others.",
)
@click.option("--out", type=_FOLDER, help="File; default: standard output (not for parquet).")
def export(folder: Path, trial: int | None, tool: str | None, out: Path | None, **how: Any) -> None:
    """Export the trials of the study in DIR as a table, or TRIAL as a file that starts it."""
    with told_plainly():
        from dse.cli.exporting import export_any

        export_any(folder, trial, tool, out=out, how=how)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True)
def dashboard(folder: Path, host: str, port: int) -> None:
    """Serve optuna-dashboard on the study in DIR, while it runs or later."""
    with told_plainly():
        from dse.cli.live.dashboard import dashboard_command

        dashboard_command(folder, host=host, port=port)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option("--every", type=click.FloatRange(min=0.1), default=2.0, help="Seconds.  [default: 2]")
def watch(folder: Path, every: float) -> None:
    """Show the study in DIR in the terminal while it runs: front, best, workers, failures."""
    with told_plainly():
        from dse.cli.live.watching import watch_command

        watch_command(folder, every_s=every)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8081, show_default=True)
def serve(folder: Path, host: str, port: int) -> None:
    """Serve the report of the study in DIR as a page that follows it while it runs."""
    with told_plainly():
        from dse.cli.live.serving import serve_command

        serve_command(folder, host=host, port=port)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.argument("trial", type=click.IntRange(min=0))
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON.")
@click.option("--page", is_flag=True, help="Write it as trial-N.html into DIR.")
def explain(folder: Path, trial: int, as_json: bool, page: bool) -> None:
    """Say why TRIAL of the study in DIR is as fast, as costly and as feasible as it is."""
    with told_plainly():
        from dse.cli.showing import explain_command

        explain_command(folder, trial, as_json=as_json, page=page)


@main.command()
@click.argument("folder", type=_FOLDER, metavar="DIR")
@click.argument("trial", type=click.IntRange(min=0))
@click.option("--out", type=_FOLDER, help="Trace; default: trial-N.trace.json in DIR.")
@click.option("--svg", type=_FOLDER, metavar="FILE", help="Draw its pipeline stages in time.")
@click.option("--pool", help="Of a service: prefill or decode.")
def timeline(
    folder: Path, trial: int, out: Path | None, svg: Path | None, pool: str | None
) -> None:
    """Write an iteration of TRIAL of the study in DIR as a trace for Chrome or Perfetto."""
    with told_plainly():
        from dse.cli.timelines import timeline_command

        timeline_command(folder, trial, out=out, svg=svg, pool=pool)


@main.command()
@click.argument("folder", type=_FOLDER)
def schema(folder: Path) -> None:
    """Write a JSON Schema for each kind of file into FOLDER, for editors."""
    with told_plainly():
        from dse.cli.schemas import schema_command

        schema_command(folder)


@main.command()
@click.argument("one", type=_FOLDER, metavar="DIR1")
@click.argument("two", type=_FOLDER, metavar="DIR2")
@click.option("--json", "as_json", is_flag=True, help="All of it as JSON.")
def diff(one: Path, two: Path, as_json: bool) -> None:
    """Say what differs between the studies in DIR1 and DIR2: space, front, best, origins."""
    with told_plainly():
        from dse.cli.showing import diff_command

        diff_command(one, two, as_json=as_json)


@main.command()
@click.argument("of", nargs=-1, metavar="[DIR TRIAL | FILE]")
@click.option("--rows", type=_FOLDER, help="CSV of builds: case, topology, params (JSON).")
@click.option("--out", type=_FOLDER, help="With --rows: CSV of counts and costs.")
@click.option("--prices", default="default", show_default=True, help="Price book, or its file.")
@click.option("--json", "as_json", is_flag=True, help="The bill as JSON.")
def parts(
    of: tuple[str, ...], rows: Path | None, out: Path | None, prices: str, as_json: bool
) -> None:
    """Bill of materials of TRIAL in DIR, of a run FILE, or of each network in a table."""
    with told_plainly():
        from dse.cli.parts import count_rows, show_bill

        if rows is None:
            show_bill(of, prices=prices, as_json=as_json)
        elif out is None or of:
            raise click.UsageError("--rows takes --out FILE, and nothing else.")
        else:
            count_rows(rows, out, prices)
