"""Checks of an algorithm, so that the simulator runs exactly what it states."""

from collections.abc import Sequence
from fractions import Fraction

from simcore.collectives.base import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    Span,
    StateMachine,
    Step,
    Switch,
    Table,
)
from simcore.errors import ConfigError
from simcore.terms import CollectiveKind

MOST_STEPS = 100_000
"""Steps of a table that one member may take."""

_MOST_PARTS = 1 << 20
_MEMBERS = (*range(2, 18), 24, 32, 36, 64)


def check_algorithm(algorithm: CollectiveAlgorithm) -> None:
    """Refuse an algorithm whose steps cannot be run, or do not bring the data to every member.

    It is asked for each kind of collective among 2 to 17, 24, 32, 36 and 64 members. What it
    answers is remembered by the algorithm, which must be hashable for that.

    Raises:
        ConfigError: A rule is broken; says by what, and for which kind and count of members.
    """
    name = type(algorithm).__name__
    try:
        hash(algorithm)
    except TypeError as error:
        rule = "must be hashable: of a frozen dataclass, whose fields are too"
        raise ConfigError("", rule, got=f"{name} ({error})") from None
    ran = False
    for kind in CollectiveKind:
        for members in _MEMBERS:
            if not algorithm.runs(kind, members):
                continue
            ran = True
            at = f"{name}, {kind.name.lower()} among {members}"
            steps = tuple(algorithm.steps(kind, members))
            machine = algorithm.machine(kind, members)
            check_steps(steps, members, at, by_table=machine.peers is PeerRule.TABLE)
            _check_volume(algorithm, kind, members, at)
            _check_hearing(kind, steps, members, at)
            _check_machine(machine, steps, members, at)
    if not ran:
        rule = "must run some kind of collective among 2 to 64 members"
        raise ConfigError("algorithm", rule, got=name)


def check_steps(steps: Sequence[Step], members: int, at: str, *, by_table: bool) -> None:
    """Refuse steps that are no steps of *members*.

    Args:
        steps: The steps.
        members: Who take part.
        at: What they belong to.
        by_table: The simulator runs them one by one.

    Raises:
        ConfigError: A rule is broken.
    """
    if not steps or (by_table and sum(step.times for step in steps) > MOST_STEPS):
        raise ConfigError(at, f"must have 1 to {MOST_STEPS:,} steps", got=len(steps))
    for number, step in enumerate(steps):
        place = f"{at}, step {number}"
        if not isinstance(step.size, Fraction):
            rule = "size must be an exact part of the buffer, a fractions.Fraction"
            raise ConfigError(place, rule, got=step.size)
        if step.size <= 0 or max(step.size.as_integer_ratio()) > _MOST_PARTS:
            rule = "size must be above 0, of numbers up to 2^20"
            raise ConfigError(place, rule, got=str(step.size))
        if step.times < 1:
            raise ConfigError(place, "times must be 1 or more", got=step.times)
        _check_peers(step, members, place, by_table=by_table)


def _check_peers(step: Step, members: int, place: str, *, by_table: bool) -> None:
    peer = step.peer
    if not isinstance(peer, (Offset, Exchange, Table, Span, Switch)):
        rule = "peer must be an Offset, Exchange, Table, Span or Switch"
        raise ConfigError(place, rule, got=peer)
    if isinstance(peer, Switch) and by_table:
        raise ConfigError(place, "only in_network has a machine for what switches add up", got=peer)
    if isinstance(peer, Table) and not isinstance(peer.receivers, tuple):
        raise ConfigError(place, "receivers of a Table must be a tuple", got=peer.receivers)
    if isinstance(peer, Table) and len(peer.receivers) != members:
        rule = f"a table must name a receiver, or None, for each of {members} members"
        raise ConfigError(place, rule, got=len(peer.receivers))
    receivers = [peer.receiver(member, members) for member in range(members)]
    named = [receiver for receiver in receivers if receiver is not None]
    if not named or (isinstance(peer, Span) and len(named) != peer.count):
        raise ConfigError(place, "senders must be members, and one at least", got=peer)
    if any(not 0 <= receiver < members for receiver in named):
        rule = f"receivers must be members, 0 to {members - 1}"
        raise ConfigError(place, rule, got=max(named))
    if len(set(named)) != len(named):
        raise ConfigError(place, "no two members may send to the same one", got=named)
    if any(receiver == member for member, receiver in enumerate(receivers)):
        raise ConfigError(place, "no member may send to itself", got=peer)


