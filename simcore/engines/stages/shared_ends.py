"""Ends of collectives between stages, whose members start at different times."""

from collections.abc import Sequence

import numpy as np

from simcore.engines.collectives.members import Subsystem
from simcore.engines.events.input import Ints
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.workload.graph import CollectiveOp


class SharedEnds:
    """Asks the unfolded engine when each stage's member of a collective is done."""

    def __init__(
        self,
        platform: Platform,
        system: System,
        collectives: Sequence[CollectiveOp],
        stage_stride: int,
    ) -> None:
        rate = platform.npu.memory_bandwidth_bytes_per_s
        self._subsystem = Subsystem(platform.dimensions, system, rate)
        self._collectives, self._stride = collectives, stage_stride
        self.lead_ns = system.endpoint_delay_ns

    def ends(self, item: int, stages: Sequence[int], start_ns: Ints) -> Ints:
        """(G,) int64: the end of each member, at *stages*, given its start."""
        operation = self._collectives[item]
        members = np.array(stages, np.int64) * self._stride
        first = int(start_ns.min())
        return first + self._subsystem.shared_ends(
            operation.kind, members, operation.size_bytes, start_ns - first
        )
