"""Links of the NPUs of each stage, and whether what uses them kept apart in time."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.placement import Placement
from simcore.engines.events.input import Ints
from simcore.engines.in_step.collectives import FairCollectives
from simcore.engines.in_step.loads import LoadedLinks
from simcore.engines.in_step.ways import Pair, StageWays, stage_ways
from simcore.kernels.classes.apart import two_meet
from simcore.network.base import LinkRule
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Activity:
    """Times at which some links are in use.

    Attributes:
        links: (U,) which, ascending.
        begin_ns: (I,) when each use began.
        end_ns: (I,) when it ended.
        group: Uses of one group have been followed together, so that they may meet; "": alone.
    """

    links: Ints
    begin_ns: Ints
    end_ns: Ints
    group: str = ""


class StageLinks:
    """Links of one machine under one plan.

    Args:
        links: Of the machine.
        patterns: Who sends to whom in collectives.
        plan: Where the stages are.
        rule: How messages share links.
        pairs: Stages between which messages are sent.
    """

    size_bytes = 1 << 20
    """Estimate of what it takes in memory."""

    def __init__(
        self,
        links: LoadedLinks,
        patterns: FairCollectives,
        plan: ParallelPlan,
        rule: LinkRule,
        pairs: Sequence[Pair],
    ) -> None:
        self._links, self._patterns, self._plan, self.rule = links, patterns, plan, rule
        self.ways: StageWays | None = stage_ways(
            links, {pair: self.ends_of(pair) for pair in pairs}, rule
        )
        self._of_pair: dict[Pair, Ints] = {}
        self._of_kind: dict[tuple[CollectiveKind, Placement], list[Ints]] = {}
        self._apart: dict[tuple[Pair, ...], bool] = {}
        self._sharing = _Sharing(len(links.bytes_per_ns))

    def ends_of(self, pair: Pair) -> tuple[Ints, Ints]:
        """Senders and receivers of a pair's messages, member by member."""
        npus = np.arange(self._plan.npus)
        first, second = pair
        stride = self._plan.stage_stride
        own = npus[npus // stride % self._plan.pp == first]
        return own, own + (second - first) * stride

    def of_pair(self, pair: Pair) -> Ints:
        """(U,) links of messages of a pair of stages, ascending."""
        if pair not in self._of_pair:
            self._of_pair[pair] = np.unique(self._links.ways(*self.ends_of(pair)).links)
        return self._of_pair[pair]

    def of_collective(self, kind: CollectiveKind, placement: Placement) -> list[Ints]:
        """By stage, the links of the collectives that its NPUs are in, ascending."""
        key = kind, placement
        if key not in self._of_kind:
            self._of_kind[key] = self._used(kind, placement)
        return self._of_kind[key]

    def _used(self, kind: CollectiveKind, placement: Placement) -> list[Ints]:
        count, stages = len(self._links.bytes_per_ns), self._plan.pp
        keys, met = [np.zeros(0, np.int64)], set[object]()
        for phase, rounds in self._patterns.rounds(kind, placement):
            for peers in {one.peers: None for one in rounds.rounds}:
                line = phase.dimension, phase.members, phase.stride, peers
                if line in met:
                    continue
                met.add(line)
                source, target = self._links.pairs_of(phase, peers)
                if not len(source):
                    continue
                routes = self._links.ways(source, target)
                stage = source // self._plan.stage_stride % stages
                of_link = np.repeat(stage, np.diff(routes.offsets))
                keys.append(np.unique(of_link * count + routes.links))
        found = np.unique(np.concatenate(keys))
        first = np.searchsorted(found, np.arange(stages + 1) * count)
        return [found[first[stage] : first[stage + 1]] - stage * count for stage in range(stages)]

    def members_apart(self, pairs: Sequence[Pair]) -> bool:
        """True if messages of different members never share a link, whatever the pair."""
        known = tuple(pairs)
        if known not in self._apart:
            self._apart[known] = self._are_apart(known)
        return self._apart[known]

    def _are_apart(self, pairs: Sequence[Pair]) -> bool:
        keys = []
        for pair in pairs:
            routes = self._links.ways(*self.ends_of(pair))
            member = np.repeat(np.arange(len(routes)), np.diff(routes.offsets))
            keys.append(routes.links * len(routes) + member)
        if not keys:
            return True
        found = np.unique(np.concatenate(keys)) // self._plan.npus_per_stage
        return bool((np.diff(found) > 0).all())

    def kept_apart(self, activities: Sequence[Activity]) -> bool:
        """True if no two activities ever used one link at once, but for those of one group."""
        if not activities:
            return True
        numbers = np.array([self._sharing.number_of(one.links) for one in activities], np.int64)
        groups = {"": 0}
        group = np.array([groups.setdefault(one.group, len(groups)) for one in activities])
        together = (group[:, None] == group) & (group > 0)
        met = self._sharing.table()[np.ix_(numbers, numbers)] & ~together
        np.fill_diagonal(met, False)
        sizes = [len(one.begin_ns) for one in activities]
        begin = np.concatenate([one.begin_ns for one in activities])
        end = np.concatenate([one.end_ns for one in activities])
        latest = np.full(len(activities), begin.min(initial=0) - 1)
        order = np.argsort(2 * begin + (end > begin), kind="stable")
        return not two_meet(order, begin, end, np.repeat(np.arange(len(sizes)), sizes), met, latest)


class _Sharing:
    """Sets of links, and which of them share some.

    Args:
        links: So many there are.
    """

    def __init__(self, links: int) -> None:
        self._links, self._sets = links, dict[int, Ints]()
        self._numbers, self._table = dict[int, int](), np.zeros((0, 0), np.bool_)

    def number_of(self, links: Ints) -> int:
        """Number of the set that one array holds."""
        self._sets[id(links)] = links  # which stays, so that its id is its own
        return self._numbers.setdefault(id(links), len(self._numbers))

    def table(self) -> NDArray[np.bool_]:
        """(S, S) whether two sets share a link."""
        if len(self._table) < len(self._sets):
            used = np.zeros((len(self._sets), self._links), np.float32)
            for row, links in zip(used, self._sets.values(), strict=True):
                row[links] = 1.0
            self._table = used @ used.T > 0.0
        return self._table
