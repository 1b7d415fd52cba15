"""``simcore chakra``: shows, converts and writes Chakra execution traces."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from simcore.cli.settings import setting, settings_option
from simcore.errors import ConfigError

if TYPE_CHECKING:
    from simcore.formats.chakra.summary import TraceSummary
    from simcore.machine import Platform
    from simcore.machine.system import System

_SHOWN_GROUPS = 12


@click.group(short_help="Show and convert Chakra execution traces.")
def chakra() -> None:
    """Show and convert Chakra execution traces (.et)."""


@chakra.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--json", "out", type=click.Path(dir_okay=False, path_type=Path), help="Write figures here."
)
def show(trace: Path, out: Path | None) -> None:
    """Show what TRACE holds: a file, or a prefix of the files of all NPUs.

    Counts nodes by type, communication by kind and group, operations, and the longest chain of
    recorded durations. Files with equal bytes are shown once.
    """
    from dataclasses import asdict
    from json import dumps

    from simcore.formats.chakra.summary import summarize_all

    found = summarize_all(trace)
    for summary, npus in found:
        for line in _lines(summary, npus):
            click.echo(line)
    if out is not None:
        data = [asdict(summary) | {"npus": npus} for summary, npus in found]
        out.write_text(dumps(data, indent=2), encoding="utf-8")


def _lines(summary: "TraceSummary", npus: list[int]) -> Iterator[str]:
    from simcore.units import format_quantity

    same = f", the same for {len(npus)} NPUs" if len(npus) > 1 else ""
    yield f"{summary.path}{same}"
    yield f"  schema         {summary.schema or 'not stated'}"
    kinds = ", ".join(f"{count} {name}" for name, count in summary.kinds.items())
    yield f"  nodes          {summary.nodes} ({kinds}), {summary.dependencies} dependencies"
    for name, traffic in summary.communication.items():
        size = format_quantity(traffic.size_bytes, "B")
        yield f"  {name:<14} {traffic.nodes} nodes, {size}"
    for group, traffic in list(summary.groups.items())[:_SHOWN_GROUPS]:
        size = format_quantity(traffic.size_bytes, "B")
        label = f"group {group}" if group else "all NPUs"
        yield f"  {label:<14} {traffic.nodes} collectives, {size}"
    if len(summary.groups) > _SHOWN_GROUPS:
        yield f"  and {len(summary.groups) - _SHOWN_GROUPS} more groups"
    moved = format_quantity(summary.memory_bytes, "B")
    yield f"  operations     {summary.operations:.6g}, moving {moved}"
    yield (
        f"  durations      {format_quantity(summary.duration_us * 1e-6, 's')} in all, "
        f"{format_quantity(summary.critical_path_us * 1e-6, 's')} on the longest chain; "
        f"deepest chain {summary.critical_path_nodes} nodes"
    )
    if summary.never_free:
        yield f"  warning        {summary.never_free} nodes in or behind a cycle never run"


@chakra.command()
@click.argument("run_file", type=click.Path(path_type=Path), metavar="RUN.yaml")
@settings_option("plan.tp=4")
@click.option(
    "--npus", "count", type=click.IntRange(min=1), help="Write the first so many only.  [all]"
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Prefix of the files to write."
)
def generate(run_file: Path, settings: tuple[str, ...], count: int | None, out: Path) -> None:
    """Write the training iteration that RUN.yaml describes as Chakra traces.

    Of a service it is a batch of prompts and the step of answering that follows. With the traces go
    ASTRA-sim's network, system, memory and communicator group files.
    """
    from simcore.engines.collectives.members import engine_options
    from simcore.formats.astra.export import write_configuration
    from simcore.network.dimensions import engine_dimensions
    from simcore.serving import is_service

    values = dict(setting(text) for text in settings)
    out.parent.mkdir(parents=True, exist_ok=True)
    write = _write_service if is_service(run_file) else _write_run
    written = write(run_file, values, count, out)
    dimensions = written.platform.dimensions
    files = written.files + write_configuration(
        out,
        engine_dimensions(dimensions),
        engine_options(
            written.system,
            [dimension.topology for dimension in dimensions],
            written.platform.npu.memory_bandwidth_bytes_per_s,
            [dimension.npus for dimension in dimensions],
        ),
        written.groups,
    )
    click.echo(f"{len(files)} files{written.size}: {files[0]} ...")


class _Written(NamedTuple):
    """Traces that are there, and what their configuration is made of."""

    files: list[Path]
    groups: Mapping[int, tuple[int, ...]]
    platform: "Platform"
    system: "System"
    size: str = ""


def _write_run(file: Path, values: Mapping[str, object], count: int | None, out: Path) -> _Written:
    from simcore.checks import check_run
    from simcore.compute import COMPUTE_MODELS
    from simcore.config import load_run
    from simcore.engines.stages.times import operator_times_ns
    from simcore.formats.chakra.generate import communicator_groups, write_iteration
    from simcore.workload import build_graph

    run = load_run(file, values)
    check_run(run, memory=False)
    graph = build_graph(run.workload, run.plan)
    compute, precision = COMPUTE_MODELS[run.compute](), run.workload.precision
    operator_ns = operator_times_ns(graph.operators, run.platform.npu, precision, compute)
    npus = range(min(count or run.plan.npus, run.plan.npus))
    files = write_iteration(graph, operator_ns, out, npus)
    nodes = sum(stage.nodes for stage in graph.stages) // len(graph.stages)
    size = f", about {nodes} nodes per NPU"
    groups = communicator_groups(graph).members
    return _Written(files, groups, run.platform, run.system, size)


def _write_service(
    file: Path, values: Mapping[str, object], count: int | None, out: Path
) -> _Written:
    from simcore.serving import check_service, load_service, write_service

    if count is not None:
        raise ConfigError("--npus", "must be left out for a service", got=count)
    service = load_service(file, values)
    check_service(service, memory=False)
    files, groups = write_service(service, out)
    return _Written(files, groups, service.platform, service.system)


@chakra.group()
def convert() -> None:
    """Convert other formats to Chakra traces."""


@convert.command()
@click.argument("workload", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--npus", required=True, type=click.IntRange(min=1), help="Traces to write.")
@click.option("--passes", default=1, show_default=True, type=click.IntRange(min=1))
@click.option(
    "--time-unit",
    default="us",
    show_default=True,
    type=click.Choice(["us", "ns"]),
    help="Of the file's times: us as Chakra's converter takes them, ns as ASTRA-sim 1.0 meant.",
)
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), help="Prefix of the traces to write."
)
def text(workload: Path, npus: int, passes: int, time_unit: str, out: Path) -> None:
    """Convert a text WORKLOAD of ASTRA-sim 1.0; every parallelism keyword is supported."""
    from simcore.formats.text_workload.convert import convert_text, write_conversion
    from simcore.formats.text_workload.layers import read_text_workload

    conversion = convert_text(
        read_text_workload(workload),
        npus=npus,
        passes=passes,
        microseconds_per_unit=1.0 if time_unit == "us" else 1e-3,
    )
    out.parent.mkdir(parents=True, exist_ok=True)
    files = write_conversion(conversion, out)
    click.echo(f"{len(files)} files, {len(conversion.vertices)} nodes per NPU: {files[0]} ...")


@convert.command()
@click.argument("host", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--device",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Kineto trace of the same run: times, kernels, streams.",
)
@click.option(
    "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="Trace to write."
)
def pytorch(host: Path, device: Path | None, out: Path) -> None:
    """Convert a PyTorch execution trace HOST (JSON, plain or gzip) of one NPU."""
    from simcore.formats.chakra import write_trace
    from simcore.formats.pytorch.convert import convert_pytorch
    from simcore.formats.pytorch.device import read_device_trace
    from simcore.formats.pytorch.host import read_host_trace

    measured = None if device is None else read_device_trace(device)
    conversion = convert_pytorch(read_host_trace(host), measured)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_trace(out, conversion.metadata, conversion.nodes)
    for note in conversion.notes:
        click.echo(f"Note: {note}", err=True)
    click.echo(f"{len(conversion.nodes)} nodes: {out}")
