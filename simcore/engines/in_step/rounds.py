"""A phase as rounds: in each of them every member sends its messages at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from simcore.collectives import Exchange, Offset, PeerRule, Table
from simcore.collectives.base import Peer, StateMachine
from simcore.collectives.double_binary_tree import tree_parents
from simcore.engines.collectives.phases import Phase, placed_row
from simcore.kernels.collectives.records import REDUCE_ALWAYS, REDUCE_FIRST_HALF, PhaseRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Messages that are under way at once, and how often one after the other.

    Attributes:
        peers: Receivers of a member's messages.
        size_bytes: Of each message.
        times: How often.
    """

    peers: tuple[Peer, ...]
    size_bytes: int
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """A phase of members that all do the same at the same time.

    Attributes:
        rounds: In order; each begins when all of the one before has arrived and been handled.
        handling_ns: Time of handling messages, over all rounds.
        last_step_ns: How long before the phase's end the event that ends it was scheduled.
        exact: Members whose rounds take equally long everywhere do just this. False: of a tree, of
            which some send while others wait, and of a window of messages it is a model.
    """

    rounds: tuple[Round, ...]
    handling_ns: int
    last_step_ns: int
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Cost of a message at an NPU.

    Attributes:
        delay_ns: Of handling it.
        memory_bytes_per_s: How fast it is reduced; 0: at once.
    """

    delay_ns: int
    memory_bytes_per_s: float

    def reduction_ns(self, size_bytes: int) -> int:
        """Time of adding *size_bytes* to what is there."""
        if self.memory_bytes_per_s <= 0.0:
            return 0
        return 3 * int(size_bytes / self.memory_bytes_per_s * 1e9)  # two reads and a write


def rounds_of(phase: Phase, size_bytes: int, endpoint: Endpoint) -> Rounds:
    """Rounds of *phase* for a chunk of *size_bytes*."""
    machine = phase.algorithm.machine(phase.kind, phase.members)
    if machine.peers is PeerRule.TREE:
        return _tree(phase.members, size_bytes, endpoint)
    if machine.peers is PeerRule.TABLE:
        found = _table(machine, size_bytes, endpoint)
        return replace(found, exact=not phase.kind.rooted)
    row, _ = placed_row(phase)
    if machine.parallel == 1:
        return _chain(row, machine.peers, size_bytes, endpoint)
    return _at_once(row, size_bytes, endpoint)


def _table(machine: StateMachine, size_bytes: int, endpoint: Endpoint) -> Rounds:
    rounds, handling, last = [], endpoint.delay_ns, endpoint.delay_ns
    for step in machine.table:
        packet = size_bytes * step.size.numerator // step.size.denominator
        last = endpoint.reduction_ns(packet) if step.reduces else endpoint.delay_ns
        cost = endpoint.delay_ns + (last if step.reduces else 0)
        handling += step.times * cost
        rounds.append(Round(peers=(step.peer,), size_bytes=packet, times=step.times))
    return Rounds(rounds=tuple(rounds), handling_ns=handling, last_step_ns=last)


def _chain(row: PhaseRow, peers: PeerRule, size_bytes: int, endpoint: Endpoint) -> Rounds:
    """One packet at a time: receive, handle, send on."""
    packet, distance, shrinks = size_bytes // row.divisor, row.distance, bool(row.shrinks)
    rounds, handling, last = list[Round](), endpoint.delay_ns, endpoint.delay_ns
    for step in range(row.steps):
        pairs = peers is PeerRule.HALVING
        peer = Exchange(distance) if pairs else Offset(distance)
        rounds.append(Round(peers=(peer,), size_bytes=packet))
        if pairs:
            packet, distance, shrinks = _next_pair(row, packet, distance, shrinks)
        elif peers is PeerRule.ROTATING:
            distance = distance % (row.members - 1) + 1
        reduced = _is_reduced(row, step + 1)
        last = endpoint.reduction_ns(packet) if reduced else endpoint.delay_ns
        handling += endpoint.delay_ns + (last if reduced else 0)
    return Rounds(rounds=tuple(_joined(rounds)), handling_ns=handling, last_step_ns=last)


def _next_pair(row: PhaseRow, packet: int, distance: int, shrinks: bool) -> tuple[int, int, bool]:
    """Size, distance and direction of the packet after one of halving-doubling."""
    if not shrinks:
        return packet * 2, distance // 2, shrinks
    packet, distance = packet // 2, distance * 2
    if row.reduce_rule == REDUCE_FIRST_HALF and distance == row.members:
        return packet * 2, distance // 2, False
    return packet, distance, shrinks


def _is_reduced(row: PhaseRow, packet: int) -> bool:
    """True if the data of a packet, counted from 0, is reduced before it is sent."""
    period = row.parallel + row.reduced
    if packet % period < row.parallel:
        return False
    if row.reduce_rule == REDUCE_FIRST_HALF:
        return packet // period % 2 == 0
    return row.reduce_rule == REDUCE_ALWAYS


def _joined(rounds: Sequence[Round]) -> Iterator[Round]:
    """Rounds, of which equal ones that follow each other are one."""
    first, times = rounds[0], 0
    for one in rounds:
        if one != first:
            yield Round(peers=first.peers, size_bytes=first.size_bytes, times=times)
            first, times = one, 0
        times += 1
    yield Round(peers=first.peers, size_bytes=first.size_bytes, times=times)


def _at_once(row: PhaseRow, size_bytes: int, endpoint: Endpoint) -> Rounds:
    """Rounds of as many packets as there are other members, or as a window holds."""
    packet, window = size_bytes // row.divisor, row.parallel
    offsets = [1 + step % (row.members - 1) for step in range(row.steps)]
    rounds, handling, last = [], endpoint.delay_ns, endpoint.delay_ns
    for first in range(0, row.steps, window):
        own = offsets[first : first + window]
        rounds.append(Round(peers=tuple(map(Offset, own)), size_bytes=packet))
        reduced = _is_reduced(row, first + window)
        last = endpoint.reduction_ns(packet) if reduced else endpoint.delay_ns
        handling += endpoint.delay_ns + (last if reduced else 0)
    return Rounds(
        rounds=tuple(rounds),
        handling_ns=handling,
        last_step_ns=last,
        exact=window == row.members - 1,
    )


def _tree(members: int, size_bytes: int, endpoint: Endpoint) -> Rounds:
    """Up the minimal tree, level by level, and down again; a parent serves two children at once."""
    levels = dict[int, list[int]]()
    parents = tree_parents(members)
    for place in parents:
        levels.setdefault(place & -place, []).append(place)
    rounds = list[Round]()
    for step in sorted(levels):
        up = [parents[place] if place & -place == step else None for place in range(members)]
        rounds.append(Round(peers=(Table(tuple(up)),), size_bytes=size_bytes))
    for step in sorted(levels, reverse=True):
        down = _children(levels[step], parents, members)
        rounds.append(Round(peers=down, size_bytes=size_bytes))
    both_ns = endpoint.delay_ns + endpoint.reduction_ns(size_bytes)
    handling = endpoint.delay_ns + (len(rounds) - 1) * both_ns + endpoint.delay_ns
    return Rounds(
        rounds=tuple(rounds),
        handling_ns=handling,
        last_step_ns=endpoint.delay_ns,
        exact=False,
    )


def _children(places: Sequence[int], parents: dict[int, int], members: int) -> tuple[Table, ...]:
    """Messages of parents to their children at *places*: to the first ones, then to the second."""
    sends: tuple[dict[int, int], dict[int, int]] = {}, {}
    for place in places:
        sends[parents[place] in sends[0]][parents[place]] = place
    return tuple(Table(tuple(own.get(member) for member in range(members))) for own in sends if own)
