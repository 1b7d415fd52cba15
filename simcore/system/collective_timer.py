"""Times collectives whose members start together; each distinct one is worked out once."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np

from simcore.hardware.dimension import Dimension
from simcore.kernels.chunk_pipeline import FASTEST_NS, LAST_STEP_NS, SLOWEST_NS, TIME_WORDS
from simcore.kernels.collective_time import collective_time, through_phases
from simcore.kernels.phase_row import RESULT_OVER, RESULT_TIMES
from simcore.system.collective_cache import CollectiveCache
from simcore.system.collective_time import CollectiveTime
from simcore.system.engine_input import Ints
from simcore.system.phase_rows import local_array, network_array, phase_rows
from simcore.system.phases import Phase, cut, phases_of_chunk
from simcore.system.placement import Placement
from simcore.system.spec import ALGORITHM_KEYS, System
from simcore.system.subsystem import Subsystem
from simcore.terms import CollectiveKind


class CollectiveTimer:
    """Collectives of one machine and one system layer.

    Phases whose members behave alike are timed on one member that stands for all; of the others
    (trees, rings on part of a dimension) every member is, and such a phase lasts until its last
    member is done: ``held_ns`` says how long others may have waited. The chunks then go through
    the queues of the system layer. Only what the order of events among all members decides runs on
    the unfolded engine. Where members behave alike, the times are the engine's to the nanosecond.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        cache: CollectiveCache | None = None,
    ) -> None:
        self._dimensions = tuple(dimensions)
        self._topologies = [dimension.topology for dimension in self._dimensions]
        self._shape = tuple((d.topology, d.npus) for d in self._dimensions)
        self._system = system
        self._memory_bytes_per_s = memory_bytes_per_s
        self._network = network_array(self._dimensions)
        self._local = local_array(system.endpoint_delay_ns, memory_bytes_per_s)
        self._aware = system.collective_optimization == "local_bw_aware"
        self._algorithms: dict[CollectiveKind, tuple[str, ...]] = {}
        cache = cache or CollectiveCache()
        self._programs, self._rows = cache.programs, cache.rows
        machine = self._key()
        known = cache.times.get(machine)
        self._known = cache.times.put(machine, {}) if known is None else known

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> CollectiveTime:
        """Time of one collective; *size_bytes* is the full buffer, of an all-gather the shard."""
        key = (kind, placement, size_bytes)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._work_out(kind, placement, size_bytes)
        return known

    def _key(self) -> Hashable:
        """Everything that decides the times."""
        system = self._system
        return (
            self._network.tobytes(),
            self._local.tobytes(),
            system.chunks,
            system.active_chunks_per_dimension,
            system.collective_optimization,
            system.inter_dimension,
            system.all_reduce,
            system.all_gather,
            system.reduce_scatter,
            system.all_to_all,
        )

    def _work_out(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        if self._system.inter_dimension != "ascending" and sum(e > 1 for e in placement.extent) > 1:
            return self._reordered(kind, placement, size_bytes)
        phases, rows = self._program(kind, placement, None)
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        active = self._system.active_chunks_per_dimension
        times = np.empty((len(phases), TIME_WORDS), np.int64)
        sent = np.zeros(len(self._dimensions))
        missing, duration, held, last_step, tied = collective_time(
            rows, chunks, chunk_bytes, active, self._network, self._local, times, sent
        )
        if missing:
            self._time_on_engine(phases, rows, chunk_bytes, times)
            duration, held, last_step, tied = through_phases(
                rows, chunks, active, len(self._dimensions), times
            )
        if tied and not held:  # the order of events on one member does not decide: run them all
            ends = self._subsystem().collective_ends(kind, placement, size_bytes)
            duration, last_step = ends.max(), self._system.endpoint_delay_ns
        return CollectiveTime(
            duration_ns=int(duration),
            held_ns=int(held),
            last_step_ns=int(last_step),
            sent_bytes=tuple(sent.tolist()),
        )

    def _reordered(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        """Where chunks pass the dimensions in different orders: the engine runs all members."""
        subsystem = self._subsystem()
        ends = subsystem.collective_ends(kind, placement, size_bytes)
        orders = subsystem.dimension_orders(kind, placement, size_bytes)
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        sent = np.zeros(len(self._dimensions))
        for order, uses in Counter(orders[c % len(orders)] for c in range(chunks)).items():
            phases, rows = self._program(kind, placement, order)
            times = np.empty((len(phases), TIME_WORDS), np.int64)
            collective_time(rows, uses, chunk_bytes, 1, self._network, self._local, times, sent)
        return CollectiveTime(
            duration_ns=int(ends.max()),
            held_ns=int(ends.max() - ends.min()),
            last_step_ns=self._system.endpoint_delay_ns,
            sent_bytes=tuple(sent.tolist()),
        )

    def _program(
        self, kind: CollectiveKind, placement: Placement, passed: tuple[int, ...] | None
    ) -> tuple[tuple[Phase, ...], Ints]:
        """The phases of a chunk, as they are and as rows of numbers."""
        if kind not in self._algorithms:
            self._algorithms[kind] = self._system.algorithms(kind, self._topologies)
        algorithms = self._algorithms[kind]
        key = (kind, placement, algorithms, self._aware, self._shape, passed)
        known = self._programs.get(key)
        if known is None:
            phases = phases_of_chunk(kind, placement, algorithms, self._aware, passed)
            rows = np.array(phase_rows(phases, self._dimensions, self._rows), np.int64)
            known = self._programs.put(key, (phases, rows))
        return known

    def _subsystem(self) -> Subsystem:
        return Subsystem(self._dimensions, self._system, self._memory_bytes_per_s)

    def _time_on_engine(
        self, phases: Sequence[Phase], rows: Ints, size_bytes: int, times: Ints
    ) -> None:
        """Write the times that are missing of *phases*: all members, on the unfolded engine."""
        for phase, row, time in zip(phases, rows, times, strict=True):
            if time[SLOWEST_NS] < 0:
                ends = self._phase_ends(phase, size_bytes)
                time[SLOWEST_NS], time[FASTEST_NS] = ends.max(), ends.min()
                time[LAST_STEP_NS] = self._system.endpoint_delay_ns
            size_bytes = size_bytes * int(row[RESULT_TIMES]) // int(row[RESULT_OVER])

    def _phase_ends(self, phase: Phase, size_bytes: int) -> Ints:
        alone = self._system.model_copy(
            update={
                "chunks": 1,
                "collective_optimization": "baseline",
                "inter_dimension": "ascending",
                **dict.fromkeys(ALGORITHM_KEYS, (phase.algorithm,)),
            }
        )
        dimension = self._dimensions[phase.dimension]
        return Subsystem((dimension,), alone, self._memory_bytes_per_s).collective_ends(
            phase.kind,
            Placement(extent=(phase.members,), stride=(phase.stride,)),
            size_bytes,
        )
