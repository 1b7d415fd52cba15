"""Ends of the members of a phase, given when each starts; one chunk, on idle links.

Where messages do not slow each other down, a phase is a chain of maxima: a member goes on when it
has sent its own packet and received its partner's. So no event needs to be put in order, and the
result is that of the event engine, to the nanosecond. Two programs have such a chain:

* one packet under way at a time (halving-doubling, tables, trees): step after step; round a ring
  in closed form;
* all packets under way at once (direct): one round, or two where the second waits for the first.

Members that all see the same distances and start together are one member, sending to itself.

Source: the rules of ASTRA-sim 2.0's collective algorithms.
"""

import numpy as np

from simcore.kernels.collectives import records
from simcore.kernels.collectives.phase_machine import (
    is_reduced,
    next_packet,
    reduction_ns,
    travel_ns,
)
from simcore.kernels.collectives.records import Ints, Machine, Record, Records
from simcore.kernels.collectives.step_table import (
    step_bytes,
    step_receiver,
    step_reduces,
    step_sender,
)
from simcore.kernels.collectives.tree_members import tree_ends
from simcore.kernels.jit import njit

_EXACT = 2**53
"""Whole numbers up to it are the same as floats, and sums of them."""


@njit(cache=True)
def member_ends(
    row: Record, tables: Ints, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints
) -> float:
    """Write when each member ends the phase *row*.

    Args:
        row: PHASE, the phase.
        tables: The words of its step table are among them.
        size: Bytes of the chunk.
        ids: (M,) int64, NPU ids of the members in order; or one id, which stands for all of them.
        machine: Of the dimensions that the ids are coordinates in.
        start: (M,) int64, when each member starts, in ns.
        end: (M,) int64, gets when each member is done, in ns.

    Returns:
        Bytes that one member sends (mean over the members); below 0: the program has no chain, or
        the order of events at one time decides, so *end* is not written.
    """
    if row["peers"] == records.PEERS_TREE:
        return tree_ends(row, size, ids, machine, start, end, False)
    if row["peers"] == records.PEERS_TABLE:
        return _table_ends(row, tables, size, ids, machine, start, end)
    if _goes_round(row):
        return _ring_ends(row, size, ids, machine, start, end, 1)
    if goes_in_turn(row):
        return _chain_ends(row, size, ids, machine, start, end)
    whole = row["peers"] == records.PEERS_ROTATING and row["parallel"] == row["members"] - 1
    if whole and row["steps"] == row["parallel"] and row["waits"] == 0:
        return _round_ends(row, size, ids, machine, start, end)
    second = row["steps"] == 2 * row["parallel"] and row["waits"] == 1
    if whole and second and row["reduced"] >= row["parallel"]:
        return _two_rounds_ends(row, size, ids, machine, start, end)
    return -1.0


@njit(cache=True)
def rounds_ends(
    rows: Records,
    tables: Ints,
    size: int,
    ids: Ints,
    machine: Machine,
    start: Ints,
    end: Ints,
    rounds: int,
) -> bool:
    """``member_ends`` for *rounds* chunks, each of which starts where the one before ended.

    Ends are sums and maxima of starts and fixed times. So once a chunk has taken all members
    equally long, those that follow do, too. Round a ring all chunks are one longer way.

    Returns:
        Whether *end* was written.
    """
    if _goes_round(rows[0]):
        _ring_ends(rows[0], size, ids, machine, start, end, rounds)
        return True
    begin = start.copy()
    for done in range(1, rounds + 1):
        if member_ends(rows[0], tables, size, ids, machine, begin, end) < 0.0:
            return False
        took, alike = end[0] - begin[0], True
        for member in range(begin.size):
            alike = alike and end[member] - begin[member] == took
            begin[member] = end[member]
        if alike:
            for member in range(begin.size):
                end[member] += (rounds - done) * took
            break
    return True


@njit(cache=True)
def _from(row: Record, ids: Ints, machine: Machine, to: int, sender: int, size: int) -> int:
    """Time of a message between two positions, counted over all members."""
    if row["takes_ns"] > 0:
        return row["takes_ns"]
    if ids.size == 1:
        return travel_ns(machine, sender * row["stride"], to * row["stride"], size)
    return travel_ns(machine, ids[sender], ids[to], size)


@njit(cache=True)
def _sender(row: Record, member: int, distance: int) -> int:
    """Position of the member whose packet *member* receives while it sends at *distance*."""
    if row["peers"] == records.PEERS_HALVING and member // distance % 2 == 0:
        return member + distance
    return (member - distance) % row["members"]


