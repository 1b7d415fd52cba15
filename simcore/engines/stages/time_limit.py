"""Proof, before an iteration is executed, that none of its times passes what is counted.

All times are whole nanoseconds in 64 bits. Something is under way at every moment of an iteration,
so it cannot last longer than all of its work one after the other. That sum is taken in floating
point, where nothing wraps, from the time of every operator and from bounds of what the network
needs.

Messages that meet may wait for those of all NPUs, so that these bounds are wide. Where NPUs stay in
step, each collective is timed by itself before the iteration is executed: then only the one must be
bounded, and the sum is taken of the times that were found.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcore.compute import ComputeModel
from simcore.engines.collectives.time import CollectiveTime
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
from simcore.engines.stages.times import MessageTimes
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

_LEAST_S = 1e-300

Floats = NDArray[np.float64]


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
        _check_sizes(counts)
        # messages that meet may wait for those of all NPUs
        npus = program.plan.npus_per_stage if self.messages_meet else 1
        compute_s = npus * _compute_s(counts, operator_ns)
        self._check(program, counts, compute_s, npus * self._network_s(counts.traffic))

    def check_each(
        self, program: TrainingProgram | TrainingGraph, counts: NodeCounts, *, alone: bool
    ) -> None:
        """Check that no collective and no message can by itself take longer than is counted.

        Args:
            program: What is executed.
            counts: Of all its nodes.
            alone: On idle links; else those of all NPUs may be on the links with it.

        Raises:
            InfeasibleError: As ``check``.
        """
        _check_sizes(counts)
        collectives, are_sent = program.collectives, counts.messages > 0
        one = Traffic.of(
            collectives,
            program.groups,
            [1] * len(collectives),
            messages=int(are_sent.sum()),
            sent_bytes=float(counts.message_bytes[are_sent].astype(float).sum()),
            largest_bytes=int(counts.message_bytes.max(initial=0)),
        )
        limit = replace(self, messages_meet=False) if alone else self
        npus = 1 if alone else self.platform.npus
        self._check(program, counts, 0.0, npus * limit._network_s(one))

    def check_timed(
        self,
        program: TrainingProgram | TrainingGraph,
        counts: NodeCounts,
        operator_ns: Ints,
        collectives: Sequence[CollectiveTime | None],
        messages: MessageTimes,
    ) -> None:
        """``check`` by the times of collectives and messages of NPUs that stay in step.

        Args:
            program: What is executed.
            counts: Of all its nodes.
            operator_ns: (O,) int64, time of each operator.
            collectives: Time of each; None where its members are at several stages.
            messages: Those between stages.

        Raises:
            InfeasibleError: As ``check``.
        """
        runs = counts.collectives.sum(axis=0)
        timed_ns = [float(time.duration_ns) if time else 0.0 for time in collectives]
        spent_ns = float(runs @ np.array(timed_ns)) if timed_ns else 0.0
        spent_ns += float((counts.messages * messages.time_ns.astype(np.float64)).sum())
        pairs = zip(collectives, runs.tolist(), strict=True)
        untimed = [times if time is None else 0 for time, times in pairs]
        rest = Traffic.of(program.collectives, program.groups, untimed)
        network_s = self.platform.npus * self._network_s(rest)
        # of collectives under way at once, each may undo what the chunks of the others overlap
        whole_s = 2.0 * len(self.platform.dimensions) * spent_ns * 1e-9
        share = self._network_s(counts.traffic)
        network_s += whole_s * share / max(float(share.sum()), _LEAST_S)
        self._check(program, counts, _compute_s(counts, operator_ns), network_s)

    def _check(
        self,
        program: TrainingProgram | TrainingGraph,
        counts: NodeCounts,
        compute_s: float,
        network_s: Floats,
    ) -> None:
        """Refuse times that add up to more than is counted; *network_s* as ``_network_fields``."""
        total_s = compute_s + float(network_s.sum())
        if total_s < MAX_S:
            return
        if compute_s >= network_s.max():
            raise too_long(self._slowest(program, counts), "an iteration computes", compute_s)
        field = self._network_fields()[int(network_s.argmax())]
        raise too_long(field, "an iteration could take", total_s)

    def _slowest(self, program: TrainingProgram | TrainingGraph, counts: NodeCounts) -> SlowField:
        precision = program.workload.precision

        def time_ns(npu: Npu) -> float:
            times = self.compute.operator_times_ns(program.operators, npu, precision)
            return float(counts.operators @ np.array(times, np.float64))

        return slowest_field(self.platform.npu, time_ns)

    def _network_s(self, traffic: Traffic) -> Floats:
        """Bounds of the times that the network needs, each for one of ``_network_fields``."""
        chunks, delay_s = _CUT * self.system.chunks, self.system.endpoint_delay_s
        rounds = chunks * traffic.rounds
        sent_bytes = _CUT * traffic.sent_bytes + chunks * traffic.member_bytes
        memory_rate = self.platform.npu.memory_bandwidth_bytes_per_s
        times = [rounds * (2.0 * delay_s + _ROUND_S), over(_REDUCED * sent_bytes, memory_rate)]
        before, own = None, list[float]()
        for dimension in self.platform.dimensions:
            if dimension is not before:  # as on a machine that stands for many
                before = dimension
                hops = float(max(dimension.shape.most_hops(dimension.npus), 2))
                sent_s = sent_bytes / dimension.link_bandwidth_bytes_per_s
                latency_s = rounds * hops * dimension.latency_s
                own = [latency_s, sent_s * hops if self.messages_meet else sent_s]
            times += own
        return np.array(times)

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


def _check_sizes(counts: NodeCounts) -> None:
    if counts.traffic.largest_bytes > MAX_COUNT:
        reason = f"a buffer of {counts.traffic.largest_bytes:.3g} bytes is beyond 64-bit sizes"
        raise InfeasibleError("size_in_range", reason)


def _compute_s(counts: NodeCounts, operator_ns: Ints) -> float:
    """Time of all operators of all stages, one after the other."""
    return float(counts.operators @ operator_ns.astype(np.float64)) * 1e-9
