"""Proof, before an iteration is executed, that none of its times passes what is counted.

All times are whole nanoseconds in 64 bits. Something is under way at every moment of an iteration,
so it cannot last longer than all of its work one after the other. That sum is taken in floating
point, where nothing wraps, from the time of every operator and from bounds of what the network
needs.
"""

from dataclasses import dataclass

import numpy as np

from simcore.compute import ComputeModel
from simcore.engines.events.input import Ints
from simcore.engines.limits.counted_time import (
    MAX_S,
    SlowField,
    delay_field,
    dimension_fields,
    over,
    slowest_field,
    too_long,
)
from simcore.engines.limits.size_range import MAX_COUNT, Traffic
from simcore.engines.stages.counts import NodeCounts
from simcore.errors import InfeasibleError
from simcore.machine import Npu, Platform
from simcore.machine.system import System
from simcore.workload.graph import TrainingGraph
from simcore.workload.program.write import TrainingProgram

_CUT = 2.0
"""Chunks are at most this many times those asked for, and so are the bytes of all."""

_ROUND_S = 2e-9
"""Rounding to whole nanoseconds, at most, per round of sends."""

_REDUCED = 4.0
"""More than the times that a received byte passes through memory to be reduced."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TimeLimit:
    """Checks iterations on one machine.

    Attributes:
        platform: The machine.
        system: Its collectives.
        compute: Gives the times of kernels.
        messages_meet: Messages wait for each other on their links.
    """

    platform: Platform
    system: System
    compute: ComputeModel
    messages_meet: bool

    def check(
        self, program: TrainingProgram | TrainingGraph, counts: NodeCounts, operator_ns: Ints
    ) -> None:
        """Check that *program* cannot take longer than is counted.

        Args:
            program: What is executed.
            counts: Of all its nodes.
            operator_ns: (O,) int64, time of each operator.

        Raises:
            InfeasibleError: It could; names the field to which most of the time is due.
        """
        if counts.traffic.largest_bytes > MAX_COUNT:
            reason = f"a buffer of {counts.traffic.largest_bytes:.3g} bytes is beyond 64-bit sizes"
            raise InfeasibleError("size_in_range", reason)
        # messages that meet may wait for those of all NPUs
        npus = program.plan.npus_per_stage if self.messages_meet else 1
        compute_s = npus * float(counts.operators @ operator_ns.astype(np.float64)) * 1e-9
        network_s = self._network_s(counts.traffic)
        total_s = compute_s + npus * sum(network_s)
        if total_s < MAX_S:
            return
        network_s = [npus * time_s for time_s in network_s]
        if compute_s >= max(network_s):
            raise too_long(self._slowest(program, counts), "an iteration computes", compute_s)
        field = self._network_fields()[network_s.index(max(network_s))]
        raise too_long(field, "an iteration could take", total_s)

    def _slowest(self, program: TrainingProgram | TrainingGraph, counts: NodeCounts) -> SlowField:
        precision = program.workload.precision

        def time_ns(npu: Npu) -> float:
            times = self.compute.operator_times_ns(program.operators, npu, precision)
            return float(counts.operators @ np.array(times, np.float64))

        return slowest_field(self.platform.npu, time_ns)

    def _network_s(self, traffic: Traffic) -> list[float]:
        """Bounds of the times that the network needs, each for one of ``_network_fields``."""
        chunks, delay_s = _CUT * self.system.chunks, self.system.endpoint_delay_s
        rounds = chunks * traffic.rounds
        sent_bytes = _CUT * traffic.sent_bytes + chunks * traffic.member_bytes
        memory_rate = self.platform.npu.memory_bandwidth_bytes_per_s
        times = [rounds * (2.0 * delay_s + _ROUND_S), over(_REDUCED * sent_bytes, memory_rate)]
        for dimension in self.platform.dimensions:
            hops = float(max(dimension.shape.most_hops(dimension.npus), 2))
            sent_s = sent_bytes / dimension.link_bandwidth_bytes_per_s
            times.append(rounds * hops * dimension.latency_s)
            times.append(sent_s * hops if self.messages_meet else sent_s)
        return times

    def _network_fields(self) -> list[SlowField]:
        npu = self.platform.npu
        return [
            delay_field(self.system),
            SlowField.rate("platform.npu.memory_bandwidth", npu.memory_bandwidth_bytes_per_s),
            *[
                field
                for index, dimension in enumerate(self.platform.dimensions)
                for field in dimension_fields(dimension, f"platform.dimensions[{index}]")
            ],
        ]
