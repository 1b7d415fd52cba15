"""Collectives of all groups of an axis at once, on the links of the machine."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.phases import Phase, cut, phases_of_chunk, placed_row
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.rows import row_arrays
from simcore.engines.collectives.switched import switches_wait_ns
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.engines.in_step.loads import LoadedLinks
from simcore.engines.in_step.rounds import Endpoint, Rounds, rounds_of
from simcore.engines.limits.counted_time import MAX_NS, dimension_fields, too_long
from simcore.kernels.collectives.records import TIME
from simcore.kernels.collectives.time import through_phases
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True, kw_only=True)
class InStepTime:
    """Time of a collective that all groups of an axis run at once.

    Attributes:
        duration_ns: Until the last member is done.
        held_ns: By how much it would be shorter if every phase ended with its first member.
        last_step_ns: How long before the end the event that ends it was scheduled.
        why_not: Why this need not be what messages that are followed one by one do; "": it is.
    """

    duration_ns: int
    held_ns: int
    last_step_ns: int
    why_not: str = ""

    def on(self, idle: CollectiveTime) -> CollectiveTime:
        """With the bytes of *idle*, the same collective on idle links."""
        return replace(
            idle,
            duration_ns=self.duration_ns,
            held_ns=self.held_ns,
            last_step_ns=self.last_step_ns,
        )


class CollectivesInStep(ABC):
    """Times of collectives whose members all begin at once, in all groups of an axis."""

    @abstractmethod
    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> InStepTime:
        """Time of one; *size_bytes* is the full buffer, of an all-gather the shard.

        Raises:
            InfeasibleError: It is beyond what is counted.
        """


class QueuedCollectives(CollectivesInStep):
    """Collectives of messages that queue for links, on the event engine; alike NPUs once.

    Args:
        dimensions: Of the machine.
        system: The system layer.
        memory_bytes_per_s: Bandwidth at which received data is reduced.
        backend: Network backend.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        backend: str,
    ) -> None:
        self._subsystem = Subsystem(dimensions, system, memory_bytes_per_s)
        self._delay_ns, self._backend = system.endpoint_delay_ns, backend

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> InStepTime:
        ends = self._subsystem.all_ends(kind, placement, size_bytes, self._backend)
        last, first = int(ends.max()), int(ends.min())
        return InStepTime(
            duration_ns=last,
            held_ns=last - first,
            last_step_ns=self._delay_ns,
            why_not="members of a collective end one by one" if first < last else "",
        )


