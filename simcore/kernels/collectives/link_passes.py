"""How many links of the NPUs of its dimension a byte of a phase passes; see ``hops.npu_links``."""

from simcore.kernels.collectives.hops import npu_links
from simcore.kernels.collectives.phase_machine import Floats, Ints, next_packet
from simcore.kernels.collectives.phase_members import tree_parent
from simcore.kernels.collectives.phase_row import (
    DISTANCE,
    MEMBERS,
    NPUS,
    PEERS,
    PEERS_HALVING,
    PEERS_NEIGHBOUR,
    PEERS_TABLE,
    PEERS_TREE,
    ROW_WORDS,
    SHRINKS,
    STEPS,
    STRIDE,
    TOPOLOGY,
)
from simcore.kernels.collectives.step_table import step_bytes, step_receiver
from simcore.kernels.collectives.topology_codes import RING, TABLE
from simcore.kernels.jit import njit

_WHOLE = 1 << 40  # size of the first packet, so that halves of it are whole numbers


@njit(cache=True)
def mean_passes(row: Ints, link: Floats) -> float:
    """Links that a byte of the phase passes, mean over its messages; 1 on switches.

    Args:
        row: (ROW_WORDS,) int64, the phase.
        link: (1, LINK_WORDS) float64, its dimension; see ``hops``.
    """
    topology = int(link[0, TOPOLOGY])
    if topology != RING and topology != TABLE:
        return 1.0
    if topology == RING:
        return _passes_of_group(row, link, 0)
    members, stride = row[MEMBERS], row[STRIDE]
    blocks = int(link[0, NPUS]) // (members * stride)
    passed = 0.0
    for block in range(blocks):  # groups may lie at places that differ
        for offset in range(stride):
            passed += _passes_of_group(row, link, block * members * stride + offset)
    return passed / (blocks * stride)


@njit(cache=True)
def _passes_of_group(row: Ints, link: Floats, first: int) -> float:
    """Mean over the messages of the group whose first member is at coordinate *first*."""
    if row[PEERS] == PEERS_TREE:
        return _passes_of_tree(row, link, first)
    if row[PEERS] == PEERS_TABLE:
        return _passes_of_table(row, link, first)
    if row[PEERS] == PEERS_NEIGHBOUR:
        return _passes_at(row, link, first, row[DISTANCE])
    packet, distance, shrinks = _WHOLE, row[DISTANCE], row[SHRINKS]
    passed = sent = 0.0
    for _ in range(row[STEPS]):
        passed += packet * _passes_at(row, link, first, distance)
        sent += packet
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return passed / sent


@njit(cache=True)
def _passes_at(row: Ints, link: Floats, first: int, distance: int) -> float:
    """Mean over the members, each of which sends to the one *distance* further on, and around."""
    members, stride = row[MEMBERS], row[STRIDE]
    if int(link[0, TOPOLOGY]) == RING:
        ahead = npu_links(link, 0, 0, distance * stride)
        if row[PEERS] == PEERS_HALVING:  # members change places in pairs
            return float(ahead)
        back = npu_links(link, 0, 0, (members - distance) * stride)
        return ((members - distance) * ahead + distance * back) / members
    passed = 0
    for member in range(members):
        if row[PEERS] == PEERS_HALVING:
            receiver = member ^ distance
        else:
            receiver = (member + distance) % members
        passed += npu_links(link, 0, first + member * stride, first + receiver * stride)
    return passed / members


@njit(cache=True)
def _passes_of_tree(row: Ints, link: Floats, first: int) -> float:
    """Mean over the tree's edges: half of them join neighbours, a quarter those 2 apart, ..."""
    members, stride, step, passed = row[MEMBERS], row[STRIDE], 1, 0.0
    while step < members:
        for place in range(step, members, 2 * step):
            parent = tree_parent(place, step, members, 0)
            passed += npu_links(link, 0, first + place * stride, first + parent * stride)
        step *= 2
    return passed / (members - 1)


@njit(cache=True)
def _passes_of_table(row: Ints, link: Floats, first: int) -> float:
    """Mean over what all members send in all steps."""
    members, stride, passed, sent = row[MEMBERS], row[STRIDE], 0.0, 0.0
    for step in range(row[STEPS]):
        packet = step_bytes(row, ROW_WORDS, step, _WHOLE)
        for member in range(members):
            receiver = step_receiver(row, ROW_WORDS, step, member, members)
            passed += packet * npu_links(
                link, 0, first + member * stride, first + receiver * stride
            )
        sent += packet * members
    return passed / sent
