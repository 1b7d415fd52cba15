"""Collectives between stages on links that other messages use, too."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.collectives.ends import SharedEnds
from simcore.engines.events.input import Ints
from simcore.engines.in_step.stage_links import Activity, StageLinks
from simcore.engines.in_step.ways import Pair
from simcore.engines.machine_times import MachineTimes
from simcore.network import Arrival, ExternalNetwork, Flow
from simcore.network.base import LinkRule
from simcore.network.dimensions import engine_dimensions
from simcore.network.queued import Queued
from simcore.workload.graph import CollectiveOp


@dataclass(frozen=True, slots=True)
class _Told:
    """A message between members: stages, when it began and ended, and its collective."""

    source: int
    target: int
    begin_ns: int
    end_ns: int
    group: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Followed:
    """A collective whose first member begins at 0: ends, and stages and times of its messages."""

    ends_ns: Ints
    told: list[tuple[int, int, int, int]]


class _Telling(ExternalNetwork):
    """A network that writes down when messages were under way.

    Args:
        network: What carries them.
    """

    def __init__(self, network: ExternalNetwork) -> None:
        super().__init__(network.dimensions)
        self._network = network
        self._begun: dict[int, tuple[int, int, int]] = {}
        self.told = list[tuple[int, int, int, int]]()

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        self._begun[message] = src, dst, now_ns
        self._network.send(now_ns, message, src, dst, size_bytes)

    def next_event_ns(self) -> int | None:
        return self._network.next_event_ns()

    def advance(self, until_ns: int) -> Sequence[Arrival]:
        arrivals = self._network.advance(until_ns)
        for one in arrivals:
            self.told.append((*self._begun.pop(one.message), one.time_ns))
        return arrivals


class SharedOnLinks(SharedEnds):
    """Ends of collectives between stages, message by message, in one group of all that are alike.

    Args:
        machine: The machine.
        rule: How messages share links.
        collectives: Of the iteration.
        stage_stride: Difference of the NPU ids of stages that follow each other.
    """

    def __init__(
        self,
        machine: MachineTimes,
        rule: LinkRule,
        collectives: Sequence[CollectiveOp],
        stage_stride: int,
    ) -> None:
        super().__init__(machine.platform, machine.system, collectives, stage_stride)
        self._network = Queued if rule is LinkRule.QUEUED else Flow
        self._dimensions = machine.around or engine_dimensions(machine.platform.dimensions)
        self._where, self._memo = machine.where, machine.memo
        where = b"" if machine.where is None else machine.where.tobytes()
        rate = machine.platform.npu.memory_bandwidth_bytes_per_s
        own = machine.platform.dimensions, machine.system, rate, rule, where, machine.around
        self._machine_key = own, stage_stride
        self._told = list[_Told]()

    def ends(self, item: int, stages: Sequence[int], start_ns: Ints) -> Ints:
        first = int(start_ns.min())
        starts, operation = start_ns - first, self._collectives[item]
        key = self._machine_key, operation.kind, operation.size_bytes, tuple(stages), *starts
        known = self._memo.of(
            "shared on links", key, lambda: self._followed(operation, stages, starts)
        )
        group = f"{item} at {first}"
        self._told += [
            _Told(source, target, first + begin, first + end, group)
            for source, target, begin, end in known.told
        ]
        return first + known.ends_ns

    def _followed(self, operation: CollectiveOp, stages: Sequence[int], starts: Ints) -> _Followed:
        members, size_bytes = np.array(stages, np.int64) * self._stride, operation.size_bytes
        network = _Telling(self._network(self._dimensions))
        ends = self._subsystem.shared_ends_on(
            network, operation.kind, members, size_bytes, starts, self._where
        )
        place = members if self._where is None else self._where[members]
        stage_of = dict(zip(place.tolist(), stages, strict=True))
        told = [(stage_of[src], stage_of[dst], begin, end) for src, dst, begin, end in network.told]
        return _Followed(ends_ns=ends, told=told)

    def activities(self, links: StageLinks) -> list[Activity] | None:
        """Activities of messages between members; None: other groups were in their way."""
        pairs = dict.fromkeys((one.source, one.target) for one in self._told)
        if not links.members_apart(list(pairs)):
            return None
        found = dict[tuple[Pair, str], list[_Told]]()
        for one in self._told:
            found.setdefault(((one.source, one.target), one.group), []).append(one)
        return [
            Activity(
                links=links.of_pair(pair),
                begin_ns=np.array([one.begin_ns for one in told]),
                end_ns=np.array([one.end_ns for one in told]),
                group=group,
            )
            for (pair, group), told in found.items()
        ]