@njit(cache=True)
def _ring_ends(
    row: Record, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints, rounds: int
) -> float:
    """Write when each member ends *rounds* chunks in turn, which go round a ring step by step.

    A member ends a step once it and the member before have ended the last one, and the packet has
    come. So it ends all steps at the latest of the members' starts, each with the time of a way of
    neighbours from there to here, plus what handling takes in all. A way has at most as many hops
    as there are steps; of those from one member the one with the most hops is the longest.
    """
    copies, steps = ids.size, row["steps"] * rounds
    packet = size // row["divisor"]
    travel = np.empty(copies, np.int64)
    sender = np.zeros(copies, np.int64)
    for i in range(copies):
        other = _sender(row, i, row["distance"])
        travel[i] = _from(row, ids, machine, i, other, packet)
        sender[i] = 0 if copies == 1 else other
    handled_ns = row["steps"] * (machine.delay_ns + row["wait_ns"])
    handled_ns += _reduced_steps(row) * reduction_ns(packet, machine.memory_bytes_per_s)
    for i in range(copies):
        lap_ns, at = 0, i
        for _ in range(copies):
            lap_ns += travel[at]
            at = sender[at]
        latest, way_ns = start[i] + steps // copies * lap_ns, 0
        for hops_back in range(1, min(copies, steps + 1)):
            way_ns += travel[at]
            at = sender[at]
            laps = (steps - hops_back) // copies
            latest = max(latest, start[at] + way_ns + laps * lap_ns)
        end[i] = latest + rounds * (machine.delay_ns + handled_ns)
    return float(row["steps"] * packet)


@njit(cache=True)
def _chain_ends(
    row: Record, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints
) -> float:
    """One packet at a time: receive, handle, send on."""
    copies, delay_ns = ids.size, machine.delay_ns
    packet, distance, shrinks = size // row["divisor"], row["distance"], row["shrinks"]
    reduce_ns = reduction_ns(packet, machine.memory_bytes_per_s)
    travel = np.empty(copies, np.int64)
    sender = np.empty(copies, np.int64)
    received = np.empty(copies, np.int64)
    sent_bytes = 0.0
    for i in range(copies):
        end[i] = start[i] + delay_ns
    for step in range(row["steps"]):
        for i in range(copies):
            other = _sender(row, i, distance)
            travel[i] = _from(row, ids, machine, i, other, packet)
            sender[i] = 0 if copies == 1 else other
        sent_bytes += packet
        for i in range(copies):
            received[i] = max(end[i], end[sender[i]] + travel[i])
        packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
        if row["peers"] == records.PEERS_HALVING:
            reduce_ns = reduction_ns(packet, machine.memory_bytes_per_s)
        cost_ns = delay_ns + row["wait_ns"] + (reduce_ns if is_reduced(row, step + 1) else 0)
        for i in range(copies):
            end[i] = received[i] + cost_ns
    return sent_bytes


@njit(cache=True, makes_arrays=False)
def goes_in_turn(row: Record) -> bool:
    """True if members send one packet at a time, to members that a rule tells."""
    by_rule = row["peers"] != records.PEERS_TREE and row["peers"] != records.PEERS_TABLE
    return bool(by_rule and row["parallel"] == 1)


@njit(cache=True, makes_arrays=False)
def _goes_round(row: Record) -> bool:
    """True if members send one packet at a time, always to the same neighbour."""
    return bool(row["peers"] == records.PEERS_NEIGHBOUR and row["parallel"] == 1)


@njit(cache=True)
def lone_member_end(row: Record, size: int, machine: Machine) -> tuple[int, float]:
    """End of a phase that ``goes_in_turn``, of one member that stands for all and starts at 0.

    Returns:
        The end in ns; bytes that the member sends.
    """
    delay_ns, steps = machine.delay_ns, row["steps"]
    packet, distance, shrinks = size // row["divisor"], row["distance"], row["shrinks"]
    if _goes_round(row) and packet * steps < _EXACT:
        travel = max(_travel_to_first(row, machine, distance, packet), 0)
        reduced = _reduced_steps(row) * reduction_ns(packet, machine.memory_bytes_per_s)
        every = travel + delay_ns + row["wait_ns"]
        return delay_ns + steps * every + reduced, float(packet * steps)
    end, sent_bytes = delay_ns, 0.0
    for step in range(steps):
        end += max(_travel_to_first(row, machine, distance, packet), 0)
        sent_bytes += packet
        if row["peers"] != records.PEERS_NEIGHBOUR:
            packet, distance, shrinks = next_packet(row, packet, distance, shrinks)
        end += delay_ns + row["wait_ns"]
        if is_reduced(row, step + 1):
            end += reduction_ns(packet, machine.memory_bytes_per_s)
    return end, sent_bytes


@njit(cache=True)
def _travel_to_first(row: Record, machine: Machine, distance: int, packet: int) -> int:
    """Time of the message that the first member receives while it sends at *distance*."""
    if row["takes_ns"] > 0:
        return row["takes_ns"]
    return travel_ns(machine, _sender(row, 0, distance) * row["stride"], 0, packet)


