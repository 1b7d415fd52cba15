"""Steps of a collective as data: how much, to whom, and whether what arrives is reduced."""

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Offset:
    """Every member sends to the one that lies *ahead* members further on, and around."""

    ahead: int

    def receiver(self, member: int, members: int) -> int | None:
        """To whom *member* of *members* sends."""
        return (member + self.ahead) % members


@dataclass(frozen=True, slots=True)
class Exchange:
    """Members change packets in pairs: with the one whose number differs in the bits of *mask*."""

    mask: int

    def receiver(self, member: int, members: int) -> int | None:
        """To whom *member* sends; a number that is none of *members* where there is no such."""
        return member ^ self.mask


@dataclass(frozen=True, slots=True)
class Table:
    """Each member sends to another one, *receivers* in order; None: it sends nothing."""

    receivers: tuple[int | None, ...]

    def receiver(self, member: int, members: int) -> int | None:
        """To whom *member* sends."""
        return self.receivers[member]


@dataclass(frozen=True, slots=True)
class Switch:
    """The network adds up what all members send it, and gives each of them the sum."""

    def receiver(self, member: int, members: int) -> int | None:
        """For its time, a message to the next member: up to the switch and down again."""
        return (member + 1) % members


Peer = Offset | Exchange | Table | Switch


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
        if isinstance(self.peer, Table):
            return sum(receiver is not None for receiver in self.peer.receivers)
        return members
