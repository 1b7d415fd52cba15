"""Choice of an iteration's engine, and reason."""

from dataclasses import dataclass
from enum import StrEnum

from simcore.engines.machine_times import MachineTimes, ProgramTimes
from simcore.errors import ConfigError


class Engine(StrEnum):
    """An executor of iterations; all that can run one agree to the nanosecond.

    Attributes:
        EVENTS: Every NPU and every message; NPUs that are provably alike run as one.
        CLASSES: One NPU of each class of alike ones in a stage.
        STAGES: One NPU per stage, each situation of it worked out once.
        NODES: One NPU per stage, node by node.
        LINKS: The same, with messages between stages followed link by link.
    """

    EVENTS = "events"
    CLASSES = "classes"
    STAGES = "stages"
    NODES = "nodes"
    LINKS = "links"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """An engine and the reason for which it runs."""

    engine: Engine
    reason: str


IN_STEP_ERROR = (
    "on 439 random small designs this gave 0.73 to 1.22 of the time of every message, "
    "1.00 in the median"
)
"""Error of NPUs that are taken to stay in step where messages meet, as ``benchmarks/in_step.py``
measures it."""

IN_STEP = "the NPUs of a stage stay in step, so one stands for all"
EXACT_WHERE_LOOSE = Engine.EVENTS, Engine.LINKS
"""Engines that are exact where NPUs need not stay in step."""

EVERY_NODE = Choice(engine=Engine.NODES, reason=f"{IN_STEP}; every node was asked for")
UNITS_UNLIKE = Choice(
    engine=Engine.NODES, reason=f"{IN_STEP}; units of this schedule cannot be looked up"
)
NO_TIME = Choice(
    engine=Engine.NODES, reason=f"{IN_STEP}; some nodes take no time, which cannot be looked up"
)


def choose(times: ProgramTimes, machine: MachineTimes) -> Choice:
    """The least work that gives the exact answer for a program with *times* on *machine*.

    Where messages meet and NPUs need not stay in step, every NPU is followed, unless
    ``phase_end: together`` holds NPUs in step, or only messages between stages may keep them from
    it, which are then followed.
    """
    if times.taking is not None:
        return _where_computes_lose(times, machine)
    if machine.messages_meet and times.loose is not None:
        return _where_messages_meet(times, machine)
    if follows_all(times, machine):
        if machine.messages_meet:
            reason = f"messages wait for each other on their links ({machine.backend})"
        elif not times.unlike:
            reason = "NPUs are of unlike speed (platform.npu_scale)"
        else:
            reason = f"groups of one axis lie differently on {times.unlike}"
        return Choice(engine=Engine.EVENTS, reason=reason)
    if machine.system.phase_end == "each" and times.ends_differ:
        reason = "members of a collective end one by one, and each goes on at once"
        return Choice(engine=Engine.CLASSES, reason=f"{reason} (phase_end: each)")
    return Choice(engine=Engine.STAGES, reason=IN_STEP)


def _where_computes_lose(times: ProgramTimes, machine: MachineTimes) -> Choice:
    """Engine of programs whose computes last as long as what runs beside them lets them.

    Raises:
        ConfigError: Every NPU would have to be.
    """
    mover = machine.system.mover
    if machine.messages_meet:
        return _where_they_lose_and_messages_meet(times, machine)
    if unlike := follows_all(times, machine):
        rule = f"is not followed on each NPU, as {unlike} needs: leave it out, or choose alike NPUs"
        raise ConfigError("system.mover", rule, got=mover)
    reason = f"computes lose time to communication ({mover})"
    if machine.system.phase_end == "each" and times.ends_differ:
        reason += ", whose members end one by one (phase_end: each)"
        return Choice(engine=Engine.CLASSES, reason=reason)
    return Choice(engine=Engine.NODES, reason=reason)


def _where_they_lose_and_messages_meet(times: ProgramTimes, machine: MachineTimes) -> Choice:
    """Engine of such programs on links that messages share: one NPU per stage, or none.

    Raises:
        ConfigError: Every NPU would have to be followed, or the links are not all that is waited
            for.
    """
    mover, together = machine.system.mover, machine.system.phase_end == "together"
    if not machine.moving.fills_links:
        rule = "must be as fast as links and memory where messages meet: leave it out"
        raise ConfigError("system.mover", rule, got=mover)
    if times.loose is None:
        why = "as NPUs of unlike speed or links that are up by turns need"
        raise ConfigError("system.mover", f"is not followed on each NPU, {why}", got=mover)
    if times.loose and not together:
        rule = f"must be together where a mover is named (system.mover) and {times.loose}"
        raise ConfigError("system.phase_end", rule, got=machine.system.phase_end)
    reason = f"computes lose time to communication ({mover}), all groups load the links at once"
    return Choice(engine=Engine.NODES, reason=f"{reason}; {times.loose}" if times.loose else reason)


def _where_messages_meet(times: ProgramTimes, machine: MachineTimes) -> Choice:
    loose = times.loose
    if not loose:
        return Choice(engine=Engine.STAGES, reason=f"{IN_STEP}; all groups load the links at once")
    if machine.system.phase_end == "together":
        reason = f"NPUs of a stage are held in step, so one stands for all; {loose}"
        return Choice(engine=Engine.STAGES, reason=f"{reason} (phase_end: together)")
    if times.stage_links is not None:
        reason = f"{IN_STEP}; messages between stages are followed link by link"
        return Choice(engine=Engine.LINKS, reason=reason)
    return followed(times, machine)


def followed(times: ProgramTimes, machine: MachineTimes) -> Choice:
    """Every message of NPUs that need not stay in step where messages meet."""
    return Choice(engine=Engine.EVENTS, reason=f"{times.loose} ({machine.backend})")


def follows_all(times: ProgramTimes, machine: MachineTimes) -> str:
    """Backend, topology or speeds that make NPUs of a stage differ: none stands for all."""
    if machine.messages_meet:
        return machine.backend
    return times.unlike or ("npu_scale" if machine.platform.npu_scale else "")
