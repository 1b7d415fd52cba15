"""Terminal tables of a simulated iteration."""

from rich.console import Console
from rich.table import Table

from simcore.compute.tables.account import KernelAccount
from simcore.config import Run
from simcore.machine import Dimension
from simcore.memory.fit import Shortage
from simcore.memory.modules import activations_by_module
from simcore.result import IterationResult
from simcore.units import format_memory, format_quantity, plain_sum
from simcore.validation import Band, accelerator_trust

PARTS = {
    "tp": "tensor parallel",
    "cp": "context parallel",
    "dp": "data parallel",
    "shard": "data parallel, within shards",
    "replica": "data parallel, between shards",
    "ep": "expert parallel",
    "ep_node": "expert parallel, within nodes",
    "ep_rail": "expert parallel, between nodes",
    "etp": "expert tensor parallel",
    "edp": "replicas of experts",
    "pp": "pipeline",
    "partner": "replicas in pairs",
    "embedding": "tied embeddings",
    "tables": "embedding tables",
}


def print_result(
    run: Run, result: IterationResult, band: Band, account: KernelAccount | None
) -> None:
    """Print where time and memory went, what kernels rest on, and how far to trust the time."""
    console = Console()
    console.print(_title(run, result))
    console.print(_time_table(result))
    console.print(_memory_table(run, result))
    console.print(_network_table(run, result))
    if run.plan.offload.tiers:
        console.print(_tier_table(run, result))
    if result.traffic:
        console.print(f"network: {_traffic(result)}")
    console.print(f"compute: {result.compute}, as {result.compute_reason}")
    console.print(f"engine: {result.engine}, as {result.engine_reason}")
    if account is not None:
        console.print(f"kernels: {account.told()}")
    for line in band_lines(run, result, band):
        console.print(line)
    for note in result.notes:
        console.print(f"[dim]note: {note}[/dim]")
    fit = result.memory_fit
    if fit.shortage is Shortage.CERTAIN:
        console.print(
            "[bold red]does not fit:[/bold red] the footprint is "
            f"{result.footprint_bytes / result.memory_bytes:.2f} times the memory of one NPU"
        )
    elif fit.is_short:
        console.print(f"[bold yellow]{fit.reason}[/bold yellow]")


def band_lines(run: Run, result: IterationResult, band: Band) -> list[str]:
    """Lines on the band of the time, and on the accelerator where little was measured on it."""
    low, high = (format_quantity(end, "s") for end in band.of(result.iteration_time_s))
    lines = [f"measured against: {low} to {high}, {band}"]
    if band.middle != 1:
        middle = format_quantity(band.middle * result.iteration_time_s, "s")
        lines.append(f"calibrated: [bold]{middle}[/bold], {band.middle - 1:+.1%} of what is above")
    trust = accelerator_trust(run.platform.npu)
    if not trust.startswith("measured"):
        lines.append(f"accelerator {run.platform.npu.name}: {trust}")
    return lines


def _title(run: Run, result: IterationResult) -> str:
    plan = run.plan
    return (
        f"[bold]{run.workload.model.name}[/bold] on {result.npus} x {run.platform.npu.name} "
        f"({run.platform.name}), tp {plan.tp} x cp {plan.cp} x dp {plan.dp} x pp {plan.pp}"
        f"{f' (experts: etp {plan.expert_tp} x ep {plan.ep})' if plan.ep > 1 else ''}, "
        f"micro-batch {plan.micro_batch}\n"
        f"{run.workload.time_name} [bold]{format_quantity(result.iteration_time_s, 's')}[/bold], "
        f"MFU [bold]{result.mfu:.1%}[/bold], HFU {result.hfu:.1%}, "
        f"{result.tokens_per_s:,.0f} {run.workload.unit}/s "
        f"({result.tokens_per_s / result.npus:,.1f} per NPU); "
        f"{_figures(result)}{result.simulated_npus} NPUs stood for {result.npus}, {result.backend}"
    )


def _traffic(result: IterationResult) -> str:
    """Counts of a network of packets, in words."""
    shares = {name for name in result.traffic if name.startswith("sample_error")}
    return ", ".join(
        f"{name.replace('_', ' ')} {value:.2%}"
        if name in shares
        else f"{name.replace('_', ' ')} {value:,.0f}"
        for name, value in result.traffic.items()
    )


