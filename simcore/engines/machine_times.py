"""Times that one machine gives to the operators, collectives and messages of a program."""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace

import numpy as np

from simcore.compute import ComputeModel
from simcore.engines.collectives.alike import unlike_groups
from simcore.engines.collectives.ends import MemberEnds, SharedEnds, is_shared
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.scheduled import Located, located, one_network
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.engines.events.input import Ints
from simcore.engines.in_step.stage_links import StageLinks
from simcore.engines.in_step.times import InStep
from simcore.engines.moving import Moving, Taking
from simcore.engines.stages.counts import NodeCounts
from simcore.engines.stages.time_limit import TimeLimit
from simcore.engines.stages.times import (
    MessageTimes,
    OperatorTimes,
    collective_times,
    place_groups,
)
from simcore.engines.stages.transfers import check_transfers, transfer_times_ns
from simcore.errors import ConfigError
from simcore.machine import Platform
from simcore.machine.system import System
from simcore.memo import Memo
from simcore.network import (
    BACKENDS,
    ExternalNetwork,
    Flit,
    NetworkDimension,
    Packet,
    has_circuits,
    on_links,
)
from simcore.network.base import LinkRule
from simcore.network.dimensions import engine_dimensions
from simcore.network.queued import Queued
from simcore.network.settings import NetworkSettings
from simcore.terms import CollectiveKind
from simcore.workload.graph import Axis, CollectiveOp, TrainingGraph
from simcore.workload.program.write import TrainingProgram

Program = TrainingProgram | TrainingGraph

