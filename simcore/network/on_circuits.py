"""Messages on links that are up by turns: each waits until the circuits of its way are up."""

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from math import ceil, prod
from typing import NamedTuple

from simcore.errors import ConfigError
from simcore.network.base import (
    Arrival,
    ExternalNetwork,
    LinkRule,
    NetworkAccount,
    NetworkBackend,
    NetworkDimension,
)
from simcore.network.flow import Flow
from simcore.network.queued import Queued


class _Message(NamedTuple):
    """A message that has not begun."""

    sent_ns: int
    message: int
    src: int
    dst: int
    size_bytes: int


class _Way:
    """Ways over the same circuits, and the messages that wait for them."""

    def __init__(self, circuits: tuple[int, ...], groups: tuple[int, ...]) -> None:
        self.circuits, self.groups = circuits, groups
        self.order = -1
        self.waiting: list[_Message] = []


class _Switches:
    """Circuits: which are up, which are in use, and since when they are not.

    Args:
        groups: Of each circuit the groups that it counts in.
        most: Of each group, how many are up at once.
        reconfiguration_ns: Of each group.
    """

    def __init__(
        self,
        groups: Sequence[tuple[int, ...]],
        most: Sequence[int],
        reconfiguration_ns: Sequence[float],
    ) -> None:
        self.groups, self.most = groups, most
        self._takes_ns = reconfiguration_ns
        self._up: list[set[int]] = [set() for _ in most]
        self._unused = list(most)
        self._ready_ns = dict[int, int]()
        self._users = [0] * len(groups)
        self._left_ns = [0] * len(groups)
        self.moved = 0

    def grant(self, way: Sequence[int], now_ns: int) -> int | None:
        """Set up the circuits of a way; when they are up. None: circuits in use are in the way."""
        needed = [one for one in way if one not in self._ready_ns]
        if needed:
            idle = self._idle_in_the_way(way, needed)
            if idle is None:
                return None
            for one in idle:
                self._take_down(one)
            for one in needed:
                self._set_up(one, now_ns)
        return max([now_ns, *(self._ready_ns[one] for one in way)])

    def begin(self, way: Iterable[int], messages: int) -> None:
        """Let so many *messages* use the circuits of a way."""
        for one in way:
            self._users[one] += messages

    def end(self, way: Iterable[int], now_ns: int) -> list[int]:
        """Let a message leave the circuits of its way; those that nothing uses any more."""
        left = list[int]()
        for one in way:
            self._users[one] -= 1
            if not self._users[one]:
                self._left_ns[one] = now_ns
                left.append(one)
        return left

    def _idle_in_the_way(self, way: Sequence[int], needed: Sequence[int]) -> set[int] | None:
        """Circuits to take down, those that were left first; None: not enough are idle."""
        found = set[int]()
        for group in {group for one in needed for group in self.groups[one]}:
            up = self._up[group] - found
            more = sum(group in self.groups[one] for one in needed)
            excess = len(up) + more - self.most[group]
            if excess <= 0:
                continue
            idle = [one for one in up if not self._users[one] and one not in way]
            if len(idle) < excess:
                return None
            found.update(sorted(idle, key=lambda one: (self._left_ns[one], one))[:excess])
        return found

    def _take_down(self, circuit: int) -> None:
        del self._ready_ns[circuit]
        for group in self.groups[circuit]:
            self._up[group].remove(circuit)

    def _set_up(self, circuit: int, now_ns: int) -> None:
        """Set a circuit up; what is set up where nothing was before stood so from the start."""
        used = [group for group in self.groups[circuit] if not self._unused[group]]
        for group in self.groups[circuit]:
            self._up[group].add(circuit)
            self._unused[group] = max(0, self._unused[group] - 1)
        self.moved += bool(used)
        takes_ns = max((self._takes_ns[group] for group in used), default=0.0)
        self._ready_ns[circuit] = now_ns + ceil(takes_ns)


