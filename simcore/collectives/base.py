"""What a collective algorithm says about one phase on one dimension."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import IntEnum

from simcore.terms import CollectiveKind, TopologyKind


class PeerRule(IntEnum):
    """How the distance of a packet's receiver changes from packet to packet."""

    NEIGHBOUR = 0
    """Always the next member."""
    ROTATING = 1
    """1, 2, ..., members - 1, and again from 1."""
    HALVING = 2
    """Doubles (or halves) with the packet's size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseProgram:
    """The state machine of one member in one phase, as data.

    A member keeps ``parallel`` packets under way and sends ``steps`` packets in all; each packet
    costs the endpoint delay before it may be sent, and the reduction of its bytes where it is one
    of the ``reduced`` packets that follow each ``parallel`` plain ones.

    Attributes:
        steps: Packets that a member sends.
        parallel: Packets under way at once.
        reduced: Packets of a round whose data is reduced on arrival.
        first_bytes: Size of the first packet.
        first_distance: Distance of the first packet's receiver, in members.
        factor: What divides the size and multiplies the distance from packet to packet.
        peers: How the receiver changes.
        waits_for_all: The second half starts only when the first half has arrived whole.
        result_bytes: Size of the buffer after the phase.
    """

    steps: int
    parallel: int
    reduced: int
    first_bytes: int
    first_distance: int
    factor: float
    peers: PeerRule
    waits_for_all: bool
    result_bytes: int


class CollectiveAlgorithm(ABC):
    """How the members of one dimension carry out a phase.

    Attributes:
        astra_name: The algorithm's name in ASTRA-sim's system files.
    """

    astra_name: str

    @abstractmethod
    def runs(self, kind: CollectiveKind, members: int) -> bool:
        """Whether the algorithm can do *kind* among *members* NPUs."""

    @abstractmethod
    def program(self, kind: CollectiveKind, members: int, size_bytes: int) -> PhaseProgram | None:
        """The state machine that every member runs; None where members have different roles."""

    def alike(self, topology: TopologyKind, npus: int, members: int, stride: int) -> bool:
        """Whether each member sees the same distances, so that all of them behave alike.

        Args:
            topology: Of the dimension.
            npus: Of the dimension.
            members: Of the group in this dimension.
            stride: Distance of neighbouring members.
        """
        # on part of a ring the way back from the last member to the first is longer than a stride
        return topology is not TopologyKind.RING or members == 2 or members * stride == npus


def split(kind: CollectiveKind, size_bytes: int, members: int) -> int:
    """Bytes of one member's share: an all-gather's buffer is that share already."""
    return size_bytes if kind is CollectiveKind.ALL_GATHER else size_bytes // members


def result_bytes(kind: CollectiveKind, size_bytes: int, members: int) -> int:
    """Size of a member's buffer after a phase of *kind* on *size_bytes*."""
    if kind is CollectiveKind.ALL_GATHER:
        return size_bytes * members
    if kind is CollectiveKind.REDUCE_SCATTER:
        return size_bytes // members
    return size_bytes