_MOST_TOLD = 8
"""Synthesised phases of which a result tells."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ProgramTimes:
    """Times of a program's O operators, C collectives and of its messages.

    Attributes:
        placements: Where the groups of each axis lie.
        operator_ns: (O,) int64.
        collectives: Of each; None where its members are at several stages.
        transfer_ns: (T,) int64, of each transfer into or out of a tier of memory.
        messages: Between the stages.
        unlike: The topology on which groups of one axis lie differently; "": there is none.
        loose: Why NPUs that are taken to stay in step need not, where messages meet; "": they do.
            None: nothing is known of NPUs in step.
        stage_links: Links on which stages meet; with their messages followed there, NPUs may stay
            in step. None: not even then.
        taking: What communication takes from computes; None: nothing.
    """

    placements: dict[Axis, Placement]
    operator_ns: Ints
    collectives: list[CollectiveTime | None]
    transfer_ns: Ints
    messages: MessageTimes
    unlike: str
    loose: str | None = None
    stage_links: StageLinks | None = None
    taking: Taking | None = None

    @property
    def ends_differ(self) -> bool:
        """True if members of a collective that start together end one by one."""
        return any(time and time.held_ns for time in self.collectives)


class MachineTimes:
    """Times on one machine.

    Args:
        platform: The machine.
        system: Its collectives.
        compute: Gives the times of kernels.
        backend: Network backend.
        memo: What is known from other runs.
        network: Settings of networks of packets and of flits.

    Attributes:
        where: (N,) NPU of each rank; None: ranks are where their numbers say.
        around: Dimensions of a larger machine, whose NPUs ``where`` names; None: they are all.
        on: The same with their network, for collectives that are synthesised; None: likewise.
        messages_meet: Messages wait for each other on their links.
        moving: Engines that carry out communication.
        member_ends: Ends of collectives whose members begin at different times.
    """

    def __init__(
        self,
        platform: Platform,
        system: System,
        compute: ComputeModel,
        backend: str,
        memo: Memo,
        network: NetworkSettings | None = None,
    ) -> None:
        self.platform, self.system, self.compute = platform, system, compute
        self.backend, self.memo, self._network = backend, memo, network
        self.where: Ints | None = None
        self.around: tuple[NetworkDimension, ...] | None = None
        self.on: Located | None = None
        self.messages_meet = BACKENDS[backend].messages_meet
        self.moving = Moving.of(platform, system)
        self.member_ends = MemberEnds(self.moving.on, system, memo)
        self._timers = self._timers_of_kinds()
        self._in_step = self._times_in_step()
        self._limit = TimeLimit(
            platform=self.moving.slowest,
            system=system,
            compute=compute,
            messages_meet=self.messages_meet,
        )

    def _timers_of_kinds(self) -> tuple[CollectiveTimer, CollectiveTimer]:
        """Timers of collectives that only move, and of those that add up."""
        moves = self._timer(self.moving.moving)
        alike = self.moving.reducing is self.moving.moving
        return moves, moves if alike else self._timer(self.moving.reducing)

    def _timer(self, platform: Platform) -> CollectiveTimer:
        rate = platform.npu.memory_bandwidth_bytes_per_s
        return CollectiveTimer(platform.dimensions, self.system, rate, self.memo, self.on)

    def _timer_of(self, kind: CollectiveKind) -> CollectiveTimer:
        return self._timers[self.moving.adds_up(kind)]

    def _times_in_step(self) -> InStep | None:
        """Times of NPUs in step, all of one speed, on links that are all up.

        Placed ranks are in it only where links are shared out.
        """
        rule = BACKENDS[self.backend].link_rule
        if (
            rule is None
            or self.platform.npu_scale
            or has_circuits(engine_dimensions(self.platform.dimensions))
            or (self.where is not None and rule is not LinkRule.FAIR)
        ):
            return None
        where, around = self.where, self.around
        return InStep(self.platform, self.system, self.backend, self.memo, where, around)

    def outside(self) -> ExternalNetwork | None:
        """The network of one run, where it is made with settings, ranks are placed or links turn.

        Raises:
            ConfigError: It cannot be made with them.
        """
        dimensions = engine_dimensions(self.platform.dimensions)
        is_made = self.where is not None or has_circuits(dimensions)
        settings = self._network or (NetworkSettings() if is_made else None)
        if settings is None:
            return None
        return outside_of(self.backend, dimensions, settings, apart=self.where is not None)

    def placed(self, where: Ints) -> "MachineTimes":
        """Times on the same machine with rank i on NPU ``where[i]``."""
        found = copy(self)
        found.where = where
        dimensions = self.platform.dimensions
        if one_network(dimensions) is not None:
            found = found.located(located(dimensions, where.tolist()))
        scale = self.platform.scale_of(where.tolist())
        found.platform = self.platform.model_copy(update={"npu_scale": scale})
        found._in_step = found._times_in_step()
        return found

    def among(self, where: Ints, around: tuple[NetworkDimension, ...]) -> "MachineTimes":
        """Times of ranks on NPUs *where* of a larger machine with dimensions *around*."""
        found = copy(self)
        found.where, found.around = where, around
        found._in_step = found._times_in_step()
        return found

    def located(self, on: Located) -> "MachineTimes":
        """These times with synthesised collectives of ranks that are *on* a network."""
        found = copy(self)
        found.on = on
        found._timers = found._timers_of_kinds()
        return found

    def of(self, program: Program, counts: NodeCounts, operator_ns: Ints) -> ProgramTimes:
        """Times of *program*, with *counts* of all its nodes.

        Raises:
            InfeasibleError: Times or sizes are beyond what is counted, or a parallel group does
                not tile the network's dimensions.
        """
        if self._in_step is None:
            self._limit.check(program, counts, operator_ns)
        else:
            # shared out fairly, each is timed in floating point, and looked at there
            self._limit.check_each(program, counts, alone=self._in_step.is_fair)
        self.moving.check(program.collectives)
        dimensions = self.moving.moving.dimensions
        transfer_ns = transfer_times_ns(program.transfers, program.groups, self.platform)
        check_transfers(program.transfers, counts.transfers, transfer_ns)
        placed = place_groups(program.groups, dimensions)
        collectives = collective_times(program.collectives, program.plan, placed, self._timer_of)
        idle = ProgramTimes(
            placements=placed,
            operator_ns=operator_ns,
            collectives=collectives,
            taking=self._taking(program, collectives),
            transfer_ns=transfer_ns,
            messages=MessageTimes.of(program.plan, dimensions, counts.message_bytes),
            unlike=unlike_groups(dimensions, placed.values()),
        )
        if self._in_step is None:
            return idle
        found = self._loaded(self._in_step, program, counts, idle)
        timed = operator_ns, found.collectives, found.messages
        self._limit.check_timed(program, counts, *timed)
        return found

    def check_followed(self, program: Program, counts: NodeCounts, operator_ns: Ints) -> None:
        """Check that *program* cannot take longer than is counted if messages are followed.

        Raises:
            InfeasibleError: It could.
        """
        self._limit.check(program, counts, operator_ns)

    def _taking(self, program: Program, times: Sequence[CollectiveTime | None]) -> Taking | None:
        every = self.memo.of("operator times", None, OperatorTimes)
        operators, precision = program.operators, program.workload.precision
        return self.moving.taking(
            lambda npu: every.of(operators, npu, precision, self.compute),
            program.collectives,
            times,
        )

    def _loaded(
        self, in_step: InStep, program: Program, counts: NodeCounts, idle: ProgramTimes
    ) -> ProgramTimes:
        """Times on links that all NPUs load at once, in the place of those on idle links."""
        found = in_step.times(
            program.collectives,
            program.plan,
            idle.placements,
            idle.collectives,
            idle.messages,
            np.where(counts.messages > 0, counts.message_bytes, 0),
        )
        return replace(
            idle,
            collectives=found.collectives,
            messages=found.messages,
            loose=found.why_not,
            stage_links=found.stage_links,
            taking=self._taking(program, found.collectives),
        )

    def shared_ends(self, program: Program) -> SharedEnds:
        """Ends of the program's collectives between stages."""
        stride = program.plan.stage_stride
        return SharedEnds(self.moving.reducing, self.system, program.collectives, stride)

    def uneven(
        self, collectives: Sequence[CollectiveOp], times: ProgramTimes
    ) -> dict[Axis, set[int]]:
        """By axis, the dimensions along which members of its *collectives* behave differently."""
        found: dict[Axis, set[int]] = {}
        for operation, time in zip(collectives, times.collectives, strict=True):
            if time is not None:
                held, place = time.held_ns > 0, times.placements[operation.axis]
                uneven = self._timer_of(operation.kind).uneven(operation.kind, place, held=held)
                found.setdefault(operation.axis, set()).update(uneven)
        return found

    def stand_ins(self, program: Program, times: ProgramTimes) -> list[str]:
        """Algorithms that stand in for chosen ones that cannot run, as sentences."""
        return stand_ins_of(program, times.placements, self._timers[0].stand_ins)

    def schedules(self, program: Program, times: ProgramTimes) -> list[str]:
        """Sentences on collectives that are synthesised, each phase once, the longest first."""
        used = [
            (op.kind, times.placements[op.axis], op.size_bytes)
            for op in program.collectives
            if op.axis in times.placements and not is_shared(program.plan, op.axis)
        ]
        told = [self._timers[0].schedules(*one) for one in sorted(used, key=lambda one: -one[2])]
        return list(dict.fromkeys([one for phases in told for one in phases]))[:_MOST_TOLD]


