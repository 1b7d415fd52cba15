"""Programs of stages whose messages share links fairly: nodes and flows, event by event."""

from typing import NamedTuple

from simcore.kernels.classes import layout as f
from simcore.kernels.classes.layout import Ints, Waits
from simcore.kernels.classes.schedule import run
from simcore.kernels.flows.heaps import push
from simcore.kernels.flows.rounding import whole_ns
from simcore.kernels.flows.run import count_from, next_event
from simcore.kernels.flows.run import run as run_flows
from simcore.kernels.flows.state import (
    ACTIVE,
    ENDED,
    ROUNDING,
    WAITING,
    Flows,
    Log,
    Routes,
    Sharing,
    Slots,
    Waiting,
)
from simcore.kernels.heaps import push_event
from simcore.kernels.jit import njit
from simcore.kernels.npu.layout import NEVER, NpuLayout

BASE, ARRIVED = 0, 1


class Messages(NamedTuple):
    """M messages, the flows of their numbers.

    Attributes:
        of_node: (T,) message of each send, by its node.
        node: (M,) node of each.
        stage: (M,) stage that sends each.
        arrival: (M, 2) number and time of those that have arrived, in their order.
        clock: (2,) ns from which flows count time, and how many have arrived.
    """

    of_node: Ints
    node: Ints
    stage: Ints
    arrival: Ints
    clock: Ints


@njit(cache=True, error_model="numpy")
def run_with_flows(
    node: Ints,
    npu: Ints,
    at: NpuLayout,
    table: Ints,
    waits: Waits,
    event: Ints,
    counter: Ints,
    memo: Ints,
    messages: Messages,
    routes: Routes,
    flows: Flows,
    slots: Slots,
    sharing: Sharing,
    waiting: Waiting,
    log: Log,
    flow_counter: Ints,
) -> int:
    """Go on until something but a message is to be decided; returns why, see ``schedule.run``."""
    while True:
        why = run(node, npu, at, table, waits, event, counter, memo)
        if why == f.SENDING:
            now = counter[f.NOW]
            count_from(slots, waiting, flow_counter, now - messages.clock[BASE])
            messages.clock[BASE] = now
            for k in range(counter[f.OUTBOX], counter[f.OUTBOX] + counter[f.SENT]):
                flow = messages.of_node[counter[k]]
                begin = routes.latency[flows.route[flow]]
                push(waiting.time, waiting.flow, flow_counter[WAITING], begin, flow)
                flow_counter[WAITING] += 1
            counter[f.SENT] = 0
        elif flow_counter[ACTIVE] + flow_counter[WAITING] > 0 and (
            why == f.FINISHED or why == f.AT_HORIZON
        ):
            due = whole_ns(next_event(slots, waiting, flow_counter))
            flow_counter[ENDED] = 0
            until = due * (1.0 + 2.0 * ROUNDING)
            run_flows(routes, flows, slots, sharing, waiting, log, flow_counter, until)
            for k in range(flow_counter[ENDED]):
                flow = flows.ended[k]
                time = messages.clock[BASE] + min(whole_ns(flows.finish[flow]), due)
                stage = messages.stage[flow]
                what = stage << f.POSITION_BITS | messages.node[flow]
                push_event(event, counter, time, time, what)
                arrived = messages.clock[ARRIVED]
                messages.arrival[arrived, 0], messages.arrival[arrived, 1] = flow, time
                messages.clock[ARRIVED] = arrived + 1
        else:
            return why
        counter[f.HORIZON] = NEVER
        if flow_counter[ACTIVE] + flow_counter[WAITING] > 0:
            due = whole_ns(next_event(slots, waiting, flow_counter))
            counter[f.HORIZON] = messages.clock[BASE] + due - 1
