"""Time of one collective whose members start together: its phases, then its chunks."""

import numpy as np

from simcore.kernels.collectives import records
from simcore.kernels.collectives.chunk_pipeline import pipeline_time
from simcore.kernels.collectives.hops import npu_links, one_dimension
from simcore.kernels.collectives.phase_machine import (
    is_reduced,
    next_packet,
    phase_time,
    reduction_ns,
)
from simcore.kernels.collectives.phase_members import (
    goes_in_turn,
    lone_member_end,
    member_ends,
)
from simcore.kernels.collectives.records import ANSWER, Floats, Ints, Machine, Record, Records
from simcore.kernels.collectives.step_table import step_bytes, step_receiver, step_reduces
from simcore.kernels.collectives.topology_codes import RING, TABLE
from simcore.kernels.collectives.tree_members import tree_ends, tree_parent
from simcore.kernels.jit import njit


@njit(cache=True)
def collective_time(
    rows: Records,
    tables: Ints,
    chunks: int,
    chunk_bytes: int,
    active: int,
    machine: Machine,
    times: Records,
    traffic: Floats,
) -> tuple[int, int, int, int, bool]:
    """Time the phases of *rows*, then send the chunks through them.

    Args:
        rows: (P,) PHASE, the phases of a chunk.
        tables: Their step tables.
        chunks: How many there are.
        chunk_bytes: Size of each at its start.
        active: Chunks that a dimension works on at once.
        machine: Of D dimensions.
        times: (P,) TIME, gets the time of each phase.
        traffic: (2, D) float64, bytes per dimension, to which is added what one member sends, and
            what passes the links of one NPU; see ``mean_passes``.

    Returns:
        How many phases have times below 0, which the order of events among all members decides
        (the rest is then 0: see ``through_phases``); else 0 and what that function returns.
    """
    missing, size = 0, chunk_bytes
    for p in range(rows.shape[0]):
        row = rows[p]
        d = row["dimension"]
        over = one_dimension(machine, d)
        sent_bytes = chunks * _time_phase(row, tables, size, over, times[p]) / row["lines"]
        traffic[0, d] += sent_bytes
        traffic[1, d] += sent_bytes * mean_passes(row, tables, over)
        missing += times[p]["slowest_ns"] < 0
        size = size * row["result_times"] // row["result_over"]
    if missing > 0:
        return missing, 0, 0, 0, False
    duration, held, last_step, tied = through_phases(
        rows, chunks, active, machine.links.size, times
    )
    return 0, duration, held, last_step, tied


