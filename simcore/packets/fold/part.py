"""Parts of a network: flows that touch something in common, and what they touch."""

from dataclasses import dataclass, field

from simcore.kernels.packets.ways.paths import FIRST_PORT
from simcore.packets.fold.resources import Resources, State
from simcore.packets.fold.ways import Way


@dataclass(slots=True)
class Book:
    """Flows by number, in the order in which they were told.

    Attributes:
        records: Of each the record; a follower's flow has that of the leader's. 0: not started.
        pairs: Of each the record of its hosts.
        sizes: Of each the bytes.
        ports: Of each the source port, which counts the flows of its pair.
    """

    records: list[int] = field(default_factory=list)
    pairs: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    ports: list[int] = field(default_factory=list)
    _of_pair: dict[int, int] = field(default_factory=dict)

    def add(self, pair: int, size_bytes: int) -> int:
        """Take a flow in; its number."""
        earlier = self._of_pair.get(pair, 0)
        self._of_pair[pair] = earlier + 1
        self.records.append(0)
        self.pairs.append(pair)
        self.sizes.append(size_bytes)
        self.ports.append((FIRST_PORT + earlier) & 0xFFFF)
        return len(self.records) - 1


@dataclass(eq=False, slots=True)
class Part:
    """Flows that can meet, and the ports and switches that they touch.

    Attributes:
        owned: Numbers of these ports and switches.
        alike: The class in which it is; None: it was found just now.
        places: All ports and nodes of its ways, in the order in which its flows name them, which
            makes those of alike parts correspond.
        own: Numbers of its flows by those of the leader's; empty in a leader.
        told: Numbers of the flows that were told just now.
        descriptions: What makes each of these alike to a flow of another part.
    """

    owned: list[int] = field(default_factory=list)
    alike: "Class | None" = None
    places: dict[int, int] = field(default_factory=dict)
    own: dict[int, int] = field(default_factory=dict)
    told: list[int] = field(default_factory=list)
    descriptions: list[State] = field(default_factory=list)
    _known: dict[tuple[int, Way], int] = field(default_factory=dict)
    _joined_to: "Part | None" = None

    def found(self) -> "Part":
        """This part, or the one that it has become a part of."""
        part = self
        while part._joined_to is not None:
            part = part._joined_to
        return part

    def join(self, other: "Part") -> None:
        """Take in *other*, which is in no class with others, nor is this one."""
        self.owned += other.owned
        self.told = sorted(self.told + other.told)
        if self.alike is None:
            self.alike = other.alike
        if self.alike is not None:
            self.alike.leader = self
        other._joined_to = self

    def describe(self, pair: int, way: Way, facts: State, resources: Resources) -> None:
        """Describe a flow by the places of its way, those that are new by the state they are in.

        Args:
            pair: Record of its hosts.
            way: Its own.
            facts: What else tells it from others.
            resources: Of the network.
        """
        known = self._known.get((pair, way))
        if known is not None:
            self.descriptions.append((known, *facts))
            return
        self._known[pair, way] = len(self._known)
        told: list[object] = [way.forks, *facts]
        for port in (*way.forth, *way.back):
            for end in (port, port ^ 1):
                if end not in self.places:
                    told.append(self._placed(end, resources))
                    told.append(self._placed(resources.node(end), resources))
        ways = (tuple(self.places[port] for port in ports) for ports in (way.forth, way.back))
        self.descriptions.append((-1, *told, *ways))

    def _placed(self, number: int, resources: Resources) -> object:
        """The place of a port or node known already, or else its state."""
        if number in self.places:
            return self.places[number]
        self.places[number] = len(self.places)
        return resources.state(number)


@dataclass(eq=False, slots=True)
class Class:
    """Alike parts.

    Attributes:
        leader: The one that is simulated.
        followers: Those that take its times.
        agreed: How many of their places, the first ones, correspond: those of flows that started.
    """

    leader: Part
    followers: list[Part] = field(default_factory=list)
    agreed: int = 0