class OnCircuits(ExternalNetwork):
    """Another network, to which each message is handed when the circuits of its way are up.

    A message whose circuits are up goes at once, and has arrived before one of them is taken down.
    Another one waits until each of its circuits has a place: one that is free, or that of a circuit
    which no message uses, the one that was left first. Of those that wait the one that came first
    goes first; those after it that find places do not wait for it. So circuits are held for as long
    as messages want them, and what is chosen between those that wait is a greedy matching. Places
    that were never used stand as the first message wants them.

    Args:
        dimensions: Of the network, innermost first.
        inner: Network of the same dimensions, on links that are all up.

    Raises:
        ConfigError: A network breaks a rule.
    """

    takes_turns = True
    stops_at_arrivals = True

    def __init__(self, dimensions: Sequence[NetworkDimension], inner: ExternalNetwork) -> None:
        # Imported where used: every run reads this package, few need graphs.
        from simcore.graphs.stack import StackedGraph
        from simcore.network.lines import lines_of

        super().__init__(dimensions)
        self._inner, self._npus = inner, prod(one.npus for one in dimensions)
        self._graph = StackedGraph(lines_of(dimensions))
        circuits = self._graph.circuits()
        self._of_link = circuits.of_link
        self._switches = _Switches(circuits.groups, circuits.most, circuits.reconfiguration_ns)
        self._ways: dict[tuple[int, ...], _Way] = {}
        self._of_pair: dict[int, _Way] = {}
        self._wanting: list[dict[_Way, None]] = [{} for _ in circuits.most]
        self._due: list[tuple[int, int, _Message]] = []
        self._way_of: dict[int, _Way] = {}
        self._count, self._waited_ns, self._messages = 0, 0, 0

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        way = self._way(src, dst)
        one = _Message(now_ns, message, src, dst, size_bytes)
        if not way.circuits:
            self._inner.send(now_ns, message, src, dst, size_bytes)
            return
        self._way_of[message] = way
        if way.waiting:
            way.waiting.append(one)
            return
        self._count += 1
        way.order = self._count
        way.waiting.append(one)
        if not self._try(way, now_ns):
            for group in way.groups:
                self._wanting[group][way] = None

    def next_event_ns(self) -> int | None:
        due_ns = self._inner.next_event_ns()
        if self._due and (due_ns is None or self._due[0][0] < due_ns):
            return self._due[0][0]
        return due_ns

    def advance(self, until_ns: int) -> list[Arrival]:
        found = list[Arrival]()
        while (due_ns := self.next_event_ns()) is not None and due_ns <= until_ns:
            arrivals = self._inner.advance(due_ns)
            left = set[int]()
            for arrival in arrivals:
                way = self._way_of.pop(arrival.message, None)
                if way is not None:
                    left.update(self._switches.end(way.circuits, due_ns))
            if left:
                self._hand_on(left, due_ns)
            while self._due and self._due[0][0] <= due_ns:
                _, _, one = heappop(self._due)
                self._inner.send(due_ns, one.message, one.src, one.dst, one.size_bytes)
            if arrivals:
                found += arrivals
                until_ns = due_ns
        return found

    def account(self) -> NetworkAccount:
        inner = self._inner.account()
        waited_s, moved = self._waited_ns * 1e-9, self._switches.moved
        mean_us = self._waited_ns * 1e-3 / max(self._messages, 1)
        note = (
            f"circuits: {moved:,} were set up in the place of others; {self._messages:,} messages "
            f"waited {mean_us:.3g} us for theirs on average"
        )
        figures = {"circuits_moved": float(moved), "waited_for_circuits_s": waited_s}
        return NetworkAccount(figures={**inner.figures, **figures}, notes=(*inner.notes, note))

    def _way(self, src: int, dst: int) -> _Way:
        """The way of a pair."""
        pair = src * self._npus + dst
        if pair not in self._of_pair:
            links, _ = self._graph.way(src, dst)
            named = tuple(sorted(set(self._of_link[links].tolist()) - {-1}))
            if named not in self._ways:
                self._ways[named] = self._new(named, src, dst)
            self._of_pair[pair] = self._ways[named]
        return self._of_pair[pair]

    def _new(self, circuits: tuple[int, ...], src: int, dst: int) -> _Way:
        counted = [group for one in circuits for group in self._switches.groups[one]]
        for group in counted:
            if counted.count(group) > (most := self._switches.most[group]):
                rule = f"must let the whole way of a message be up at once, but {most} of them may"
                at = "platform.network.circuits"
                raise ConfigError(at, rule, got=f"{counted.count(group)} from NPU {src} to {dst}")
        return _Way(circuits, tuple(dict.fromkeys(counted)))

    def _try(self, way: _Way, now_ns: int) -> bool:
        """Let the messages of a way go when its circuits are up, if they can be."""
        ready_ns = self._switches.grant(way.circuits, now_ns)
        if ready_ns is None:
            return False
        self._switches.begin(way.circuits, len(way.waiting))
        for one in way.waiting:
            self._waited_ns += ready_ns - one.sent_ns
            self._messages += 1
            if ready_ns == now_ns:
                self._inner.send(now_ns, *one[1:])
            else:
                heappush(self._due, (ready_ns, self._count, one))
                self._count += 1
        way.waiting = []
        return True

    def _hand_on(self, left: Iterable[int], now_ns: int) -> None:
        """Let ways that wait have the places of circuits that nothing uses any more."""
        groups = {group for one in left for group in self._switches.groups[one]}
        wanting = {way for group in groups for way in self._wanting[group]}
        for way in sorted(wanting, key=lambda one: one.order):
            if self._try(way, now_ns):
                for group in way.groups:
                    del self._wanting[group][way]


def has_circuits(dimensions: Iterable[NetworkDimension]) -> bool:
    """True if links of a network among *dimensions* are up by turns."""
    return any(one.network is not None and one.network.circuits is not None for one in dimensions)


def on_links(
    backend: type[NetworkBackend], dimensions: Sequence[NetworkDimension]
) -> ExternalNetwork | None:
    """A network of *backend* with an event loop of its own; None: it has none.

    Where links are up by turns, messages that queue do so on the links of the network itself.

    Raises:
        ConfigError: A network breaks a rule.
    """
    if has_circuits(dimensions) and backend.link_rule is not None:
        queued = backend.link_rule is LinkRule.QUEUED
        inner = Queued(dimensions, by_levels=False) if queued else Flow(dimensions)
        return OnCircuits(dimensions, inner)
    return backend(dimensions) if issubclass(backend, ExternalNetwork) else None


def check_network(backend: type[NetworkBackend], dimensions: Sequence[NetworkDimension]) -> None:
    """Refuse a network that *backend* cannot represent.

    Raises:
        ConfigError: With the dimension at fault.
    """
    if has_circuits(dimensions) and not backend.takes_turns:
        rule = (
            "must be left out with this backend, which has all links up at once; flow and "
            "congestion_aware_multidim set them up by turns"
        )
        raise ConfigError("network.circuits", rule, got=backend.__name__)
    backend.check(dimensions)
