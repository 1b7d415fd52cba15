"""Predicts measured collectives: the fastest of what the library could have chosen."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simcore.engines.collectives.placement import place_group
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.errors import SimcoreError
from simcore.machine import Dimension
from simcore.machine.fabric import Fabric
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.validation.machine import GB, SCALE_OUT, Accelerator, Machines, accelerator_of
from simcore.validation.mapping import SYSTEM
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.validation.score import Prediction

_KINDS = {
    "all_reduce": CollectiveKind.ALL_REDUCE,
    "all_gather": CollectiveKind.ALL_GATHER,
    "reduce_scatter": CollectiveKind.REDUCE_SCATTER,
    "all_to_all": CollectiveKind.ALL_TO_ALL,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredCollective:
    """One collective on whole nodes, or on some NPUs of one node.

    Attributes:
        kind: What it does.
        size_bytes: Of the whole buffer, also of an all-gather.
        npus: That take part.
        nodes: That they are spread over evenly.
        scale_up_bytes_per_s: Data sheet's, within a node.
        scale_out_bytes_per_s: Data sheet's, between nodes.
        forced_ring: The run did not let the switches reduce.
    """

    kind: CollectiveKind
    size_bytes: int
    npus: int
    nodes: int
    scale_up_bytes_per_s: float
    scale_out_bytes_per_s: float
    forced_ring: bool

    @classmethod
    def of(cls, row: MeasuredRow, accelerator: Accelerator) -> "MeasuredCollective":
        """Collective of *row*.

        Raises:
            UnsupportedRow: A column that no rule can fill in is empty.
        """
        kind, size, npus = row.text("collective"), row.count("size_bytes"), row.count("num_gpus")
        nodes = row.count("nodes") or 1
        if kind not in _KINDS or size is None or npus is None or npus < 2 or npus % nodes:
            rule = "needs a known collective, size_bytes, and num_gpus spread evenly over nodes"
            raise UnsupportedRow(rule)
        up, out = row.number("intra_bw_GBps"), row.number("inter_bw_GBps")
        return cls(
            kind=_KINDS[kind],
            size_bytes=size,
            npus=npus,
            nodes=nodes,
            scale_up_bytes_per_s=up * GB if up else accelerator.scale_up_bytes_per_s,
            scale_out_bytes_per_s=out * GB if out else accelerator.scale_out_bytes_per_s,
            forced_ring=row.text("algo").startswith("Ring"),
        )


def predict_collectives(path: Path) -> Iterator[Prediction]:
    """One prediction per row of the collectives' table *path*.

    Raises:
        ConfigError: The table cannot be read.
    """
    machines = Machines()
    for row in MeasuredRow.all_of(path):
        yield predict_collective(row, machines)


def predict_collective(row: MeasuredRow, machines: Machines) -> Prediction:
    """Prediction of one row; never raises for what a row holds."""
    try:
        accelerator = accelerator_of(row)
        asked = MeasuredCollective.of(row, accelerator)
        fabric, out = machines.fabric(accelerator.fabric), machines.fabric(SCALE_OUT)
        memory = machines.npu(accelerator.npu).memory_bandwidth_bytes_per_s
        time_s = collective_s(asked, fabric, out, memory)
        return Prediction(id=row.id, status="ok", time_s=time_s)
    except SimcoreError as error:
        return Prediction(id=row.id, status="unsupported", reason=str(error))


def collective_s(
    asked: MeasuredCollective, up: Fabric, out: Fabric, memory_bytes_per_s: float
) -> float:
    """The fastest way that the fabrics offer, with the start of the communication kernel."""
    times = []
    for dimensions, algorithm in _ways(asked, up, out):
        system = SYSTEM.model_copy(update={"all_reduce": (algorithm,)})
        times.append(_simulated_s(asked, dimensions, system, memory_bytes_per_s))
    start_s = max(up.start_s, out.start_s) if asked.nodes > 1 else up.start_s
    return start_s + min(times)


def _ways(
    asked: MeasuredCollective, up: Fabric, out: Fabric
) -> Iterator[tuple[tuple[Dimension, ...], str]]:
    """Dimensions and algorithm of each protocol of both fabrics, and of the switches."""
    inner, switch = asked.npus // asked.nodes, "switch"
    reduces = asked.kind is CollectiveKind.ALL_REDUCE and not asked.forced_ring
    if reduces and asked.nodes == 1 and up.in_network and inner >= up.in_network_from:
        rate = asked.scale_up_bytes_per_s
        yield (up.dimension(switch, inner, rate, up.in_network),), "in_network"
    for near in up.protocols:
        first = up.dimension(switch, inner, asked.scale_up_bytes_per_s, near) if inner > 1 else None
        if asked.nodes == 1 and first is not None:
            yield (first,), "ring"
            continue
        for far in out.protocols:
            second = out.dimension(switch, asked.nodes, asked.scale_out_bytes_per_s, far)
            yield ((first, second) if first is not None else (second,)), "ring"


def _simulated_s(
    asked: MeasuredCollective,
    dimensions: tuple[Dimension, ...],
    system: System,
    memory_bytes_per_s: float,
) -> float:
    sizes = tuple(dimension.npus for dimension in dimensions)
    placement = place_group("all NPUs", 1, asked.npus, sizes)
    size = asked.size_bytes
    if asked.kind is CollectiveKind.ALL_GATHER:
        size //= asked.npus
    timer = CollectiveTimer(dimensions, system, memory_bytes_per_s)
    return timer.time(asked.kind, placement, size).duration_ns * 1e-9
