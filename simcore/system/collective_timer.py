"""Times collectives whose members start together; each distinct one is worked out once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.hardware.dimension import Dimension
from simcore.kernels.chunk_pipeline import pipeline_time
from simcore.kernels.phase_machine import PhaseArguments, phase_time
from simcore.system.phases import Phase, cut, phases_of_chunk
from simcore.system.placement import Placement
from simcore.system.spec import System
from simcore.system.subsystem import Subsystem
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
        duration_ns: Until the last member is done.
        earliest_ns: Until the first member is done.
        last_step_ns: How long before the end the event that ends it was scheduled.
        sent_bytes: Per dimension, what one member sends (mean over the members).
        folded: Whether one member stood for all of them.
    """

    duration_ns: int
    earliest_ns: int
    last_step_ns: int
    sent_bytes: tuple[float, ...]
    folded: bool


class CollectiveTimer:
    """Collectives of one machine and one system layer.

    A collective whose members behave alike (rings on whole dimensions, direct, halving-doubling)
    is simulated on one member: each phase by its state machine, the chunks by the queues of the
    system layer. Any other is simulated by the unfolded engine, every member and message. Both
    give the same times; see ``tests/property``.
    """

    def __init__(
        self, dimensions: Sequence[Dimension], system: System, memory_bytes_per_s: float
    ) -> None:
        self._dimensions = tuple(dimensions)
        self._system = system
        self._memory_bytes_per_s = memory_bytes_per_s
        self._known: dict[tuple[CollectiveKind, Placement, int], CollectiveTime] = {}
        self._phases: dict[Phase, tuple[int, int, int]] = {}

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> CollectiveTime:
        """Time of one collective; *size_bytes* is the full buffer, of an all-gather the shard."""
        key = (kind, placement, size_bytes)
        if key not in self._known:
            self._known[key] = self._work_out(*key)
        return self._known[key]

    def _work_out(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        topologies = [dimension.topology for dimension in self._dimensions]
        algorithms = self._system.algorithms(kind, topologies)
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        aware = self._system.collective_optimization == "local_bw_aware"
        phases = phases_of_chunk(kind, chunk_bytes, placement, algorithms, aware)
        if all(self._alike(phase) for phase in phases):
            timed = [self._phase(phase) for phase in phases]
            duration, last_step, tied = pipeline_time(
                chunks,
                np.array([phase.dimension for phase in phases], np.int64),
                np.array([time for time, _, _ in timed], np.int64),
                np.array([wait for _, _, wait in timed], np.int64),
                len(self._dimensions),
                self._system.active_chunks_per_dimension,
            )
            if not tied:
                sent = [0.0] * len(self._dimensions)
                for phase, (_, phase_bytes, _) in zip(phases, timed, strict=True):
                    sent[phase.dimension] += float(chunks * phase_bytes)
                return CollectiveTime(
                    duration_ns=int(duration),
                    earliest_ns=int(duration),
                    last_step_ns=int(last_step),
                    sent_bytes=tuple(sent),
                    folded=True,
                )
        return self._unfolded(kind, placement, size_bytes, phases, chunks)

    def _alike(self, phase: Phase) -> bool:
        dimension = self._dimensions[phase.dimension]
        return phase.algorithm.alike(
            dimension.topology, dimension.npus, phase.members, phase.stride
        )

    def _phase(self, phase: Phase) -> tuple[int, int, int]:
        if phase not in self._phases:
            self._phases[phase] = phase_time(self._arguments(phase))
        return self._phases[phase]

    def _arguments(self, phase: Phase) -> PhaseArguments:
        program = phase.algorithm.program(phase.kind, phase.members, phase.size_bytes)
        assert program is not None  # only trees have none, and they are not alike
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

    def _unfolded(
        self,
        kind: CollectiveKind,
        placement: Placement,
        size_bytes: int,
        phases: list[Phase],
        chunks: int,
    ) -> CollectiveTime:
        subsystem = Subsystem(self._dimensions, self._system, self._memory_bytes_per_s)
        ends = subsystem.collective_ends(kind, placement, size_bytes)
        sent = [0.0] * len(self._dimensions)
        for phase in phases:
            program = phase.algorithm.program(phase.kind, phase.members, phase.size_bytes)
            if program is None:  # a tree: the chunk goes up and down each of its edges once
                phase_bytes = 2 * phase.size_bytes * (phase.members - 1) / phase.members
            else:
                phase_bytes = float(program.steps * program.first_bytes)
                if program.factor != 1.0:
                    phase_bytes = float(self._phase(phase)[1])
            sent[phase.dimension] += chunks * phase_bytes
        return CollectiveTime(
            duration_ns=int(ends.max()),
            earliest_ns=int(ends.min()),
            last_step_ns=self._system.endpoint_delay_ns,
            sent_bytes=tuple(sent),
            folded=False,
        )
