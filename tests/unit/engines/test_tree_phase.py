"""One phase of the double binary tree, against the unfolded engine."""

from every_case import with_every

from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.topologies import TOPOLOGIES

MEMORY_BYTES_PER_S = 30e9


@with_every("topology", list(TOPOLOGIES))
@with_every("npus, members, stride", [(2, 2, 1), (4, 4, 1), (16, 8, 2), (16, 16, 1), (16, 4, 1)])
@with_every("latency_s", [0.0, 700e-9])
def test_tree_ends_when_the_engine_says(
    topology: str, npus: int, members: int, stride: int, latency_s: float
) -> None:
    dimension = Dimension(
        topology=topology, npus=npus, bandwidth_bytes_per_s=50e9, latency_s=latency_s
    )
    system = System(chunks=1, all_reduce=("double_binary_tree",), phase_end="together")
    placement = Placement(extent=(members,), stride=(stride,))
    kind, size_bytes = CollectiveKind.ALL_REDUCE, 1_000_003
    time = CollectiveTimer([dimension], system, MEMORY_BYTES_PER_S).time(
        kind, placement, size_bytes
    )
    ends = Subsystem([dimension], system, MEMORY_BYTES_PER_S, fold=False).collective_ends(
        kind, placement, size_bytes
    )
    assert time.duration_ns == ends.max()

    assert time.held_ns == ends.max() - ends.min()
