"""How many links of its dimension a byte of a phase passes.

Next to a switch, and where all are joined to all, a message leaves over one link of its sender. On
a ring it takes a link of every NPU that it passes, whose own messages need that link too.
"""

from simcore.kernels.jit import njit
from simcore.kernels.phase_machine import Floats, Ints, hops_at, next_packet
from simcore.kernels.phase_row import (
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
from simcore.kernels.step_table import step_bytes, step_receiver
from simcore.kernels.topology_codes import RING

_WHOLE = 1 << 40  # size of the first packet, so that halves of it are whole numbers


@njit(cache=True)
def mean_passes(row: Ints, link: Floats) -> float:
    """Links that a byte of the phase passes, mean over its messages; 1 but on a ring.

    Args:
        row: (ROW_WORDS,) int64, the phase.
        link: (LINK_WORDS,) float64, its dimension.
    """
    if int(link[TOPOLOGY]) != RING:
        return 1.0
    npus = int(link[NPUS])
    if row[PEERS] == PEERS_TREE:
        return _passes_of_tree(row, npus)
    if row[PEERS] == PEERS_TABLE:
        return _passes_of_table(row, npus)
    if row[PEERS] == PEERS_NEIGHBOUR:
        return _passes_at(row, npus, row[DISTANCE])
    packet, distance, shrinks = _WHOLE, row[DISTANCE], row[SHRINKS]
    passed = sent = 0.0
    for _ in range(row[STEPS]):
        passed += packet * _passes_at(row, npus, distance)
        sent += packet
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return passed / sent


@njit(cache=True)
def _passes_at(row: Ints, npus: int, distance: int) -> float:
    """Mean over the members, each of which sends to the one *distance* further on, and around."""
    ahead = hops_at(RING, npus, distance * row[STRIDE])
    if row[PEERS] == PEERS_HALVING:  # members change places in pairs
        return float(ahead)
    members = row[MEMBERS]
    back = hops_at(RING, npus, (members - distance) * row[STRIDE])
    return ((members - distance) * ahead + distance * back) / members


@njit(cache=True)
def _passes_of_tree(row: Ints, npus: int) -> float:
    """Mean over the tree's edges: half of them join neighbours, a quarter those 2 apart, ..."""
    members, step, passed = row[MEMBERS], 1, 0.0
    while step < members:
        passed += members // (2 * step) * hops_at(RING, npus, step * row[STRIDE])
        step *= 2
    return passed / (members - 1)


@njit(cache=True)
def _passes_of_table(row: Ints, npus: int) -> float:
    """Mean over what all members send in all steps."""
    members, passed, sent = row[MEMBERS], 0.0, 0.0
    for step in range(row[STEPS]):
        packet = step_bytes(row, ROW_WORDS, step, _WHOLE)
        for member in range(members):
            receiver = step_receiver(row, ROW_WORDS, step, member, members)
            passed += packet * hops_at(RING, npus, abs(receiver - member) * row[STRIDE])
        sent += packet * members
    return passed / sent
