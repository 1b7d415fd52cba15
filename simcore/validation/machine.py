"""The machine of a row: its accelerator, and links with what they really give."""

from collections.abc import Mapping
from math import isqrt

from simcore.engines.collectives.placement import place_group
from simcore.errors import InfeasibleError
from simcore.machine import Dimension, Npu, Platform, load_npu
from simcore.machine.fabric import Fabric
from simcore.validation.accelerators import ACCELERATORS, GB, Accelerator
from simcore.validation.rows import Row
from simcore.validation.sharding import leaves_nodes
from simcore.validation.unsupported import UnsupportedRow
from simcore.workload import ParallelPlan, TrainingWorkload
from simcore.workload.graph import Axis, GroupLayout
from simcore.workload.groups import group_layouts

SCALE_OUT = "nic"


class Machines:
    """Builds the platforms of rows; files are read once."""

    def __init__(self) -> None:
        self._npus: dict[str, Npu] = {}
        self._fabrics: dict[str, Fabric] = {}

    def npu(self, name: str) -> Npu:
        if name not in self._npus:
            self._npus[name] = load_npu(name)
        return self._npus[name]

    def fabric(self, name: str) -> Fabric:
        if name not in self._fabrics:
            self._fabrics[name] = Fabric.load(name)
        return self._fabrics[name]

    def platform(self, row: Row, workload: TrainingWorkload, plan: ParallelPlan) -> Platform:
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


def accelerator_of(row: Row) -> Accelerator:
    """The accelerator that *row* names.

    Raises:
        UnsupportedRow: It is not known.
    """
    name = row.text("gpu")
    if name not in ACCELERATORS:
        raise UnsupportedRow(f"accelerator {name or '(none)'} has no file in configs/npus")
    return ACCELERATORS[name]


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
