"""Base of collective algorithms: steps as data, and how the simulator carries them out."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction

from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Offset:
    """Every member sends to the one that lies *ahead* members further on, and around."""

    ahead: int

    def receiver(self, member: int, members: int) -> int | None:
        """Receiver for *member* of *members*."""
        return (member + self.ahead) % members


@dataclass(frozen=True, slots=True)
class Exchange:
    """Members change packets in pairs: with the one whose number differs in the bits of *mask*."""

    mask: int

    def receiver(self, member: int, members: int) -> int | None:
        """Receiver for *member*; a number that is none of *members* where there is no such."""
        return member ^ self.mask


@dataclass(frozen=True, slots=True)
class Table:
    """Each member sends to another one, *receivers* in order; None: it sends nothing."""

    receivers: tuple[int | None, ...]

    def receiver(self, member: int, members: int) -> int | None:
        """Receiver for *member*."""
        return self.receivers[member]


@dataclass(frozen=True, slots=True)
class Span:
    """The members *first* to *first* + *count* - 1 send to the ones *ahead* members further on.

    The others send nothing. *ahead* may be below 0; receivers are members, none twice.
    """

    ahead: int
    first: int
    count: int

    def receiver(self, member: int, members: int) -> int | None:
        """Receiver for *member*; None: it sends nothing."""
        return member + self.ahead if 0 <= member - self.first < self.count else None


@dataclass(frozen=True, slots=True)
class Switch:
    """The network adds up what all members send it, and gives each of them the sum."""

    def receiver(self, member: int, members: int) -> int | None:
        """For its time, a message to the next member: up to the switch and down again."""
        return (member + 1) % members


Peer = Offset | Exchange | Table | Span | Switch


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One packet of every member.

    Attributes:
        size: The exact part of the buffer with which the phase starts (of an all-gather a member's
            share); the packet is rounded down to whole bytes.
        peer: To whom.
        reduces: Whether what a member receives in this step is reduced there on arrival.
        times: How often the step is done, one after the other.
    """

    size: Fraction
    peer: Peer
    reduces: bool = False
    times: int = 1

    def senders(self, members: int) -> int:
        """Members that send something."""
        if isinstance(self.peer, Span):
            return self.peer.count
        if isinstance(self.peer, Table):
            return sum(receiver is not None for receiver in self.peer.receivers)
        return members


class PeerRule(IntEnum):
    """Rule for the receiver of a state machine's packets."""

    NEIGHBOUR = 0
    """Always the next member."""
    ROTATING = 1
    """The members 1, 2, ..., n - 1 further on, and again from 1."""
    HALVING = 2
    """Pairs; the distance doubles as the packet halves, or the other way round."""
    TREE = 3
    """Parents and children of a binary tree: members have different roles."""
    TABLE = 5
    """Receivers of each step (4 is the engine's own number for custom collectives)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateMachine:
    """One member in one phase, with the bookkeeping of ASTRA-sim 2.0.

    A member keeps ``parallel`` packets under way and sends ``steps`` packets in all. Each packet
    costs the endpoint delay before it may be sent, and the reduction of its bytes where it is one
    of the ``reduced`` packets that follow each ``parallel`` plain ones.

    Attributes:
        peers: How receivers are found.
        steps: Packets that a member sends.
        parallel: Packets under way at once.
        reduced: Packets of a round whose data is reduced on arrival.
        divisor: The first packet is the buffer over this, rounded down.
        distance: Distance of the first packet's receiver, in members.
        shrinks: Packets halve as their distance doubles; else the other way round.
        waits_for_all: The second half starts only when the first half has arrived whole.
        table: The steps, where ``peers`` is ``TABLE``.
    """

    peers: PeerRule
    steps: int = 0
    parallel: int = 1
    reduced: int = 0
    divisor: int = 1
    distance: int = 1
    shrinks: bool = False
    waits_for_all: bool = False
    table: tuple[Step, ...] = ()


class CollectiveAlgorithm(ABC):
    """An algorithm for a phase in one dimension; ``system.all_reduce`` and so on name one.

    A new algorithm is one class with ``runs`` and ``steps``. One object of it, made without
    arguments in each process that needs it, serves all runs there: what it answers depends on
    nothing but the arguments, and is remembered under the object, which is hashable. Each member
    sends the packet of its first step, and that of each further step when it has sent the one
    before and received what another member sent in that step. One that only sends in a step goes on
    when its packet has arrived, one that only receives when it has the packet, and one that does
    neither passes the step at once. Handling a packet takes the endpoint delay, reducing it two
    reads and a write of its bytes.

    Of a rooted collective the root is member 0. Of several dimensions, a broadcast and a scatter
    pass the outermost first, a reduce and a gather the innermost; in each of them only members
    take part that stand at place 0 of all dimensions further in.
    ``simcore.collectives.checks.check_algorithm`` says whether the simulator can run what is
    stated.
    """

    @abstractmethod
    def runs(self, kind: CollectiveKind, members: int) -> bool:
        """True if the algorithm can do *kind* among *members* NPUs."""

    @abstractmethod
    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        """Steps of every member, in order; asked if ``runs`` is true."""

    def machine(self, kind: CollectiveKind, members: int) -> StateMachine:
        """State machine to run; by default the steps, one packet under way at a time."""
        table = tuple(self.steps(kind, members))
        return StateMachine(
            peers=PeerRule.TABLE, steps=sum(step.times for step in table), table=table
        )

    def sent(self, kind: CollectiveKind, members: int) -> Fraction:
        """The part of the buffer that a member sends, mean over the members."""
        return sum(
            (step.size * step.times * step.senders(members) for step in self.steps(kind, members)),
            Fraction(0),
        ) / members  # fmt: skip


def share(kind: CollectiveKind, members: int) -> int:
    """Shares that the buffer is cut into: that of a gather is one member's already."""
    return 1 if kind.gathers else members


def growth(kind: CollectiveKind, members: int) -> Fraction:
    """Size of a member's buffer after a phase of *kind*, over its size before."""
    if kind.gathers:
        return Fraction(members)
    scatters = kind in (CollectiveKind.REDUCE_SCATTER, CollectiveKind.SCATTER)
    return Fraction(1, members if scatters else 1)
