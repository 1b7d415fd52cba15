"""The machine of a row: its accelerator, and links with what they really give."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import isqrt

from simcore.engines.collectives.placement import place_group
from simcore.errors import InfeasibleError
from simcore.machine import Dimension, Npu, Platform, load_npu
from simcore.machine.fabric import Fabric
from simcore.validation.rows import MeasuredRow, UnsupportedRow
from simcore.workload import ParallelPlan, TrainingWorkload
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.groups import group_layouts

GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Accelerator:
    """One accelerator of the tables, as its servers are sold.

    Attributes:
        npu: Its file in ``configs/npus``.
        fabric: Its scale-up links, a file in ``configs/fabrics``.
        per_node: Accelerators that the scale-up links join, where the row does not say.
        scale_up_bytes_per_s: Of one accelerator, one direction, where the row does not say.
        scale_out_bytes_per_s: Likewise, to other nodes.
        torus_dimensions: 0: a switch joins the node; else the rings that all accelerators form.
    """

    npu: str
    fabric: str
    per_node: int
    scale_up_bytes_per_s: float
    scale_out_bytes_per_s: float
    torus_dimensions: int = 0

    @property
    def topology(self) -> str:
        """Shape of the scale-up links, as collectives are taken to see it."""
        return "ring" if self.torus_dimensions else "switch"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Named:
    """An accelerator by the tables' name, with what its own file does not tell.

    Attributes:
        npu: Its file.
        per_node: Accelerators of a server, where they are not those of its scale-up domain.
        scale_out: In GB/s, where the file names no cards.
        torus_dimensions: As in ``Accelerator``.
    """

    npu: str
    per_node: int | None = None
    scale_out: float | None = None
    torus_dimensions: int = 0


_NAMED = {
    "V100-16GB": _Named(npu="v100_16", scale_out=12.5),
    "V100-32GB": _Named(npu="v100_32", per_node=8, scale_out=12.5),
    "V100-SXM2": _Named(npu="v100_32", per_node=8, scale_out=12.5),
    "A100-40GB-SXM": _Named(npu="a100_40"),
    "A100-80GB-SXM": _Named(npu="a100_80"),
    "A100-SXM": _Named(npu="a100_80"),
    "H100-80GB-SXM": _Named(npu="h100_80"),
    "Hopper (H100/H200 class)": _Named(npu="h100_80"),
    "H100-96GB-HBM2e-500W": _Named(npu="h100_96"),
    "H200-141GB-SXM": _Named(npu="h200"),
    "GH200-96GB": _Named(npu="gh200", scale_out=50),
    "H800": _Named(npu="h800"),
    "B200": _Named(npu="b200"),
    "B300": _Named(npu="b300"),
    "GB200": _Named(npu="gb200"),
    "GB300": _Named(npu="gb300"),
    "L40S": _Named(npu="l40s", per_node=8, scale_out=25),
    "RTX-PRO-6000": _Named(npu="rtx_pro_6000", per_node=8, scale_out=50),
    "MI250": _Named(npu="mi250_die", scale_out=25),
    "MI300X": _Named(npu="mi300x"),
    "Gaudi2": _Named(npu="gaudi2"),
    "Gaudi3": _Named(npu="gaudi3"),
    "TPUv2": _Named(npu="tpu_v2", scale_out=6.25, torus_dimensions=2),
    "TPUv3": _Named(npu="tpu_v3", scale_out=6.25, torus_dimensions=2),
    "TPUv4": _Named(npu="tpu_v4", scale_out=6.25, torus_dimensions=3),
    "TPUv5e": _Named(npu="tpu_v5e", scale_out=6.25, torus_dimensions=2),
    "TPUv5p": _Named(npu="tpu_v5p", scale_out=6.25, torus_dimensions=3),
    "TPUv6e": _Named(npu="tpu_v6e", scale_out=6.25, torus_dimensions=2),
}
"""By the tables' own names. What TPUs send between slices is an estimate."""


@cache
def accelerator_named(name: str) -> Accelerator:
    """The accelerator that the tables call *name*.

    Raises:
        UnsupportedRow: It is not known.
    """
    if name not in _NAMED:
        raise UnsupportedRow(f"accelerator {name or '(none)'} has no file in configs/npus")
    named = _NAMED[name]
    npu = load_npu(named.npu)
    cards = npu.scale_out.installed_bytes_per_s if npu.scale_out else None
    return Accelerator(
        npu=named.npu,
        fabric=npu.scale_up.fabric or "",
        per_node=named.per_node or npu.scale_up.npus,
        scale_up_bytes_per_s=npu.scale_up.bandwidth_bytes_per_s,
        scale_out_bytes_per_s=named.scale_out * GB if named.scale_out else cards or 0.0,
        torus_dimensions=named.torus_dimensions,
    )


SCALE_OUT = "nic"


