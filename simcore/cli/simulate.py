"""``simcore simulate``: one iteration, and where its time goes."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simcore.cli.first_use import announce_compilation
from simcore.cli.settings import (
    calibration_option,
    json_option,
    setting,
    settings_option,
    write_bytes,
    write_text,
)

if TYPE_CHECKING:
    from simcore.compute.tables.account import KernelAccount
    from simcore.config import Run
    from simcore.engines.iteration import Iteration
    from simcore.result import IterationResult
    from simcore.validation import Band


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings_option("plan.tp=4 or platform.dimensions[1].bandwidth='50 GB/s'")
@click.option("--backend", help="Network backend in place of the file's.")
@calibration_option
@json_option
@click.option(
    "--timeline",
    type=click.Path(path_type=Path),
    help="Write every node as a Chrome trace (Perfetto); packed if the name ends in .gz.",
)
@click.option("--svg", type=click.Path(path_type=Path), help="Draw the pipeline's stages in time.")
def simulate(
    file: Path,
    settings: tuple[str, ...],
    backend: str | None,
    calibration: Path | None,
    **out: Path | None,
) -> None:
    """Simulate the iteration that the run file FILE describes, or the jobs that it lists."""
    from simcore.config import load_run
    from simcore.errors import ConfigError
    from simcore.simulation import kernel_account, run_with_iteration
    from simcore.validation import Site, load_calibration, prediction_band

    values = dict(setting(text) for text in settings)
    if backend is not None:
        values["backend"] = backend
    if _lists_jobs(file):
        from simcore.cli.graphs.jobs import simulate_file

        left_out = [f"--{name}" for name in ("timeline", "svg") if out[name] is not None]
        left_out += [] if calibration is None else ["--calibration"]
        if left_out:
            rule = "must be left out where several jobs are simulated"
            raise ConfigError(left_out[0], rule, got=str(file))
        announce_compilation(folded=False)
        simulate_file(file, values, out["json_out"])
        return
    run = load_run(file, values)
    site = None if calibration is None else Site(load_calibration(calibration))
    announce_compilation(folded=True)
    is_laid_out = out["timeline"] is not None or out["svg"] is not None
    result, iteration = run_with_iteration(run, every_node=is_laid_out)
    from simcore.cli.tables import print_result

    account = kernel_account(run)
    band = prediction_band(run) if site is None else site.band(run)
    print_result(run, result, band, account)
    if (json_out := out["json_out"]) is not None:
        write_text(json_out, _as_json(run, result, band, account))
    if is_laid_out:
        _lay_out(run, iteration, file.stem, out)


def _lists_jobs(file: Path) -> bool:
    """True of a file of several jobs."""
    from simcore.files.resources import named_file
    from simcore.files.yaml_file import read_yaml

    table = read_yaml(named_file("runs", file))
    return isinstance(table, dict) and "jobs" in table


def _lay_out(run: "Run", iteration: "Iteration", name: str, out: Mapping[str, Path | None]) -> None:
    from simcore.errors import SimulationError
    from simcore.formats.timeline.timeline import Timeline

    if iteration.nodes is None:
        raise SimulationError("the iteration kept no times of its nodes, so there is no timeline")
    laid_out = Timeline.of(iteration.nodes, run.platform.dimensions)
    if (trace := out["timeline"]) is not None:
        write_bytes(trace, laid_out.trace_file(trace.name))
    if (svg := out["svg"]) is not None:
        write_text(svg, laid_out.picture(name))


def _as_json(
    run: "Run", result: "IterationResult", band: "Band", account: "KernelAccount | None"
) -> str:
    """Result and inputs, keys with units; the same inputs give the same bytes."""
    import json
    from dataclasses import asdict

    from simcore import __version__

    content = {
        "simcore_version": __version__,
        "run": run.model_dump(mode="json"),
        "time_is": run.workload.time_name,
        "metrics": result.metrics(),
        "stages": _stages(result),
        "staleness_iterations": result.staleness,
        "footprint_bytes": result.footprint.components(),
        "memory_bytes": result.memory_bytes,
        "memory": _memory(run, result),
        "sent_bytes": list(result.sent_bytes),
        "link_loads": list(result.link_loads),
        "compute": result.compute,
        "compute_reason": result.compute_reason,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "simulated_npus": result.simulated_npus,
        "npus": result.npus,
        "nodes": result.nodes,
        "events": result.events,
        "kernels": None if account is None else asdict(account),
        "measured_against": str(band),
        "band": band.as_table(result.iteration_time_s),
        "notes": list(result.notes),
    }
    return json.dumps(content, indent=1) + "\n"


def _stages(result: "IterationResult") -> list[dict[str, object]]:
    """Seconds of each pipeline stage by what they go to."""
    return [
        {
            "compute_s": dict(stage.compute_s),
            "exposed_communication_s": dict(stage.exposed_communication_s),
            "bubble_s": stage.bubble_s,
            "finish_s": stage.finish_s,
        }
        for stage in result.stages
    ]


def _memory(run: "Run", result: "IterationResult") -> dict[str, object]:
    """Bytes of the fullest NPU by what they are for, and whether they fit."""
    from simcore.memory.modules import activations_by_module

    fit = result.memory_fit
    return {
        "held_bytes": result.footprint.parts(),
        "activations_bytes": activations_by_module(run.workload, run.plan, result.footprint),
        "runtime_bytes": result.runtime.parts(),
        "expected_bytes": fit.expected_bytes,
        "highest_bytes": fit.highest_bytes,
        "shortage": str(fit.shortage),
        "reason": fit.reason,
    }
