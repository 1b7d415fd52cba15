"""Times collectives whose members start together; each distinct one is worked out once."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence

import numpy as np

from simcore.collectives import Synthesised, algorithm_name
from simcore.engines.collectives.alike import partners_alike, phase_alike
from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.phases import Phase, cut, phases_of_chunk, stand_ins
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import machine_of, phase_row, row_arrays
from simcore.engines.collectives.scheduled import Located, sentence, taken_ns
from simcore.engines.collectives.switched import switches_wait_ns
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.kernels.collectives.records import COLLECTIVE, TIME, Program, Records
from simcore.kernels.collectives.time import collective_time, collective_times, through_phases
from simcore.machine.dimension import Dimension
from simcore.machine.system import ALGORITHM_KEYS, System
from simcore.memo import Memo
from simcore.terms import CollectiveKind

Collective = tuple[CollectiveKind, Placement, int]
"""Kind, where its members are, and size: of the full buffer, of an all-gather the shard."""


MOST_KNOWN = 1024
"""Collectives of one machine whose times are kept, about 1 kB each."""


class KnownTimes(dict[Collective, CollectiveTime]):
    """Times of the collectives of one machine and system layer."""

    size_bytes = 2**15
    """Estimate: 300 designs of a study ask one machine for 7 to 46 collectives, once for 93."""


class CollectiveTimer:
    """Collectives of one machine and one system layer.

    Phases whose members behave alike are timed on one member that stands for all; of the others
    (trees, rings on part of a dimension) every member is, and such a phase lasts until its last
    member is done: ``held_ns`` says how long others may have waited. The chunks then go through
    the queues of the system layer. Only what the order of events among all members decides runs on
    the event engine. Where members behave alike, the times are the engine's to the nanosecond.

    Args:
        dimensions: Of the machine.
        system: The system layer.
        memory_bytes_per_s: Of an NPU.
        memo: Keeps the times.
        on: Where ranks are, for collectives that are synthesised; None: where their numbers say.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        memo: Memo | None = None,
        on: Located | None = None,
    ) -> None:
        self._dimensions, self._on = tuple(dimensions), on
        self._topologies = [dimension.topology for dimension in self._dimensions]
        self._system = system
        self._memory_bytes_per_s = memory_bytes_per_s
        self._machine = machine_of(self._dimensions, system.endpoint_delay_ns, memory_bytes_per_s)
        self._aware = system.collective_optimization == "local_bw_aware"
        self._algorithms: dict[CollectiveKind, tuple[str, ...]] = {}
        self._known = (memo or Memo()).of("times of collectives", self._key(), KnownTimes)

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> CollectiveTime:
        """Time of one collective; *size_bytes* is the full buffer, of an all-gather the shard."""
        return self.times([(kind, placement, size_bytes)])[0]

    def times(self, wanted: Sequence[Collective]) -> list[CollectiveTime]:
        """Time of each of the collectives *wanted*; see ``time``."""
        new = list(dict.fromkeys([one for one in wanted if one not in self._known]))
        if new and len(self._known) + len(new) > MOST_KNOWN:
            self._known.clear()
            new = list(dict.fromkeys(wanted))
        if self._system.inter_dimension != "ascending":
            mixed = [one for one in new if len(one[1].involved) > 1]
            self._known.update({one: self._reordered(*one) for one in mixed})
            new = [one for one in new if one not in self._known]
        if new:
            self._known.update(zip(new, self._work_out(new), strict=True))
        return [self._known[one] for one in wanted]

    def stand_ins(self, kind: CollectiveKind, placement: Placement) -> tuple[str, ...]:
        """Algorithms that stand in for chosen ones that cannot run, as sentences."""
        return stand_ins(kind, placement, self._algorithms_of(kind))

    def schedules(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> tuple[str, ...]:
        """Sentences on phases of a collective that are synthesised for their network."""
        found, (_, size) = list[str](), self._cut(kind, placement, size_bytes)
        for phase in self._phases(kind, placement):
            if isinstance(phase.algorithm, Synthesised):
                found.append(sentence(phase, self._dimensions, size, self._on))
            row, _ = phase_row(phase, self._dimensions[phase.dimension])
            size = size * row.result_times // row.result_over
        return tuple(found)

    def uneven(self, kind: CollectiveKind, placement: Placement, *, held: bool) -> set[int]:
        """Dimensions along which members of a collective do not all behave alike.

        Args:
            kind: Of the collective.
            placement: Where its members are.
            held: Members that start together end one by one. Where they do not, places differ
                only if members that start one by one find their partners place by place.
        """
        found = set()
        for phase in self._phases(kind, placement):
            algorithm, over = phase.algorithm, self._dimensions[phase.dimension]
            place = over.shape, over.npus, phase.members, phase.stride
            alike = partners_alike(algorithm.machine(phase.kind, phase.members), phase.members)
            if held:
                alike &= phase_alike(algorithm, phase.kind, *place)
            if not alike:
                found.add(phase.dimension)
        return found

    def _key(self) -> Hashable:
        """Everything that decides the times."""
        system = self._system
        links, lengths, *local = self._machine
        return (
            links.tobytes(),
            lengths.tobytes(),
            *local,
            system.chunks,
            system.active_chunks_per_dimension,
            system.collective_optimization,
            system.inter_dimension,
            *(getattr(system, key) for key in ALGORITHM_KEYS),
            tuple([(one.network, one.in_network) for one in self._dimensions]),
            self._on,
        )

    def _work_out(self, wanted: Sequence[Collective]) -> Iterator[CollectiveTime]:
        """Times of collectives whose chunks pass the dimensions in ascending order."""
        rows: list[Program] = []
        table = []
        for kind, placement, size_bytes in wanted:
            chunks, chunk_bytes = self._cut(kind, placement, size_bytes)
            table.append((len(rows), chunks, chunk_bytes))
            rows += self._phase_rows(kind, placement, chunk_bytes)
        table.append((len(rows), 0, 0))
        (phases, steps), active = row_arrays(rows), self._system.active_chunks_per_dimension
        times = np.empty(len(rows), TIME)
        answers, traffic = collective_times(
            np.array(table, COLLECTIVE), phases, steps, active, self._machine, times
        )
        for number, (missing, duration, held, last, tied) in enumerate(answers.tolist()):
            first, chunks, chunk_bytes = table[number]
            own = slice(first, table[number + 1][0])
            one = wanted[number]
            if missing:
                self._time_on_engine(self._phases(*one[:2]), phases[own], chunk_bytes, times[own])
                duration, held, last, tied = through_phases(
                    phases[own], chunks, active, len(self._dimensions), times[own]
                )
            if tied and not held:  # the order of events on one member does not decide: run all
                ends = self._subsystem().collective_ends(*one)
                duration, last = ends.max(), self._system.endpoint_delay_ns
            yield CollectiveTime(
                duration_ns=int(duration),
                held_ns=int(held),
                last_step_ns=int(last),
                traffic=tuple(traffic[number].ravel().tolist()),
            )

    def _cut(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> tuple[int, int]:
        return cut(kind, size_bytes, self._system.chunks, placement.members)

    def _reordered(
        self, kind: CollectiveKind, placement: Placement, size_bytes: int
    ) -> CollectiveTime:
        """Time of chunks in different orders of the dimensions: the engine runs all members."""
        subsystem = self._subsystem()
        ends = subsystem.collective_ends(kind, placement, size_bytes)
        orders = subsystem.dimension_orders(kind, placement, size_bytes)
        chunks, chunk_bytes = self._cut(kind, placement, size_bytes)
        traffic = np.zeros((2, len(self._dimensions)))
        for order, uses in Counter(orders[c % len(orders)] for c in range(chunks)).items():
            rows, steps = row_arrays(self._phase_rows(kind, placement, chunk_bytes, order))
            times = np.empty(rows.size, TIME)
            collective_time(rows, steps, uses, chunk_bytes, 1, self._machine, times, traffic)
        return CollectiveTime(
            duration_ns=int(ends.max()),
            held_ns=int(ends.max() - ends.min()),
            last_step_ns=self._system.endpoint_delay_ns,
            traffic=tuple(traffic.ravel().tolist()),
        )

    def _phases(
        self, kind: CollectiveKind, placement: Placement, passed: Sequence[int] | None = None
    ) -> tuple[Phase, ...]:
        names = self._algorithms_of(kind)
        order = None if passed is None else tuple(passed)
        return phases_of_chunk(kind, placement, names, self._aware, order)

    def _phase_rows(
        self,
        kind: CollectiveKind,
        placement: Placement,
        chunk_bytes: int,
        passed: Sequence[int] | None = None,
    ) -> list[Program]:
        """Row and step table of each phase of a chunk that passes the dimensions as *passed*."""
        found, size = list[Program](), chunk_bytes
        for phase in self._phases(kind, placement, passed):
            row, table = phase_row(phase, self._dimensions[phase.dimension])
            if isinstance(phase.algorithm, Synthesised):
                row = row._replace(takes_ns=taken_ns(phase, self._dimensions, size, self._on))
            wait_ns = switches_wait_ns(phase, self._dimensions, size)
            row = row._replace(wait_ns=wait_ns)
            found.append((row, table))
            size = size * row.result_times // row.result_over
        return found

    def _algorithms_of(self, kind: CollectiveKind) -> tuple[str, ...]:
        """The algorithm of each dimension."""
        if kind not in self._algorithms:
            self._algorithms[kind] = self._system.algorithms(kind, self._topologies)
        return self._algorithms[kind]

    def _subsystem(self) -> Subsystem:
        return Subsystem(self._dimensions, self._system, self._memory_bytes_per_s)

    def _time_on_engine(
        self, phases: Sequence[Phase], rows: Records, size_bytes: int, times: Records
    ) -> None:
        """Write the times that are missing of *phases*: all members, on the unfolded engine."""
        for phase, row, time in zip(phases, rows, times, strict=True):
            if time["slowest_ns"] < 0:
                ends = self._phase_ends(phase, size_bytes)
                time["slowest_ns"], time["fastest_ns"] = ends.max(), ends.min()
                time["last_step_ns"] = self._system.endpoint_delay_ns
            size_bytes = size_bytes * int(row["result_times"]) // int(row["result_over"])

    def _phase_ends(self, phase: Phase, size_bytes: int) -> Ints:
        alone = self._system.model_copy(
            update={
                "chunks": 1,
                "collective_optimization": "baseline",
                "inter_dimension": "ascending",
                **dict.fromkeys(ALGORITHM_KEYS, (algorithm_name(phase.algorithm),)),
            }
        )
        dimension = self._dimensions[phase.dimension]
        return Subsystem((dimension,), alone, self._memory_bytes_per_s).collective_ends(
            phase.kind,
            Placement(extent=(phase.members,), stride=(phase.stride,)),
            size_bytes,
        )
