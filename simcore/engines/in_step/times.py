"""Times of a program on a machine on whose links messages meet, while NPUs stay in step.

In a generated workload all NPUs of a stage run the same program. Where the members of all groups
begin a collective together and end it together, one of them stands for all, and a collective need
be timed once for each kind, size and axis, with all groups on the links at once. What that leaves
out is told: messages of unlike parts of their links, and stages whose messages meet.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar, cast

import numpy as np

from simcore.collectives import SYNTHESISED, DoubleBinaryTree, Synthesised, algorithm_named
from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.engines.in_step.collectives import (
    CollectivesInStep,
    FairCollectives,
    InStepTime,
    QueuedCollectives,
)
from simcore.engines.in_step.loads import Load, LoadedLinks
from simcore.engines.in_step.meeting import Use, keep_apart
from simcore.engines.in_step.messages import FairMessages, MessagesInStep, QueuedMessages, Spans
from simcore.engines.in_step.stage_links import StageLinks
from simcore.engines.stages.times import MessageTimes
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.memo import Memo
from simcore.network import BACKENDS, NetworkDimension
from simcore.network.base import LinkRule
from simcore.network.dimensions import engine_dimensions
from simcore.network.queued import as_stacked
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis, CollectiveOp

V = TypeVar("V")

_OF_MANY = DoubleBinaryTree, Synthesised
"""Algorithms that depend on what was before, or on other groups."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepTimes:
    """Times of a program whose NPUs stay in step.

    Attributes:
        collectives: Of each collective; None where its members are at several stages.
        messages: Between the stages.
        why_not: Why this need not be what every NPU and every message do; "": it is, to the ns.
        stage_links: Links on which stages meet; with their messages followed there, it may be;
            None: not even then.
    """

    collectives: list[CollectiveTime | None]
    messages: MessageTimes
    why_not: str
    stage_links: StageLinks | None = None


class _Known(dict[Hashable, object]):
    """Times of one machine and system layer that were worked out before."""

    size_bytes = 1 << 16


