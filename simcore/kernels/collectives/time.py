"""Time of one collective whose members start together: its phases, then its chunks."""

import numpy as np

from simcore.kernels.collectives import phase_row as words
from simcore.kernels.collectives.chunk_pipeline import (
    FASTEST_NS,
    LAST_STEP_NS,
    SLOWEST_NS,
    pipeline_time,
)
from simcore.kernels.collectives.hops import npu_links
from simcore.kernels.collectives.phase_machine import (
    Floats,
    Ints,
    is_reduced,
    next_packet,
    phase_time,
    reduction_ns,
)
from simcore.kernels.collectives.phase_members import member_ends, tree_ends, tree_parent
from simcore.kernels.collectives.step_table import step_bytes, step_receiver, step_reduces
from simcore.kernels.collectives.topology_codes import RING, TABLE
from simcore.kernels.jit import njit


@njit(cache=True)
def collective_time(
    rows: Ints,
    chunks: int,
    chunk_bytes: int,
    active: int,
    network: Floats,
    local: Floats,
    times: Ints,
    traffic: Floats,
) -> tuple[int, int, int, int, bool]:
    """Time the phases of *rows*, then send the chunks through them.

    Args:
        rows: (P, ROW_WORDS) int64, the phases of a chunk.
        chunks: How many there are.
        chunk_bytes: Size of each at its start.
        active: Chunks that a dimension works on at once.
        network: (D, LINK_WORDS) float64.
        local: (LOCAL_WORDS,) float64.
        times: (P, TIME_WORDS) int64, gets the time of each phase.
        traffic: (2, D) float64, bytes per dimension, to which is added what one member sends, and
            what passes the links of one NPU; see ``mean_passes``.

    Returns:
        How many phases have times below 0, which the order of events among all members decides
        (the rest is then 0: see ``through_phases``); else 0 and what that function returns.
    """
    missing, size = 0, chunk_bytes
    for p in range(rows.shape[0]):
        row = rows[p]
        d = row[words.DIMENSION]
        sent_bytes = chunks * _time_phase(row, size, network[d : d + 1], local, times[p])
        traffic[0, d] += sent_bytes
        traffic[1, d] += sent_bytes * mean_passes(row, network[d : d + 1])
        missing += times[p, SLOWEST_NS] < 0
        size = size * row[words.RESULT_TIMES] // row[words.RESULT_OVER]
    if missing > 0:
        return missing, 0, 0, 0, False
    duration, held, last_step, tied = through_phases(rows, chunks, active, network.shape[0], times)
    return 0, duration, held, last_step, tied


@njit(cache=True)
def through_phases(
    rows: Ints, chunks: int, active: int, queues: int, times: Ints
) -> tuple[int, int, int, bool]:
    """Send the chunks through phases whose times are known.

    Returns:
        Duration in ns; by how much it would be shorter if every phase ended with its first member
        (at least 1 where members end one by one, else 0); how long before its end the event that
        ends it was scheduled; whether the order of events among all members decides.
    """
    duration, last_step, tied = pipeline_time(chunks, rows, times, SLOWEST_NS, queues, active)
    held = 0
    if (times[:, FASTEST_NS] < times[:, SLOWEST_NS]).any():
        shortest, _, _ = pipeline_time(chunks, rows, times, FASTEST_NS, queues, active)
        held = max(duration - shortest, 1)
    return duration, held, last_step, tied