def outside_of(
    backend: str,
    dimensions: Sequence[NetworkDimension],
    settings: NetworkSettings,
    *,
    apart: bool,
) -> ExternalNetwork | None:
    """The network of one run; None: the backend makes it by itself.

    Args:
        backend: Its name.
        dimensions: Of the machine.
        settings: Of networks that have any.
        apart: Whether ranks are not where their numbers say, which the kernel's networks need.

    Raises:
        ConfigError: It cannot be made with these settings.
    """
    kind = BACKENDS[backend]
    if has_circuits(dimensions):
        return on_links(kind, dimensions)
    if apart and settings.packets.from_dimension and issubclass(kind, (Packet, Flit)):
        rule = "must be 0 where ranks are placed, or jobs share a machine"
        raise ConfigError("network.from_dimension", rule, got=settings.packets.from_dimension)
    if issubclass(kind, Flit):
        return kind(dimensions, settings.routers, settings.packets)
    if issubclass(kind, Packet):
        return kind(dimensions, settings.packets)
    return Queued(dimensions) if apart and kind.link_rule is LinkRule.QUEUED else None


def stand_ins_of(
    program: Program,
    placed: Mapping[Axis, Placement],
    stand_ins: Callable[[CollectiveKind, Placement], Sequence[str]],
) -> list[str]:
    """Algorithms that stand in for others in the collectives of *program*, each once.

    Args:
        program: What stages do.
        placed: Where the groups of each axis lie.
        stand_ins: Tells them of one kind of collectives in groups at one place.
    """
    all_used = [(op.kind, op.axis) for op in program.collectives if op.axis in placed]
    found = [
        stand_ins(kind, placed[axis])
        for kind, axis in dict.fromkeys(all_used)
        if not is_shared(program.plan, axis)
    ]
    return list(dict.fromkeys([note for notes in found for note in notes]))