@njit(cache=True, makes_arrays=False)
def _reduced_steps(row: Record) -> int:
    """Packets after the first that are reduced, of one in line at a time."""
    if row["reduce_rule"] == records.REDUCE_NEVER:
        return 0
    block = 1 + row["reduced"]  # the first of each block is not
    period = block if row["reduce_rule"] == records.REDUCE_ALWAYS else 2 * block
    packets = row["steps"] + 1
    rest = packets % period
    return packets // period * (block - 1) + max(min(rest, block) - 1, 0)


@njit(cache=True)
def _table_ends(
    row: Record, tables: Ints, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints
) -> float:
    """One packet at a time, as each step of a table names it."""
    copies, members = ids.size, row["members"]
    ended = np.empty(copies, np.int64)
    sent_bytes = 0.0
    for i in range(copies):
        end[i] = start[i] + machine.delay_ns
    for step in range(row["steps"]):
        packet = step_bytes(tables, row["table"], step, size)
        reduce_ns = 0
        if step_reduces(tables, row["table"], step):
            reduce_ns = reduction_ns(packet, machine.memory_bytes_per_s)
        senders = 0
        for i in range(copies):
            sender = step_sender(tables, row["table"], step, i, members)
            receiver = step_receiver(tables, row["table"], step, i, members)
            senders += receiver >= 0
            ended[i] = end[i]
            if sender >= 0:
                arrival = end[0 if copies == 1 else sender]
                arrival += _from(row, ids, machine, i, sender, packet)
                ended[i] = max(end[i], arrival) + machine.delay_ns + reduce_ns
            elif receiver >= 0:  # goes on when its packet is there
                ended[i] += _from(row, ids, machine, receiver, i, packet) + machine.delay_ns
        sent_bytes += packet * senders
        for i in range(copies):
            end[i] = ended[i]
    return sent_bytes / copies


@njit(cache=True)
def _handling_ns(row: Record, machine: Machine, size: int, packet: int) -> int:
    """Cost of handling the message whose arrival puts packet number *packet* in line."""
    if not is_reduced(row, packet):
        return machine.delay_ns
    return machine.delay_ns + reduction_ns(size, machine.memory_bytes_per_s)


@njit(cache=True)
def _round_ends(
    row: Record, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints
) -> float:
    """Every member sends to every other at once."""
    delay_ns, packet = machine.delay_ns, size // row["divisor"]
    received = np.empty(row["parallel"], np.int64)
    for i in range(ids.size):
        _receive_round(row, packet, ids, machine, start, i, received)
        end[i] = received.max() + delay_ns + _handling_ns(row, machine, packet, row["parallel"])
    return float(row["steps"] * packet)


@njit(cache=True)
def _receive_round(
    row: Record, packet: int, ids: Ints, machine: Machine, sent: Ints, i: int, received: Ints
) -> None:
    """Write when member *i* has the packets of the others, which each send all at *sent*."""
    for distance in range(1, row["members"]):
        other = _sender(row, i, distance)
        arrival = _from(row, ids, machine, i, other, packet)
        arrival += sent[0 if ids.size == 1 else other]
        received[distance - 1] = max(sent[i], arrival)


@njit(cache=True)
def _two_rounds_ends(
    row: Record, size: int, ids: Ints, machine: Machine, start: Ints, end: Ints
) -> float:
    """Two rounds: packets of the second leave when all of the first are there, as bundles pass."""
    copies, parallel = ids.size, row["parallel"]
    delay_ns, packet = machine.delay_ns, size // row["divisor"]
    first_ns = _handling_ns(row, machine, packet, parallel)
    second_ns = _handling_ns(row, machine, packet, 2 * parallel)
    sent = np.empty((copies, parallel), np.int64)
    for i in range(copies):
        received = sent[i]
        _receive_round(row, packet, ids, machine, start, i, received)
        received.sort()
        last = received[parallel - 1]
        gate = last + first_ns  # the first bundle that passes with everything there
        for k in range(parallel - 1):
            passes = received[k] + first_ns
            if passes == last and first_ns > 0:
                return -1.0  # whether the bundle or the message is first decides
            if passes >= last:
                gate = min(gate, passes)
        for k in range(parallel):
            received[k] = max(received[k] + first_ns, gate)
    for i in range(copies):
        end[i] = 0
        for k in range(parallel):
            other = _sender(row, i, k + 1)
            arrival = _from(row, ids, machine, i, other, packet)
            arrival += sent[0 if copies == 1 else other, k]
            end[i] = max(end[i], sent[i, k], arrival)
        end[i] += second_ns + delay_ns  # the starts above left out the first delay
    return float(row["steps"] * packet)