@njit(cache=True)
def through_phases(
    rows: Records, chunks: int, active: int, queues: int, times: Records
) -> tuple[int, int, int, bool]:
    """Send the chunks through phases whose times are known.

    Returns:
        Duration in ns; by how much it would be shorter if every phase ended with its first member
        (at least 1 where members end one by one, else 0); how long before its end the event that
        ends it was scheduled; whether the order of events among all members decides.
    """
    if not _come_back(rows):
        return _one_after_another(-(-chunks // active), times)
    over, last_step = rows["dimension"].copy(), times["last_step_ns"].copy()  # side by side
    slowest, fastest = times["slowest_ns"].copy(), times["fastest_ns"].copy()
    duration, last, tied = pipeline_time(chunks, over, slowest, last_step, queues, active)
    held = 0
    if (fastest < slowest).any():
        shortest, _, _ = pipeline_time(chunks, over, fastest, last_step, queues, active)
        held = max(duration - shortest, 1)
    return duration, held, last, tied


@njit(cache=True, makes_arrays=False)
def _come_back(rows: Records) -> bool:
    """True if chunks come to a dimension more than once."""
    for p in range(1, rows.shape[0]):
        for before in range(p):
            if rows[before]["dimension"] == rows[p]["dimension"]:
                return True
    return False


@njit(cache=True, makes_arrays=False)
def _one_after_another(rounds: int, times: Records) -> tuple[int, int, int, bool]:
    """``through_phases`` where each phase has a dimension of its own.

    As many chunks as a dimension works on at once are a round. Each is behind the one before by
    the longest phase, in whichever order chunks of one round go on.
    """
    duration = longest = shortest = longest_of_fastest = 0
    apart = False
    for p in range(times.shape[0]):
        slowest_ns, fastest_ns = times[p]["slowest_ns"], times[p]["fastest_ns"]
        duration, longest = duration + slowest_ns, max(longest, slowest_ns)
        shortest, longest_of_fastest = shortest + fastest_ns, max(longest_of_fastest, fastest_ns)
        apart = apart or fastest_ns < slowest_ns
    duration += (rounds - 1) * longest
    shortest += (rounds - 1) * longest_of_fastest
    held = max(duration - shortest, 1) if apart else 0
    return duration, held, times[times.shape[0] - 1]["last_step_ns"], False


@njit(cache=True)
def _time_phase(row: Record, tables: Ints, size: int, machine: Machine, time: Record) -> float:
    """Write the time of one phase; returns the bytes that a member sends (mean)."""
    if row["alike"] != 0 and goes_in_turn(row):
        end_ns, sent = lone_member_end(row, size, machine)
        time["slowest_ns"] = time["fastest_ns"] = end_ns
        time["last_step_ns"] = _last_step_ns(row, tables, size, machine)
        return sent
    copies = 1 if row["alike"] != 0 else row["members"]
    ids = np.empty(copies, np.int64)
    for i in range(copies):
        ids[i] = i * row["stride"]
    start = np.zeros(copies, np.int64)
    end = np.empty(copies, np.int64)
    sent_bytes = member_ends(row, tables, size, ids, machine, start, end)
    if sent_bytes >= 0.0:
        time["slowest_ns"], time["fastest_ns"] = end.max(), end.min()
        if row["peers"] == records.PEERS_TREE and machine.links[0]["topology"] == TABLE:
            # the two trees, which chunks take in turns, may lie differently
            tree_ends(row, size, ids, machine, start, end, True)
            time["slowest_ns"] = max(time["slowest_ns"], end.max())
            time["fastest_ns"] = min(time["fastest_ns"], end.min())
        time["last_step_ns"] = _last_step_ns(row, tables, size, machine)
        return sent_bytes
    time["last_step_ns"] = machine.delay_ns
    if row["alike"] == 0:
        time["slowest_ns"] = time["fastest_ns"] = -1
        return float(row["steps"] * (size // row["divisor"]))
    duration, sent, last_step = phase_time(row, size, machine)
    time["slowest_ns"] = time["fastest_ns"] = duration
    time["last_step_ns"] = last_step
    return float(sent)


@njit(cache=True)
def _last_step_ns(row: Record, tables: Ints, size: int, machine: Machine) -> int:
    """Time from when the last step of a phase was scheduled to its end."""
    last_ns = machine.delay_ns
    if row["alike"] != 0 and _ends_in_reduction(row, tables):
        packet = _last_packet(row, tables, size)
        last_ns = reduction_ns(packet, machine.memory_bytes_per_s)
    return last_ns + row["wait_ns"]


@njit(cache=True)
def _ends_in_reduction(row: Record, tables: Ints) -> bool:
    if row["peers"] == records.PEERS_TABLE:
        return step_reduces(tables, row["table"], row["steps"] - 1)
    return is_reduced(row, row["steps"] + row["parallel"] - 1)


@njit(cache=True)
def _last_packet(row: Record, tables: Ints, size: int) -> int:
    """Size of the packet that is put in line when the last message of a phase arrives."""
    if row["peers"] == records.PEERS_TABLE:
        return step_bytes(tables, row["table"], row["steps"] - 1, size)
    packet, distance, shrinks = size // row["divisor"], row["distance"], row["shrinks"]
    if row["peers"] == records.PEERS_HALVING:
        for _ in range(row["steps"]):
            packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return packet


@njit(cache=True)
def collective_times(
    collectives: Records, rows: Records, tables: Ints, active: int, machine: Machine, times: Records
) -> tuple[Records, Floats]:
    """Time N collectives, one after the other; see ``collective_time``.

    Args:
        collectives: (N + 1,) COLLECTIVE; the last one begins where the phases end.
        rows: (P,) PHASE, the phases of all.
        tables: Their step tables.
        active: Chunks that a dimension works on at once.
        machine: Of D dimensions.
        times: (P,) TIME, gets the time of each phase.

    Returns:
        (N,) ANSWER, and (N, 2, D) float64 bytes that one member sends, and that pass
        the links of one NPU.
    """
    count = collectives.size - 1
    answers = np.zeros(count, ANSWER)
    traffic = np.zeros((count, 2, machine.links.size))
    for number in range(count):
        one, answer = collectives[number], answers[number]
        first, behind = one["phase"], collectives[number + 1]["phase"]
        missing, duration, held, last, tied = collective_time(
            rows[first:behind],
            tables,
            one["chunks"],
            one["chunk_bytes"],
            active,
            machine,
            times[first:behind],
            traffic[number],
        )
        answer["missing"], answer["duration_ns"], answer["held_ns"] = missing, duration, held
        answer["last_ns"], answer["tied"] = last, tied
    return answers, traffic


_WHOLE = 1 << 40  # size of the first packet, so that halves of it are whole numbers


@njit(cache=True)
def mean_passes(row: Record, tables: Ints, machine: Machine) -> float:
    """Links that a byte of the phase passes, mean over its messages; 1 on switches.

    Args:
        row: PHASE, the phase.
        tables: The words of its step table are among them.
        machine: Of its one dimension.
    """
    topology = machine.links[0]["topology"]
    if topology != RING and topology != TABLE:
        return 1.0
    if topology == RING:
        return _passes_of_group(row, tables, machine, 0)
    members, stride = row["members"], row["stride"]
    blocks = machine.links[0]["npus"] // (members * stride)
    passed = 0.0
    for block in range(blocks):  # groups may lie at places that differ
        for offset in range(stride):
            passed += _passes_of_group(row, tables, machine, block * members * stride + offset)
    return passed / (blocks * stride)


@njit(cache=True)
def _passes_of_group(row: Record, tables: Ints, machine: Machine, first: int) -> float:
    """Mean over the messages of the group whose first member is at coordinate *first*."""
    if row["peers"] == records.PEERS_TREE:
        return _passes_of_tree(row, machine, first)
    if row["peers"] == records.PEERS_TABLE:
        return _passes_of_table(row, tables, machine, first)
    if row["peers"] == records.PEERS_NEIGHBOUR:
        return _passes_at(row, machine, first, row["distance"])
    packet, distance, shrinks = _WHOLE, row["distance"], row["shrinks"]
    passed = sent = 0.0
    for _ in range(row["steps"]):
        passed += packet * _passes_at(row, machine, first, distance)
        sent += packet
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
    return passed / sent


@njit(cache=True)
def _passes_at(row: Record, machine: Machine, first: int, distance: int) -> float:
    """Mean over the members, each of which sends to the one *distance* further on, and around."""
    members, stride = row["members"], row["stride"]
    if machine.links[0]["topology"] == RING:
        ahead = npu_links(machine, 0, 0, distance * stride)
        if row["peers"] == records.PEERS_HALVING:  # members change places in pairs
            return float(ahead)
        back = npu_links(machine, 0, 0, (members - distance) * stride)
        return ((members - distance) * ahead + distance * back) / members
    passed = 0
    for member in range(members):
        if row["peers"] == records.PEERS_HALVING:
            receiver = member ^ distance
        else:
            receiver = (member + distance) % members
        passed += npu_links(machine, 0, first + member * stride, first + receiver * stride)
    return passed / members


@njit(cache=True)
def _passes_of_tree(row: Record, machine: Machine, first: int) -> float:
    """Mean over the tree's edges: half of them join neighbours, a quarter those 2 apart, ..."""
    members, stride, step, passed = row["members"], row["stride"], 1, 0.0
    while step < members:
        for place in range(step, members, 2 * step):
            parent = tree_parent(place, step, members, 0)
            passed += npu_links(machine, 0, first + place * stride, first + parent * stride)
        step *= 2
    return passed / (members - 1)


@njit(cache=True)
def _passes_of_table(row: Record, tables: Ints, machine: Machine, first: int) -> float:
    """Mean over what all members send in all steps."""
    members, stride, passed, sent = row["members"], row["stride"], 0.0, 0.0
    for step in range(row["steps"]):
        packet = step_bytes(tables, row["table"], step, _WHOLE)
        for member in range(members):
            receiver = step_receiver(tables, row["table"], step, member, members)
            if receiver >= 0:
                passed += packet * npu_links(
                    machine, 0, first + member * stride, first + receiver * stride
                )
                sent += packet
    return passed / sent