def _figures(result: IterationResult) -> str:
    """Further figures in words: their names end in units."""
    texts = []
    for name, value in result.figures.items():
        if name.endswith("_per_s"):
            texts.append(f"{value:,.4g} {name.removesuffix('_per_s').replace('_', ' ')}/s; ")
        else:
            label = name.removesuffix("_s").replace("_", " ")
            texts.append(f"{label} {format_quantity(value, 's')}; ")
    return "".join(texts)


def _time_table(result: IterationResult) -> Table:
    table = Table("where the time goes", "mean over stages", "share", "slowest stage")
    rows = [(_computing(name), name, "compute_s") for name in result.compute_by_phase_s()]
    rows += [
        (_waiting(name, result), name, "exposed_communication_s")
        for name in result.exposed_by_axis_s()
    ]
    for label, name, field in rows:
        values = [getattr(stage, field).get(name, 0.0) for stage in result.stages]
        if max(values) > 0:
            _row(table, label, values, result.iteration_time_s)
    _row(
        table,
        "pipeline bubble and waiting",
        [s.bubble_s for s in result.stages],
        result.iteration_time_s,
    )
    return table


def _computing(name: str) -> str:
    """Label of time in which an NPU computes."""
    return f"compute: {'lost to communication' if name == 'lost' else name}"


def _waiting(name: str, result: IterationResult) -> str:
    """Label of time in which an NPU communicates, or moves data through a port of a tier."""
    if name not in result.tier_bytes:
        return f"exposed communication: {PARTS.get(name, name)}"
    tier, _, way = name.rpartition("_")
    return f"waiting for tier {tier}: {way}"


def _tier_table(run: Run, result: IterationResult) -> Table:
    """Tiers of memory that the plan uses: what lies there, what moves, and what waits for it."""
    table = Table("tier", "holds", "at one port", "loaded", "stored", "updated there", "waited for")
    waits, held = result.exposed_by_axis_s(), run.plan.offload.places
    for tier in run.plan.offload.tiers:
        moved = [result.tier_bytes.get(f"{tier}_{way}", 0.0) for way in ("load", "store", "update")]
        waited = plain_sum(waits.get(f"{tier}_{way}", 0.0) for way in ("load", "store", "update"))
        table.add_row(
            tier,
            ", ".join(part for part, place in held.items() if place == tier),
            format_memory(result.tier_bytes[f"{tier}_held"]),
            *[format_quantity(size, "B") for size in moved],
            format_quantity(waited, "s"),
        )
    return table


def _row(table: Table, label: str, values: list[float], total: float) -> None:
    mean = plain_sum(values) / len(values)
    table.add_row(
        label,
        format_quantity(mean, "s"),
        f"{mean / total:.1%}",
        format_quantity(max(values), "s"),
    )


def _memory_table(run: Run, result: IterationResult) -> Table:
    """Bytes of a run's tensors, and below the line what it takes beside them."""
    table = Table("memory of the fullest NPU", "size", "share of capacity")
    modules = activations_by_module(run.workload, run.plan, result.footprint)
    for name, size in result.footprint.parts().items():
        _size_row(table, name, size, result)
        for module, part in modules.items() if name == "activations" else ():
            _size_row(table, f"  {module.replace('_', ' ')}", part, result, style="dim")
    _size_row(table, "total", result.footprint.total_bytes, result, style="bold")
    table.add_section()
    for name, size in result.runtime.parts().items():
        _size_row(table, name, size, result, style="dim")
    fit = result.memory_fit
    _size_row(table, "with these", fit.expected_bytes, result)
    _size_row(table, "with fragments", fit.highest_bytes, result)
    return table


def _size_row(
    table: Table, name: str, size: int, result: IterationResult, style: str | None = None
) -> None:
    if size:
        share = f"{size / result.memory_bytes:.1%}"
        table.add_row(name, format_memory(size), share, style=style)


def _network_table(run: Run, result: IterationResult) -> Table:
    table = Table(
        "dimension", "topology", "NPUs", "bandwidth per NPU", "sent per NPU", "used", "busiest NPU"
    )
    for index, dimension in enumerate(run.platform.dimensions):
        table.add_row(
            str(index),
            str(dimension.topology),
            str(dimension.npus),
            _bandwidth(dimension),
            format_quantity(result.sent_bytes[index], "B"),
            f"{result.dimension_utilization[index]:.1%}",
            f"{result.link_loads[index]:.1%}",
        )
    return table


def _bandwidth(dimension: Dimension) -> str:
    told = format_quantity(dimension.bandwidth_bytes_per_s, "B/s")
    if dimension.efficiency == 1.0:
        return told
    return f"{told}, {dimension.efficiency:.1%} reached"