@njit(cache=True)
def _time_phase(row: Ints, size: int, link: Floats, local: Floats, time: Ints) -> float:
    """Write the time of one phase; returns the bytes that a member sends (mean)."""
    copies = 1 if row[words.ALIKE] != 0 else row[words.MEMBERS]
    ids = np.empty(copies, np.int64)
    for i in range(copies):
        ids[i] = i * row[words.STRIDE]
    start = np.zeros(copies, np.int64)
    end = np.empty(copies, np.int64)
    time[LAST_STEP_NS] = int(local[words.DELAY_NS])
    sent_bytes = member_ends(row, size, ids, link, local, start, end)
    if sent_bytes >= 0.0:
        time[SLOWEST_NS], time[FASTEST_NS] = end.max(), end.min()
        if row[words.PEERS] == words.PEERS_TREE and int(link[0, words.TOPOLOGY]) == TABLE:
            # the two trees, which chunks take in turns, may lie differently
            tree_ends(row, size, ids, link, local, start, end, True)
            time[SLOWEST_NS] = max(time[SLOWEST_NS], end.max())
            time[FASTEST_NS] = min(time[FASTEST_NS], end.min())
        if row[words.ALIKE] != 0 and _ends_in_reduction(row):
            packet = _last_packet(row, size)
            time[LAST_STEP_NS] = reduction_ns(packet, local[words.MEMORY_BYTES_PER_S])
        return sent_bytes
    if row[words.ALIKE] == 0:
        time[SLOWEST_NS] = time[FASTEST_NS] = -1
        return float(row[words.STEPS] * (size // row[words.DIVISOR]))
    duration, sent, last_step = phase_time(row, size, link, local)
    time[SLOWEST_NS] = time[FASTEST_NS] = duration
    time[LAST_STEP_NS] = last_step
    return float(sent)


@njit(cache=True)
def _ends_in_reduction(row: Ints) -> bool:
    if row[words.PEERS] == words.PEERS_TABLE:
        return step_reduces(row, words.ROW_WORDS, row[words.STEPS] - 1)
    return is_reduced(row, row[words.STEPS] + row[words.PARALLEL] - 1)


@njit(cache=True)
def _last_packet(row: Ints, size: int) -> int:
    """Size of the packet that is put in line when the last message of a phase arrives."""
    if row[words.PEERS] == words.PEERS_TABLE:
        return step_bytes(row, words.ROW_WORDS, row[words.STEPS] - 1, size)
    packet, distance, shrinks = size // row[words.DIVISOR], row[words.DISTANCE], row[words.SHRINKS]
    for _ in range(row[words.STEPS]):
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return packet


FIRST_PHASE, CHUNKS, CHUNK_BYTES = 0, 1, 2
COLLECTIVE_WORDS = 3
"""Words of a collective: its first phase, and the number and size of its chunks."""

MISSING, DURATION_NS, HELD_NS, LAST_NS, TIED = 0, 1, 2, 3, 4
ANSWER_WORDS = 5
"""Words of an answer, as ``collective_time`` returns them."""


@njit(cache=True)
def collective_times(
    collectives: Ints, rows: Ints, active: int, network: Floats, local: Floats, times: Ints
) -> tuple[Ints, Floats]:
    """Time N collectives, one after the other; see ``collective_time``.

    Args:
        collectives: (N + 1, COLLECTIVE_WORDS) int64; the last one begins where the phases end.
        rows: (P, ROW_WORDS) int64, the phases of all.
        active: Chunks that a dimension works on at once.
        network: (D, LINK_WORDS) float64.
        local: (LOCAL_WORDS,) float64.
        times: (P, TIME_WORDS) int64, gets the time of each phase.

    Returns:
        (N, ANSWER_WORDS) int64, and (N, 2, D) float64 bytes that one member sends, and that pass
        the links of one NPU.
    """
    count = collectives.shape[0] - 1
    answers = np.zeros((count, ANSWER_WORDS), np.int64)
    traffic = np.zeros((count, 2, network.shape[0]))
    for number in range(count):
        first, chunks, chunk_bytes = collectives[number]
        behind = collectives[number + 1, FIRST_PHASE]
        missing, duration, held, last, tied = collective_time(
            rows[first:behind],
            chunks,
            chunk_bytes,
            active,
            network,
            local,
            times[first:behind],
            traffic[number],
        )
        answer = answers[number]
        answer[MISSING], answer[DURATION_NS], answer[HELD_NS] = missing, duration, held
        answer[LAST_NS], answer[TIED] = last, tied
    return answers, traffic


_WHOLE = 1 << 40  # size of the first packet, so that halves of it are whole numbers


@njit(cache=True)
def mean_passes(row: Ints, link: Floats) -> float:
    """Links that a byte of the phase passes, mean over its messages; 1 on switches.

    Args:
        row: (ROW_WORDS,) int64, the phase.
        link: (1, LINK_WORDS) float64, its dimension; see ``hops``.
    """
    topology = int(link[0, words.TOPOLOGY])
    if topology != RING and topology != TABLE:
        return 1.0
    if topology == RING:
        return _passes_of_group(row, link, 0)
    members, stride = row[words.MEMBERS], row[words.STRIDE]
    blocks = int(link[0, words.NPUS]) // (members * stride)
    passed = 0.0
    for block in range(blocks):  # groups may lie at places that differ
        for offset in range(stride):
            passed += _passes_of_group(row, link, block * members * stride + offset)
    return passed / (blocks * stride)


@njit(cache=True)
def _passes_of_group(row: Ints, link: Floats, first: int) -> float:
    """Mean over the messages of the group whose first member is at coordinate *first*."""
    if row[words.PEERS] == words.PEERS_TREE:
        return _passes_of_tree(row, link, first)
    if row[words.PEERS] == words.PEERS_TABLE:
        return _passes_of_table(row, link, first)
    if row[words.PEERS] == words.PEERS_NEIGHBOUR:
        return _passes_at(row, link, first, row[words.DISTANCE])
    packet, distance, shrinks = _WHOLE, row[words.DISTANCE], row[words.SHRINKS]
    passed = sent = 0.0
    for _ in range(row[words.STEPS]):
        passed += packet * _passes_at(row, link, first, distance)
        sent += packet
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return passed / sent


@njit(cache=True)
def _passes_at(row: Ints, link: Floats, first: int, distance: int) -> float:
    """Mean over the members, each of which sends to the one *distance* further on, and around."""
    members, stride = row[words.MEMBERS], row[words.STRIDE]
    if int(link[0, words.TOPOLOGY]) == RING:
        ahead = npu_links(link, 0, 0, distance * stride)
        if row[words.PEERS] == words.PEERS_HALVING:  # members change places in pairs
            return float(ahead)
        back = npu_links(link, 0, 0, (members - distance) * stride)
        return ((members - distance) * ahead + distance * back) / members
    passed = 0
    for member in range(members):
        if row[words.PEERS] == words.PEERS_HALVING:
            receiver = member ^ distance
        else:
            receiver = (member + distance) % members
        passed += npu_links(link, 0, first + member * stride, first + receiver * stride)
    return passed / members


@njit(cache=True)
def _passes_of_tree(row: Ints, link: Floats, first: int) -> float:
    """Mean over the tree's edges: half of them join neighbours, a quarter those 2 apart, ..."""
    members, stride, step, passed = row[words.MEMBERS], row[words.STRIDE], 1, 0.0
    while step < members:
        for place in range(step, members, 2 * step):
            parent = tree_parent(place, step, members, 0)
            passed += npu_links(link, 0, first + place * stride, first + parent * stride)
        step *= 2
    return passed / (members - 1)


@njit(cache=True)
def _passes_of_table(row: Ints, link: Floats, first: int) -> float:
    """Mean over what all members send in all steps."""
    members, stride, passed, sent = row[words.MEMBERS], row[words.STRIDE], 0.0, 0.0
    for step in range(row[words.STEPS]):
        packet = step_bytes(row, words.ROW_WORDS, step, _WHOLE)
        for member in range(members):
            receiver = step_receiver(row, words.ROW_WORDS, step, member, members)
            passed += packet * npu_links(
                link, 0, first + member * stride, first + receiver * stride
            )
        sent += packet * members
    return passed / sent
