"""Checks that members of a group, or groups, see the same distances in a dimension."""

from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from simcore.collectives import (
    CollectiveAlgorithm,
    Exchange,
    Offset,
    PeerRule,
    StateMachine,
    Synthesised,
)
from simcore.collectives.base import Peer
from simcore.engines.collectives.placement import Placement
from simcore.machine import Dimension
from simcore.terms import CollectiveKind
from simcore.topologies import Topology, distances

Ints = NDArray[np.int64]
Pairs = tuple[Ints, Ints]


@lru_cache(maxsize=4096)
def phase_alike(
    algorithm: CollectiveAlgorithm,
    kind: CollectiveKind,
    topology: Topology,
    npus: int,
    members: int,
    stride: int,
) -> bool:
    """True if one member can stand for all: in each step every pair is equally far apart.

    Args:
        algorithm: What the members run.
        kind: Of the phase.
        topology: Of the dimension.
        npus: Of the dimension.
        members: Of the group, at the coordinates 0, *stride*, 2 x *stride*, ...
        stride: Distance of neighbouring members.
    """
    machine = algorithm.machine(kind, members)
    if machine.peers is PeerRule.TREE:
        return False
    if any(step.senders(members) != members for step in machine.table):
        return False  # some send or receive while others do neither
    if topology.uniform or isinstance(algorithm, Synthesised):
        return True
    if topology.cyclic and machine.peers is PeerRule.HALVING:
        return True  # those of each pair are equally far apart, wherever the pair lies
    if topology.cyclic and machine.peers is not PeerRule.TABLE:
        # on a part of a ring the way back from the last member to the first is another one
        return members == 2 or members * stride == npus
    return all(
        _equally_far(topology, npus, senders * stride, receivers * stride)
        for senders, receivers in _pairs(machine, members)
    )


def _equally_far(topology: Topology, npus: int, a: Ints, b: Ints) -> bool:
    if topology.cyclic:
        apart = np.abs(a - b)
        found = np.minimum(apart, npus - apart)
    else:
        found = distances(topology, npus)[a, b]
    return bool((found == found[0]).all())


def _pairs(machine: StateMachine, members: int) -> Iterator[Pairs]:
    """Senders and receivers in each step that differs from the others."""
    everyone = np.arange(members)
    match machine.peers:
        case PeerRule.NEIGHBOUR:
            yield everyone, (everyone + 1) % members
        case PeerRule.ROTATING:
            for ahead in range(1, members):
                yield everyone, (everyone + ahead) % members
        case PeerRule.HALVING:
            for level in range(members.bit_length() - 1):
                yield everyone, everyone ^ (1 << level)
        case _:
            for step in machine.table:
                yield everyone, _receivers(step.peer, everyone)


def _receivers(peer: Peer, everyone: Ints) -> Ints:
    """Receivers for each of *everyone*."""
    match peer:
        case Offset(ahead):
            return (everyone + ahead) % everyone.size
        case Exchange(mask):
            return everyone ^ mask
        case _:
            named = [peer.receiver(member, everyone.size) for member in everyone.tolist()]
            return np.array(named, np.int64)


@lru_cache(maxsize=4096)
def groups_alike(topology: Topology, npus: int, members: int, stride: int) -> bool:
    """True if all groups of *members* that lie *stride* apart see the same distances.

    Where they do not, no group can stand for the others, and every NPU is followed.
    """
    if topology.uniform or topology.cyclic:
        return True
    table = distances(topology, npus)
    inner = np.arange(members) * stride
    first = table[np.ix_(inner, inner)]
    for block in range(0, npus, members * stride):
        for offset in range(stride):
            at = inner + block + offset
            if bool((table[np.ix_(at, at)] != first).any()):
                return False
    return True


def unlike_groups(dimensions: Sequence[Dimension], placements: Collection[Placement]) -> str:
    """The first topology on which groups of one of *placements* lie differently; "": none."""
    for d, dimension in enumerate(dimensions):
        shape, npus = dimension.shape, dimension.npus
        if shape.uniform or shape.cyclic:
            continue
        if not all(groups_alike(shape, npus, at.extent[d], at.stride[d]) for at in placements):
            return dimension.topology
    return ""


def partners_alike(machine: StateMachine, members: int) -> bool:
    """True if members find their partners by a rule that is the same at every place.

    The next ones by so many places; or, among a power of two, those whose number differs in
    some bits. Permutations tell the places apart.
    """
    power_of_two = members & (members - 1) == 0
    return all(
        isinstance(step.peer, Offset) or (isinstance(step.peer, Exchange) and power_of_two)
        for step in machine.table
    )
