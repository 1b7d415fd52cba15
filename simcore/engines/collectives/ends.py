"""Ends of the members of one collective that begin at different times, each worked out once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.collectives.members import Subsystem
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.input import Ints
from simcore.errors import InfeasibleError, SimulationError
from simcore.machine import Dimension, Platform
from simcore.machine.system import ALGORITHM_KEYS, System
from simcore.memo import SMALL_BYTES, Key, Memo
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis, CollectiveOp


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Ends:
    """Ends of the members, (G,), after the first one has begun.

    Attributes:
        ends_ns: The times.
        size_bytes: Memory that these and their key take.
    """

    ends_ns: Ints
    size_bytes: int


class MemberEnds:
    """Runs collectives of a machine on the event engine, message by message, alike members once.

    No message slows down another, and an NPU begins a collective when the one before it on the same
    stream has ended; so a collective depends on nothing but when its members begin.

    Args:
        platform_of: The machine as collectives of a kind find it.
        system: Its collectives.
        memo: What is known from other runs: designs that are judged again are mostly neighbours.
    """

    def __init__(
        self, platform_of: Callable[[CollectiveKind], Platform], system: System, memo: Memo
    ) -> None:
        self._platform_of, self._system, self._memo = platform_of, system, memo
        self._subsystems: dict[tuple[tuple[int, ...], int], tuple[Subsystem, Key]] = {}

    def ends(
        self,
        operation: CollectiveOp,
        placement: Placement,
        start_ns: Ints,
        chunks_before: int = 0,
    ) -> Ints:
        """Ends of the members.

        Args:
            operation: The collective.
            placement: Where its groups lie.
            start_ns: (G,) int64, when each of them begins, in the order of their NPU ids.
            chunks_before: Chunks of the same kind and axis so far, for trees take turns; 0 or 1.

        Returns:
            (G,) int64 absolute times.

        Raises:
            InfeasibleError: Members take their chunks in different orders, so that they wait for
                each other for ever.
        """
        first = int(start_ns.min())
        starts = start_ns - first
        kind, size = operation.kind, operation.size_bytes
        (subsystem, machine), inner = self._subsystem(kind, placement)
        start_bytes = starts.tobytes()

        def run() -> _Ends:
            try:
                ends = subsystem.collective_ends(kind, inner, size, starts, chunks_before)
            except SimulationError as error:
                raise InfeasibleError("collectives_end", str(error)) from None
            return _Ends(ends_ns=ends, size_bytes=SMALL_BYTES + 2 * len(start_bytes))

        key = Key(machine, kind, inner, size, start_bytes, chunks_before)
        return self._memo.of("ends of members", key, run).ends_ns + first

    def _subsystem(
        self, kind: CollectiveKind, placement: Placement
    ) -> tuple[tuple[Subsystem, Key], Placement]:
        """The dimensions that a group uses as a machine of their own, its key, and the group on it.

        The key is of all that its times follow from.
        """
        used = placement.involved
        inner = Placement(
            extent=tuple(placement.extent[d] for d in used),
            stride=tuple(placement.stride[d] for d in used),
        )
        platform = self._platform_of(kind)
        key = tuple(used), id(platform)
        if key not in self._subsystems:
            rate = platform.npu.memory_bandwidth_bytes_per_s
            dimensions = tuple([platform.dimensions[d] for d in used])
            system = _restricted(self._system, platform.dimensions, used)
            machine = Key(dimensions, system, rate)
            self._subsystems[key] = Subsystem(dimensions, system, rate), machine
        return self._subsystems[key], inner


def _restricted(system: System, dimensions: Sequence[Dimension], used: Sequence[int]) -> System:
    """*system* with the algorithms of some dimensions alone."""
    vectors = {name: getattr(system, name) for name in ALGORITHM_KEYS}
    return system.model_copy(
        update={
            name: tuple(vector[d] for d in used)
            for name, vector in vectors.items()
            if vector is not None and len(vector) == len(dimensions)
        }
    )


class SharedEnds:
    """Asks the event engine when each stage's member of a collective is done."""

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


def is_shared(plan: ParallelPlan, axis: Axis) -> bool:
    """True if the groups of *axis* have members at several stages."""
    return plan.pp > 1 and axis in (Axis.PP, Axis.EMBEDDING)
