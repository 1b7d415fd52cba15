"""Arrays of flows whose senders react to what links tell them.

F flows, L links, E entries (a link of a flow's way forth), H steps that are remembered. Sizes are
bytes on the wire, times ns, rates bytes per ns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.flows.state import Floats, Ints

WAITS, SENDS, ENDS, ENDED = range(4)
"""Stages of a flow: before it begins, before its last byte is through, on the way back, over."""

NOT_YET = -1.0
"""Time at which a last byte leaves a link that it has just come to."""

# What every sender knows: its rate, bytes sent and acknowledged; the rest is the control's own.
RATE, SENT, KNOWN, OWN = range(4)
COLUMNS = 12


class Ways(NamedTuple):
    """Ways of flows, and of their acknowledgements.

    Attributes:
        capacity: (L,) of each link.
        offsets: (F + 1,) where the entries of each flow begin.
        links: (E,) link of each.
        told: (E,) steps from when a byte leaves a link until its sender knows.
        back_offsets: (F + 1,) where the links of each way back begin.
        back_links: Links of all ways back.
    """

    capacity: Floats
    offsets: Ints
    links: Ints
    told: Ints
    back_offsets: Ints
    back_links: Ints


class Senders(NamedTuple):
    """Flows, as their senders see them.

    Attributes:
        size: (F,) bytes.
        packet: (F,) bytes of a packet.
        line: (F,) rate at which each may send at most: that of its first link, or its cap.
        window: (F,) most bytes under way at full rate; infinite: no window.
        idle: (F,) time of a packet there and of its acknowledgement back, on idle links.
        ack: (F,) bytes that come back for each that has arrived.
        back: (F,) steps until a sender knows of what has arrived.
        late: (F,) time of the last packet and its acknowledgement on idle links, but for the first.
        start: (F,) ns after those that it waits for have ended.
        offsets: (F + 1,) where those that wait for each begin.
        followers: Flows that wait.
    """

    size: Floats
    packet: Floats
    line: Floats
    window: Floats
    idle: Floats
    ack: Floats
    back: Ints
    late: Floats
    start: Floats
    offsets: Ints
    followers: Ints


class Moving(NamedTuple):
    """State of flows and links.

    Attributes:
        stage: (F,) see above.
        waits: (F,) flows that each still waits for.
        begin: (F,) when it begins, if it waits for none.
        finish: (F,) when it ended.
        sender: (F, COLUMNS) what each sender knows.
        wanted: (F,) bytes that each sends in this step.
        arrived: (F,) bytes of each that have arrived.
        last: (F,) entry at which the last byte of each stands; 0: it is not sent.
        leaves: (F, 2) when it leaves that link: in the model, which takes a step for each link, and
            really.
        held: (E,) bytes that stand before a link.
        seen: (E, 2) what was last told of a link: bytes that it had passed, its queue.
        under_way: (F,) flows that have begun.
        queue: (L,) bytes before each link.
        passed: (L,) bytes that each has passed.
        acks: (L,) bytes of acknowledgements that come to each.
        share: (L,) part of its queue that each passes in this step, or level of what flows send.
        room: (L,) bytes that each can pass in this step.
        open: (L,) flows that share a link to send on.
        queues: (L, H) queues, step by step.
        passes: (L, H) bytes passed, step by step.
        arrivals: (F, H) bytes arrived, step by step.
        sends_on: (L,) true where some flow begins.
        came: (E, D) bytes that came before a link, by the step in which they did.
        came_all: (L, D) of all flows.
        first: (L, 2) step of the bytes that stand first in a queue, and the one after those that
            the link passes in this step.
        waited: (L, H) ns for which the bytes that leave a link have stood before it, step by step.
        gone: (L, 2) parts that have gone of what came in these steps.
    """

    stage: Ints
    waits: Ints
    begin: Floats
    finish: Floats
    sender: Floats
    wanted: Floats
    arrived: Floats
    last: Ints
    leaves: Floats
    held: Floats
    seen: Floats
    under_way: Ints
    queue: Floats
    passed: Floats
    acks: Floats
    share: Floats
    room: Floats
    open: Ints
    queues: Floats
    passes: Floats
    arrivals: Floats
    sends_on: NDArray[np.bool_]
    came: Floats
    came_all: Floats
    first: Ints
    waited: Floats
    gone: Floats