class FairCollectives(CollectivesInStep):
    """Collectives of messages that have max-min fair parts of their links, round by round.

    Phases of a chunk whose dimensions share links take turns with those of other chunks.

    Args:
        dimensions: Of the machine.
        system: The system layer.
        memory_bytes_per_s: Bandwidth at which received data is reduced.
        links: Of the machine.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        memory_bytes_per_s: float,
        links: LoadedLinks,
    ) -> None:
        self._system, self._links, self._dimensions = system, links, tuple(dimensions)
        self._topologies = [dimension.topology for dimension in dimensions]
        # rounded as the event engine's, which is given it in B/ns
        rate = memory_bytes_per_s / 1e9 * 1e9
        self._endpoint = Endpoint(delay_ns=system.endpoint_delay_ns, memory_bytes_per_s=rate)

    def time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> InStepTime:
        chunks, chunk_bytes = cut(kind, size_bytes, self._system.chunks, placement.members)
        phases = self._phases(kind, placement)
        times = np.empty(len(phases), TIME)
        used, why_not, size, spent_ns = list[Ints](), list[str](), chunk_bytes, 0
        for number, phase in enumerate(phases):
            rounds = rounds_of(phase, size, self._endpoint)
            slowest, fastest, links, why = self._phase_ns(phase, rounds)
            wait_ns = switches_wait_ns(phase, self._dimensions, size)
            slowest, fastest = slowest + wait_ns, fastest + wait_ns
            spent_ns += chunks * slowest
            if spent_ns >= MAX_NS:  # as plain numbers, which do not wrap
                _, rate = dimension_fields(
                    self._dimensions[phase.dimension], f"platform.dimensions[{phase.dimension}]"
                )
                raise too_long(rate, "one collective could take", spent_ns * 1e-9)
            times[number] = slowest, fastest, rounds.last_step_ns + wait_ns
            used.append(links)
            why_not.append(why)
            row, _ = placed_row(phase)
            size = size * row.result_times // row.result_over
        queues = _queues(phases, used)
        rows, _ = row_arrays(
            (row._replace(dimension=queue), table)
            for (row, table), queue in zip(map(placed_row, phases), queues, strict=True)
        )
        found = through_phases(rows, chunks, 1, len(self._topologies), times)
        duration, held, last, tied = found
        if chunks > 1:
            why_not += self._why_not_chunks(phases, queues, tied=bool(tied))
        return InStepTime(
            duration_ns=int(duration),
            held_ns=int(held),
            last_step_ns=int(last),
            why_not=next(filter(None, why_not), ""),
        )

    def rounds(self, kind: CollectiveKind, placement: Placement) -> Iterator[tuple[Phase, Rounds]]:
        """Phases with their rounds, of any size."""
        for phase in self._phases(kind, placement):
            yield phase, rounds_of(phase, 1 << 20, self._endpoint)

    def _phases(self, kind: CollectiveKind, placement: Placement) -> tuple[Phase, ...]:
        names = self._system.algorithms(kind, self._topologies)
        aware = self._system.collective_optimization == "local_bw_aware"
        return phases_of_chunk(kind, placement, names, aware)

    def _phase_ns(self, phase: Phase, rounds: Rounds) -> tuple[int, int, Ints, str]:
        """Times of a phase if all its rounds wait for the last message, or for the first; links."""
        slowest = fastest = rounds.handling_ns
        even, used = True, list[Ints]()
        for one in rounds.rounds:
            load = self._links.of_peers(phase, one.peers)
            last, first = load.times_ns(one.size_bytes)
            slowest, fastest = slowest + one.times * last, fastest + one.times * first
            even &= load.even
            used.append(load.links)
        why = "" if even else "messages of a collective have unlike parts of their links"
        if not rounds.exact:
            why = "members of a collective do not all send at once"
        return slowest, fastest, reduce(np.union1d, used, np.zeros(0, np.int64)), why

    def _why_not_chunks(
        self, phases: Sequence[Phase], queues: Sequence[int], *, tied: bool
    ) -> Iterator[str]:
        if self._system.inter_dimension != "ascending" and len(phases) > 1:
            yield "chunks pass the dimensions in unlike orders"
        if self._system.active_chunks_per_dimension > 1:
            yield "several chunks of a collective share links"
        if tied or any(
            phase.dimension != queue for phase, queue in zip(phases, queues, strict=True)
        ):
            yield "chunks in several dimensions share links"


def _queues(phases: Sequence[Phase], used: Sequence[Ints]) -> list[int]:
    """For each phase the lowest dimension of those that share links, one with the next."""
    of_dimension = dict[int, Ints]()
    for phase, links in zip(phases, used, strict=True):
        before = of_dimension.get(phase.dimension, links)
        of_dimension[phase.dimension] = np.union1d(before, links)
    queue: dict[int, int] = {}
    for dimension in sorted(of_dimension):
        own = of_dimension[dimension]
        shared = [
            other
            for other in queue
            if np.intersect1d(own, of_dimension[other], assume_unique=True).size
        ]
        lowest = min([dimension, *(queue[other] for other in shared)])
        joined = {queue[other] for other in shared}
        queue = {other: lowest if at in joined else at for other, at in queue.items()}
        queue[dimension] = lowest
    return [queue[phase.dimension] for phase in phases]
