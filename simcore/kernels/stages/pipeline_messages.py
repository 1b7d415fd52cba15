"""Messages between the stages of a pipeline, known to their receivers from their start on."""

import numpy as np

from simcore.kernels.collectives.hops import hops, lowest_difference, npu_links
from simcore.kernels.collectives.phase_machine import message_ns
from simcore.kernels.collectives.records import Ints, Machine
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.stage_layout import Layout
from simcore.kernels.stages.stage_states import later


@njit(cache=True)
def unit_address(fixed: Ints, at: Layout, number: int, unit: int) -> int:
    """Address of a unit."""
    return int(fixed[at.program + number * f.PROGRAM_FIELDS + f.UNITS] + unit * f.UNIT_FIELDS)


@njit(cache=True)
def message_to(fixed: Ints, at: Layout, number: int, unit: int) -> int:
    """The message that a unit waits for, -1: none."""
    return int(fixed[unit_address(fixed, at, number, unit) + f.RECEIVED])


@njit(cache=True)
def is_known(fixed: Ints, live: Ints, at: Layout, number: int, unit: int) -> bool:
    """True if a unit waits for a message of which it is known when it comes."""
    message = message_to(fixed, at, number, unit)
    return message >= 0 and live[arrival_of(at, message)] >= 0


@njit(cache=True)
def arrival_of(at: Layout, message: int) -> int:
    """Address of when a message comes."""
    return int(at.arrival + message * f.ARRIVAL_FIELDS)


@njit(cache=True)
def sent_after(live: Ints, arrival: int, own: int, since: int) -> int:
    """Order of two events that come at once: a message, and one of its receiver's own.

    That which was scheduled first, else that whose cause was, else that whose cause was decided
    first. At *own* the receiver's event tells the three, in times that count from *since*.

    Returns:
        Above 0 if the message is the later one, 0 if nothing here decides.
    """
    for field in range(3):
        sent, scheduled = live[arrival + f.ARRIVAL_START + field], live[own + field]
        if sent == n.NEVER or scheduled == n.NEVER:
            break
        if sent - since != scheduled:
            return int(sent - since - scheduled)
    return 0


@njit(cache=True)
def send(
    fixed: Ints, live: Ints, at: Layout, number: int, unit: int, entry: int, since: int
) -> None:
    """A message is on its way, by an *entry* of a log whose times count from *since*."""
    message = fixed[unit_address(fixed, at, number, unit) + f.SENDS]
    arrival, end = arrival_of(at, message), live[entry + f.LOG_END] + since
    live[arrival + f.ARRIVAL_END] = end
    live[arrival + f.ARRIVAL_START] = live[entry + f.LOG_START] + since
    live[arrival + f.ARRIVAL_CAUSE] = later(live[entry + f.LOG_CAUSE], since)
    live[arrival + f.ARRIVAL_CAUSE_DECIDED] = later(live[entry + f.LOG_CAUSE_DECIDED], since)
    to_unit = fixed[at.message + message * f.MESSAGE_FIELDS + f.TO_UNIT]
    receiver = fixed[at.message + message * f.MESSAGE_FIELDS]
    stage = at.stage + receiver * f.STAGE_FIELDS
    live[stage + f.KNOWN] += 1
    if live[stage + f.MODE] == f.AWAITS_MESSAGE and live[stage + f.AT_UNIT] == to_unit:
        live[at.due + receiver] = min(live[at.due + receiver], end)
    elif live[stage + f.MODE] == f.FINALE:
        expect(live, at, receiver, arrival, to_unit)


@njit(cache=True)
def expect(live: Ints, at: Layout, number: int, arrival: int, unit: int) -> None:
    """A message for a stage in its finale."""
    stage = at.stage + number * f.STAGE_FIELDS
    end, next_end = live[arrival + f.ARRIVAL_END], live[stage + f.ARRIVES]
    earlier = end < next_end
    if end == next_end:
        other = live[stage + f.ARRIVES_AT]
        earlier = live[arrival + f.ARRIVAL_START] < live[other + f.ARRIVAL_START]
    if earlier:
        live[stage + f.ARRIVES] = end
        live[stage + f.ARRIVES_AT] = arrival
        live[stage + f.ARRIVES_UNIT] = unit
        live[at.due + number] = min(live[at.due + number], end)


@njit(cache=True)
def neighbour_messages(stages: int, stride: int, machine: Machine, size: int) -> Ints:
    """From every stage to the next one around, and to the one before.

    A message is charged for the lowest dimension in which the two NPUs differ (ASTRA-sim's
    congestion-unaware rule).

    Args:
        stages: S, at least 2.
        stride: Distance of neighbouring stages in NPU ids.
        machine: Of D dimensions.
        size: Bytes.

    Returns:
        (2, 3, S) int64: to the next and to the previous stage; dimension, time in ns, and links
        of the dimension's NPUs that the message passes.
    """
    found = np.zeros((2, 3, stages), np.int64)
    for stage in range(stages):
        for way in range(2):
            peer = (stage + (1 if way == 0 else stages - 1)) % stages
            d, x, y = lowest_difference(machine, stage * stride, peer * stride)
            link = machine.links[d]
            found[way, 0, stage] = d
            found[way, 1, stage] = message_ns(
                hops(machine, d, x, y), link["latency_ns"], size, link["bytes_per_ns"]
            )
            found[way, 2, stage] = npu_links(machine, d, x, y)
    return found