class Machines:
    """Builds the platforms of rows; files are read once."""

    def __init__(self) -> None:
        self.npu: Callable[[str], Npu] = cache(load_npu)
        self.fabric: Callable[[str], Fabric] = cache(Fabric.load)

    def platform(
        self, row: MeasuredRow, workload: TrainingWorkload, plan: ParallelPlan
    ) -> Platform:
        """The machine that *plan* ran on: a scale-up domain and a network between domains.

        Raises:
            UnsupportedRow: The row's accelerator is not known.
        """
        accelerator = accelerator_of(row)
        up = row.number("intra_bw_GBps")
        up_rate = up * GB if up else accelerator.scale_up_bytes_per_s
        out = row.number("inter_bw_GBps")
        out_rate = out * GB if out else accelerator.scale_out_bytes_per_s
        inner = row.count("gpus_per_node") or accelerator.per_node
        if accelerator.torus_dimensions:
            dimensions = self._torus(accelerator, plan.npus)
        elif leaves_nodes(row) and plan.dp == plan.npus > inner:
            dimensions = self._ports(plan, out_rate)
        else:
            inner = node_size(workload, plan, inner)
            scale_up, scale_out = self.fabric(accelerator.fabric), self.fabric(SCALE_OUT)
            dimensions = []
            if inner > 1:
                dimensions.append(scale_up.dimension(accelerator.topology, inner, up_rate))
            if plan.npus > inner:
                nodes = plan.npus // inner
                dimensions.append(scale_out.dimension("switch", nodes, out_rate))
        return Platform.build(
            "platform",
            name=f"{plan.npus} x {accelerator.npu}",
            npu=self.npu(accelerator.npu),
            dimensions=tuple(dimensions),
        )

    def _ports(self, plan: ParallelPlan, rate: float) -> list[Dimension]:
        """Every NPU by its own network port, first to those that share weights with it."""
        fabric = self.fabric(SCALE_OUT)
        sizes = (plan.shard_npus, plan.shard_copies)
        return [fabric.dimension("switch", size, rate) for size in sizes if size > 1]

    def _torus(self, accelerator: Accelerator, npus: int) -> list[Dimension]:
        """Rings as equal as can be.

        Several slices count as one torus: weights are sharded within a slice, and what passes
        between slices, the gradients of a shard, is little.
        """
        sides = near_equal(npus, accelerator.torus_dimensions)
        rate = accelerator.scale_up_bytes_per_s / accelerator.torus_dimensions
        fabric = self.fabric(accelerator.fabric)
        return [fabric.dimension("ring", side, rate) for side in sides if side > 1]


def accelerator_of(row: MeasuredRow) -> Accelerator:
    """The accelerator that *row* names.

    Raises:
        UnsupportedRow: It is not known.
    """
    return accelerator_named(row.text("gpu"))


def node_size(workload: TrainingWorkload, plan: ParallelPlan, per_node: int) -> int:
    """NPUs of one scale-up domain: as many as there are, fill whole domains, and tile the groups.

    Groups that would lie partly in one domain and partly in the next are laid out on smaller
    domains, which sends more of their data over the slower network.
    """
    groups = group_layouts(workload, plan)
    for inner in range(min(per_node, plan.npus), 1, -1):
        if plan.npus % inner == 0 and _tiles(groups, plan.npus, inner):
            return inner
    return 1


def _tiles(groups: Mapping[Axis, GroupLayout], npus: int, inner: int) -> bool:
    sizes = (inner, npus // inner) if npus > inner else (inner,)
    try:
        for axis, group in groups.items():
            if group.size > 1 and axis is not Axis.EMBEDDING:
                place_group(str(axis), group.stride, group.size, sizes)
    except InfeasibleError:
        return False
    return True


def near_equal(count: int, factors: int) -> list[int]:
    """*count* as a product of *factors* whole numbers, small first, as equal as can be."""
    if factors == 1:
        return [count]
    side = round(count ** (1 / factors)) if factors > 2 else isqrt(count)
    while count % side:
        side -= 1
    return [side, *near_equal(count // side, factors - 1)]


def zero_stage(row: MeasuredRow, *, pp: int) -> int:
    """Stage of ZeRO; in a pipeline weights stay gathered all iteration."""
    text = row.text("dp_sharding")
    if text.startswith(("fsdp", "zero3")):
        return 3 if pp == 1 else 1
    return 1 if text.startswith(("zero1", "zero2", "distributed")) else 0


def leaves_nodes(row: MeasuredRow) -> bool:
    """Weights come when they are needed, each NPU by its own port, as in DeepSpeed's first ZeRO 3.

    FSDP, which gathers layers ahead of time over the links within nodes, is not among these.
    """
    return row.text("dp_sharding").startswith("zero3")


def shard_group(row: MeasuredRow) -> int | None:
    """NPUs that share what is sharded, if the row says so."""
    found = re.search(r"sharding group (\d+)", row.text("dp_sharding"))
    return int(found[1]) if found else None