def _check_hearing(kind: CollectiveKind, steps: Sequence[Step], members: int, at: str) -> None:
    """Check that the data of a collective reaches those who need it."""
    known, everyone = heard(steps, members), (1 << members) - 1
    if kind in (CollectiveKind.BROADCAST, CollectiveKind.SCATTER):
        holds, rule = all(one & 1 for one in known), "every member must hear from the first"
    elif kind.rooted:
        holds, rule = known[0] == everyone, "the first member must hear from every other"
    else:
        holds = all(one == everyone for one in known)
        rule = "every member must hear from every other"
    if not holds:
        raise ConfigError(at, rule, got=len(steps))


def heard(steps: Sequence[Step], members: int) -> list[int]:
    """Members, as bits, whose data reaches each one, where all pass on whatever they have."""
    known = [1 << member for member in range(members)]
    for step in steps:
        for _ in range(min(step.times, members * members)):
            before = list(known)
            if isinstance(step.peer, Switch):
                known = [(1 << members) - 1] * members
                continue
            for member in range(members):
                receiver = step.peer.receiver(member, members)
                if receiver is not None:
                    known[receiver] |= before[member]
    return known


def _check_volume(
    algorithm: CollectiveAlgorithm, kind: CollectiveKind, members: int, at: str
) -> None:
    """Check that a member receives all that it lacks."""
    others = Fraction(members - 1, members)
    least = {
        CollectiveKind.ALL_GATHER: Fraction(members - 1),
        CollectiveKind.ALL_REDUCE: 2 * others,
        CollectiveKind.SCATTER: others / members,
        CollectiveKind.BARRIER: Fraction(0),
    }.get(kind, others)
    adds_up = any(isinstance(step.peer, Switch) for step in algorithm.steps(kind, members))
    if algorithm.sent(kind, members) < (Fraction(1) if adds_up else least):
        rule = f"members must send at least {least} of the buffer"
        raise ConfigError(at, rule, got=str(algorithm.sent(kind, members)))


def _check_machine(machine: StateMachine, steps: Sequence[Step], members: int, at: str) -> None:
    """Check that the machine sends what the steps state."""
    size = 64 * members * members
    stated = sum(int(size * step.size) * step.times * step.senders(members) for step in steps)
    if machine_bytes(machine, members, size) != stated:
        rule = f"its state machine must send the {stated} bytes that its steps state"
        raise ConfigError(at, rule, got=machine_bytes(machine, members, size))


def machine_bytes(machine: StateMachine, members: int, size_bytes: int) -> int:
    """Bytes that all members of a state machine send together."""
    if machine.peers is PeerRule.TREE:
        return 2 * (members - 1) * size_bytes
    if machine.peers is PeerRule.TABLE:
        return sum(
            int(size_bytes * step.size) * step.times * step.senders(members)
            for step in machine.table
        )
    packet, sent, shrinks, distance = (
        size_bytes // machine.divisor, 0, machine.shrinks, machine.distance
    )  # fmt: skip
    for _ in range(machine.steps):
        sent += packet
        if machine.peers is PeerRule.HALVING:
            packet, distance = (
                (packet // 2, distance * 2) if shrinks else (packet * 2, distance // 2)
            )
            if shrinks and distance == members:
                packet, distance, shrinks = packet * 2, distance // 2, False
    return members * sent