class InStep:
    """Times on one machine on which messages meet by a known rule.

    Args:
        platform: The machine.
        system: Its collectives.
        backend: Network backend, which names a rule.
        memo: What is known from other runs.
        where: (N,) NPU of each rank, on links that are shared out fairly; None: ranks are where
            their numbers say.
        around: Dimensions of a larger machine, whose NPUs *where* names; None: they are all.
    """

    def __init__(
        self,
        platform: Platform,
        system: System,
        backend: str,
        memo: Memo,
        where: Ints | None = None,
        around: tuple[NetworkDimension, ...] | None = None,
    ) -> None:
        self._where, self._around = where, around
        self._platform, self._system, self._backend, self._memo = platform, system, backend, memo
        self._rate = platform.npu.memory_bandwidth_bytes_per_s
        self._fair = BACKENDS[backend].link_rule is LinkRule.FAIR
        self._rule = LinkRule.FAIR if self._fair else LinkRule.QUEUED
        self._known = memo.of(
            "times in step", (platform.dimensions, system, self._rate, backend, self._place), _Known
        )

    @property
    def is_fair(self) -> bool:
        """True if messages have max-min fair parts of their links; else they queue."""
        return self._fair

    def times(
        self,
        operations: Sequence[CollectiveOp],
        plan: ParallelPlan,
        placements: Mapping[Axis, Placement],
        idle: Sequence[CollectiveTime | None],
        messages: MessageTimes,
        size_bytes: Ints,
    ) -> StepTimes:
        """Times of a program.

        Args:
            operations: Its collectives.
            plan: Its plan.
            placements: Where the groups of each axis lie.
            idle: Time of each collective on idle links; None: between stages.
            messages: Times of messages on idle links.
            size_bytes: (2, S) int64, of messages to the next stage and to the one before; 0: none.
        """
        one_by_one = [
            self._collective(op, alone, placements, plan)
            for op, alone in zip(operations, idle, strict=True)
        ]
        why = [reason for alone, (_, reason) in zip(idle, one_by_one, strict=True) if alone]
        untold = [reason for alone, (_, reason) in zip(idle, one_by_one, strict=True) if not alone]
        axes = [op.axis for op, alone in zip(operations, idle, strict=True) if alone is None]
        between = [f"collectives over {axis} are timed on idle links" for axis in axes]
        if self._system.profile.communication_streams > 1 and operations:
            why.append("an NPU has several collectives under way")
        found = [time for time, _ in one_by_one]
        if plan.pp == 1:
            return StepTimes(collectives=found, messages=messages, why_not=_first(why))
        local = [op for op in operations if not is_shared(plan, op.axis)]
        uses = sorted({(op.kind, placements[op.axis]) for op in local}, key=repr)
        meeting = "" if any(why) else self._why_meet(plan, uses, size_bytes)
        followed = self._system.phase_end == "each" and not any([*why, *untold])
        if followed and any([meeting, *between]):
            links = self._stage_links(plan, size_bytes)
            if links is not None:
                loose = _first([meeting, *between])
                return StepTimes(
                    collectives=found, messages=messages, why_not=loose, stage_links=links
                )
        messages, unlike = self._loaded(plan, messages, size_bytes)
        return StepTimes(
            collectives=found,
            messages=messages,
            why_not=_first([*why, unlike, meeting, *between]),
            stage_links=self._stage_links(plan, size_bytes) if followed and unlike else None,
        )

    def _loaded(
        self, plan: ParallelPlan, messages: MessageTimes, size_bytes: Ints
    ) -> tuple[MessageTimes, str]:
        """Times of messages that all NPUs send at once, and why some take less; "": none does."""
        sent = self._messages(plan, size_bytes)
        times = np.array([[last for last, _ in way] for way in sent])
        is_sent = size_bytes > 0
        if plan.pp == 2:  # both ways lead to the other stage, whichever they are counted as
            times = np.where(is_sent, times, times[::-1])
            is_sent = is_sent | is_sent[::-1]
        found = replace(messages, time_ns=np.where(is_sent, times, messages.time_ns))
        if any(last > first for way in sent for last, first in way):
            return found, "messages between stages have unlike parts of their links"
        return found, ""

    def _collective(
        self,
        operation: CollectiveOp,
        alone: CollectiveTime | None,
        placements: Mapping[Axis, Placement],
        plan: ParallelPlan,
    ) -> tuple[CollectiveTime | None, str]:
        """Time of a collective, and why it need not take it; between stages, why none is told."""
        if alone is None:
            return None, self._why_untold(operation.kind, plan)
        if SYNTHESISED in self._algorithms(operation.kind):  # all groups are in its time
            return alone, self._why_loose(operation.kind, plan)
        one = self._time(operation.kind, placements[operation.axis], operation.size_bytes)
        return one.on(alone), one.why_not

    def _stage_links(self, plan: ParallelPlan, size_bytes: Ints) -> StageLinks | None:
        """Links of the stages; None where one message cannot stand for all of its pair."""
        pairs = tuple(
            (stage, (stage + way) % plan.pp)
            for way, sizes in zip((1, -1), size_bytes, strict=True)
            for stage in np.flatnonzero(sizes > 0).tolist()
        )
        found = self._once(
            ("stage links", plan.pp, plan.stage_stride, pairs),
            lambda: StageLinks(self._links, self._patterns, plan, self._rule, pairs),
        )
        return None if found.ways is None else found

    def _algorithms(self, kind: CollectiveKind) -> tuple[str, ...]:
        return tuple(self._system.vector(kind, len(self._platform.dimensions)))

    def _why_untold(self, kind: CollectiveKind, plan: ParallelPlan) -> str:
        """Reason why collectives between stages are not followed by themselves; or none."""
        topologies = [dimension.topology for dimension in self._platform.dimensions]
        names = set(self._system.algorithms(kind, topologies))
        apart = any(isinstance(algorithm_named(name), _OF_MANY) for name in names)
        # a list of all NPUs of a machine is none: it follows the dimensions
        whole = plan.npus_per_stage == 1
        return "collectives between stages are not followed by themselves" if apart or whole else ""

    def _why_loose(self, kind: CollectiveKind, plan: ParallelPlan) -> str:
        """Reason why a collective of a synthesised phase need not take its own time; or none."""
        if plan.pp > 1:
            return "links of a synthesised collective are not compared with those of other stages"
        if len(set(self._algorithms(kind))) > 1:
            return "phases beside a synthesised one are timed on idle links"
        return ""

    @cached_property
    def _links(self) -> LoadedLinks:
        where, seen = self._where, engine_dimensions(self._platform.dimensions)
        if not self._fair:
            seen = tuple(as_stacked(seen))
        return self._memo.of(
            "links",
            (self._platform.dimensions, self._fair, self._place),
            lambda: LoadedLinks(seen, where, self._around),
        )

    @property
    def _place(self) -> Hashable:
        """Placement, and the machine that it is on."""
        return b"" if self._where is None else self._where.tobytes(), self._around

    @cached_property
    def _patterns(self) -> FairCollectives:
        return FairCollectives(self._platform.dimensions, self._system, self._rate, self._links)

    @cached_property
    def _collectives(self) -> CollectivesInStep:
        if self._fair:
            return self._patterns
        machine = self._platform.dimensions, self._system, self._rate
        return QueuedCollectives(*machine, self._backend)

    @cached_property
    def _sent(self) -> MessagesInStep:
        if self._fair:
            return FairMessages(self._links)
        machine = self._platform.dimensions, self._system, self._rate
        return QueuedMessages(*machine, self._backend)

    def _time(self, kind: CollectiveKind, placement: Placement, size_bytes: int) -> InStepTime:
        return self._once(
            (kind, placement, size_bytes),
            lambda: self._collectives.time(kind, placement, size_bytes),
        )

    def _once(self, key: Hashable, make: Callable[[], V]) -> V:
        if key not in self._known:
            self._known[key] = make()
        return cast("V", self._known[key])

    def _messages(self, plan: ParallelPlan, size_bytes: Ints) -> list[Spans]:
        """Times of messages to the next stage, and to the one before, by stage."""
        found = []
        for way, sizes in zip((1, -1), size_bytes, strict=True):
            senders = tuple(np.flatnonzero(sizes > 0).tolist())
            spans = [(0, 0)] * plan.pp
            for size in sorted(set(sizes[sizes > 0].tolist())):
                for stage, span in enumerate(self._sent_at_once(plan, senders, way, size)):
                    if sizes[stage] == size:
                        spans[stage] = span
            found.append(spans)
        return found

    def _sent_at_once(
        self, plan: ParallelPlan, senders: tuple[int, ...], way: int, size_bytes: int
    ) -> Spans:
        def made() -> Spans:
            return self._sent.times_ns(*self._pairs(plan, senders, way), size_bytes)

        return self._once((plan.pp, plan.stage_stride, way, senders, size_bytes), made)

    def _pairs(
        self, plan: ParallelPlan, senders: Sequence[int], way: int
    ) -> tuple[Ints, Ints, Ints]:
        """Senders at some stages, receivers *way* stages further on and around, their stages."""
        npus = np.arange(plan.npus)
        stage = npus // plan.stage_stride % plan.pp
        npus, stage = npus[np.isin(stage, senders)], stage[np.isin(stage, senders)]
        target = npus + ((stage + way) % plan.pp - stage) * plan.stage_stride
        return npus, target, stage

    def _why_meet(
        self,
        plan: ParallelPlan,
        uses: Sequence[tuple[CollectiveKind, Placement]],
        size_bytes: Ints,
    ) -> str:
        sends = tuple(tuple(np.flatnonzero(sizes > 0).tolist()) for sizes in size_bytes)
        key = "meet", plan.pp, plan.stage_stride, tuple(uses), sends
        return self._once(key, lambda: self._meet(plan, uses, sends))

    def _meet(
        self,
        plan: ParallelPlan,
        uses: Sequence[tuple[CollectiveKind, Placement]],
        sends: Sequence[Sequence[int]],
    ) -> str:
        if keep_apart(self._links, self._all_uses(plan, uses, sends), self._rule):
            return ""
        return "stages share links with each other, or their collectives with messages"

    def _all_uses(
        self,
        plan: ParallelPlan,
        uses: Sequence[tuple[CollectiveKind, Placement]],
        sends: Sequence[Sequence[int]],
    ) -> Iterator[Use]:
        """Messages of each stage either way, then collectives of each stage in each dimension."""
        for way, senders in enumerate(sends):
            if not senders:
                continue
            source, target, stage = self._pairs(plan, senders, 1 - 2 * way)
            for number, load in enumerate(self._links.of_messages(source, target, stage)):
                own = stage == number
                if own.any():
                    activity = np.full(int(own.sum()), number + way * plan.pp)
                    yield _use(load, source[own], target[own], activity)
        met = set[Hashable]()
        for kind, placement in uses:
            for phase, rounds in self._patterns.rounds(kind, placement):
                for peers in {one.peers: None for one in rounds.rounds}:
                    key = phase.dimension, phase.members, phase.stride, peers
                    if key not in met:
                        met.add(key)
                        source, target = self._links.pairs_of(phase, peers)
                        stage = source // plan.stage_stride % plan.pp
                        activity = (2 + phase.dimension) * plan.pp + stage
                        if len(source):
                            load = self._links.of_peers(phase, peers)
                            yield _use(load, source, target, activity)


def _first(reasons: Sequence[str]) -> str:
    """The first reason that is one."""
    return next(filter(None, reasons), "")


def _use(load: Load, source: Ints, target: Ints, activity: Ints) -> Use:
    rate = 1.0 / float(load.ns_per_byte.min())
    return Use(source=source, target=target, activity=activity, bytes_per_ns=rate)
