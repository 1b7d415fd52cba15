"""Times collectives whose members start together; each distinct one is worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.collectives import PhaseProgram, algorithm_named
from simcore.hardware.dimension import Dimension
from simcore.kernels.chunk_pipeline import pipeline_time
from simcore.kernels.phase_machine import (
    PhaseArguments,
    hops_at,
    message_ns,
    phase_time,
    reduction_ns,
)
from simcore.system.phases import Phase, cut, phases_of_chunk
from simcore.system.placement import Placement
from simcore.system.spec import ALGORITHM_KEYS, System
from simcore.system.subsystem import Subsystem
from simcore.system.tree_phase import TreePhase
from simcore.terms import CollectiveKind, TopologyKind

TOPOLOGY_CODE = {
    TopologyKind.RING: 0,
    TopologyKind.FULLY_CONNECTED: 1,
    TopologyKind.SWITCH: 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTime:
    """What one collective costs when its members start together.

    Attributes:
        duration_ns: Until all members are done.
        held_ns: By how much the collective would be shorter if every phase ended with its first
            member; 0: all members behave alike, and the time is exact.
        last_step_ns: How long before the end the event that ends it was scheduled.
        sent_bytes: Per dimension, what one member sends (mean over the members).
    """

    duration_ns: int
    held_ns: int
    last_step_ns: int
    sent_bytes: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseTime:
    """One phase of one chunk: when the last and the first member are done, and what they send."""

    duration_ns: int
    earliest_ns: int
    last_step_ns: int
    sent_bytes: float


class CollectiveTimer:
    """Collectives of one machine and one system layer, on one member that stands for all.

    Each phase is the state machine of one member, the chunks go through the queues of the system
    layer. Where the members of a phase behave alike (rings on whole dimensions, direct,
    halving-doubling) this is what every member does, to the nanosecond. Where they do not (trees,
    rings on part of a dimension), the phase lasts until its last member is done, and
    ``held_ns`` says how long others may have waited.
    """

    def __init__(
        self, dimensions: Sequence[Dimension], system: System, memory_bytes_per_s: float
    ) -> None:
        self._dimensions = tuple(dimensions)
        self._system = system
        self._memory_bytes_per_s = memory_bytes_per_s
        self._known: dict[tuple[CollectiveKind, Placement, int], CollectiveTime] = {}
        self._phases: dict[Phase, PhaseTime] = {}

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> CollectiveTime:
        """Time of one collective; *size_bytes* is the full buffer, of an all-gather the shard."""
        key = (kind, placement, size_bytes)
        if key not in self._known:
            self._known[key] = self._work_out(*key)
        return self._known[key]

    def _reordered(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        """Where chunks pass the dimensions in different orders: the engine runs all members."""
        subsystem = Subsystem(self._dimensions, self._system, self._memory_bytes_per_s)
        ends = subsystem.collective_ends(kind, placement, size_bytes)
        orders = subsystem.dimension_orders(kind, placement, size_bytes)
        topologies = [dimension.topology for dimension in self._dimensions]
        algorithms = self._system.algorithms(kind, topologies)
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        aware = self._system.collective_optimization == "local_bw_aware"
        sent = [0.0] * len(self._dimensions)
        for chunk in range(chunks):
            order = orders[chunk % len(orders)]
            for phase in phases_of_chunk(kind, chunk_bytes, placement, algorithms, aware, order):
                sent[phase.dimension] += self._phase(phase).sent_bytes
        return CollectiveTime(
            duration_ns=int(ends.max()),
            held_ns=int(ends.max() - ends.min()),
            last_step_ns=self._system.endpoint_delay_ns,
            sent_bytes=tuple(sent),
        )

    def _work_out(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        if self._system.inter_dimension != "ascending" and sum(e > 1 for e in placement.extent) > 1:
            return self._reordered(kind, placement, size_bytes)
        topologies = [dimension.topology for dimension in self._dimensions]
        algorithms = self._system.algorithms(kind, topologies)
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        aware = self._system.collective_optimization == "local_bw_aware"
        phases = phases_of_chunk(kind, chunk_bytes, placement, algorithms, aware)
        timed = [self._phase(phase) for phase in phases]
        last_steps = [time.last_step_ns for time in timed]
        slowest = [time.duration_ns for time in timed]
        duration, last_step, tied = self._pipeline(chunks, phases, slowest, last_steps)
        held = 0
        if any(time.earliest_ns < time.duration_ns for time in timed):
            fastest = [time.earliest_ns for time in timed]
            shortest, _, _ = self._pipeline(chunks, phases, fastest, last_steps)
            held = max(duration - shortest, 1)
        if tied and not held:  # the order of events on one member does not decide: run them all
            subsystem = Subsystem(self._dimensions, self._system, self._memory_bytes_per_s)
            ends = subsystem.collective_ends(kind, placement, size_bytes)
            duration, last_step = ends.max(), self._system.endpoint_delay_ns
        sent = [0.0] * len(self._dimensions)
        for phase, time in zip(phases, timed, strict=True):
            sent[phase.dimension] += chunks * time.sent_bytes
        return CollectiveTime(
            duration_ns=int(duration),
            held_ns=held,
            last_step_ns=int(last_step),
            sent_bytes=tuple(sent),
        )

    def _pipeline(
        self, chunks: int, phases: list[Phase], phase_ns: list[int], last_step_ns: list[int]
    ) -> tuple[int, int, bool]:
        return pipeline_time(
            chunks,
            np.array([phase.dimension for phase in phases], np.int64),
            np.array(phase_ns, np.int64),
            np.array(last_step_ns, np.int64),
            len(self._dimensions),
            self._system.active_chunks_per_dimension,
        )

    def _phase(self, phase: Phase) -> PhaseTime:
        if phase not in self._phases:
            algorithm = algorithm_named(phase.algorithm)
            program = algorithm.program(phase.kind, phase.members, phase.size_bytes)
            dimension = self._dimensions[phase.dimension]
            if program is None:
                self._phases[phase] = self._tree(phase)
            elif algorithm.alike(dimension.topology, dimension.npus, phase.members, phase.stride):
                self._phases[phase] = self._alike(phase, program)
            else:
                self._phases[phase] = self._unlike(phase, program)
        return self._phases[phase]

    def _alike(self, phase: Phase, program: PhaseProgram) -> PhaseTime:
        duration, sent_bytes, last_step = phase_time(self._arguments(phase, program))
        return PhaseTime(
            duration_ns=duration,
            earliest_ns=duration,
            last_step_ns=last_step,
            sent_bytes=float(sent_bytes),
        )

    def _tree(self, phase: Phase) -> PhaseTime:
        dimension, size_bytes = self._dimensions[phase.dimension], phase.size_bytes
        code = TOPOLOGY_CODE[dimension.topology]
        link = dimension.link_bandwidth_bytes_per_s / 1e9

        def message(a: int, b: int) -> int:
            hops = hops_at(code, dimension.npus, abs(a - b) * phase.stride)
            return int(message_ns(hops, dimension.latency_s * 1e9, size_bytes, link))

        last, first = TreePhase(
            members=phase.members,
            message_ns=message,
            endpoint_delay_ns=self._system.endpoint_delay_ns,
            reduction_ns=reduction_ns(size_bytes, self._memory_bytes_per_s),
        ).ends()
        return PhaseTime(
            duration_ns=last,
            earliest_ns=first,
            last_step_ns=self._system.endpoint_delay_ns,
            # the chunk goes up and down each of the tree's edges once
            sent_bytes=2 * size_bytes * (phase.members - 1) / phase.members,
        )

    def _unlike(self, phase: Phase, program: PhaseProgram) -> PhaseTime:
        """A phase whose members see other distances: all of them on the unfolded engine."""
        alone = self._system.model_copy(
            update={
                "chunks": 1,
                "collective_optimization": "baseline",
                **dict.fromkeys(ALGORITHM_KEYS, (phase.algorithm,)),
            }
        )
        dimension = self._dimensions[phase.dimension]
        ends = Subsystem((dimension,), alone, self._memory_bytes_per_s).collective_ends(
            phase.kind,
            Placement(extent=(phase.members,), stride=(phase.stride,)),
            phase.size_bytes,
        )
        return PhaseTime(
            duration_ns=int(ends.max()),
            earliest_ns=int(ends.min()),
            last_step_ns=self._system.endpoint_delay_ns,
            sent_bytes=float(program.steps * program.first_bytes),
        )

    def _arguments(self, phase: Phase, program: PhaseProgram) -> PhaseArguments:
        dimension = self._dimensions[phase.dimension]
        return PhaseArguments(
            steps=program.steps,
            parallel=program.parallel,
            reduced=program.reduced,
            first_bytes=program.first_bytes,
            first_distance=program.first_distance,
            factor=program.factor,
            peers=int(program.peers),
            waits_for_all=program.waits_for_all,
            reduces_first_half=phase.kind is CollectiveKind.ALL_REDUCE,
            reduces_always=phase.kind is CollectiveKind.REDUCE_SCATTER,
            members=phase.members,
            topology=TOPOLOGY_CODE[dimension.topology],
            npus=dimension.npus,
            stride=phase.stride,
            bytes_per_ns=dimension.link_bandwidth_bytes_per_s / 1e9,
            latency_ns=dimension.latency_s * 1e9,
            endpoint_delay_ns=self._system.endpoint_delay_ns,
            memory_bytes_per_s=self._memory_bytes_per_s,
        )
