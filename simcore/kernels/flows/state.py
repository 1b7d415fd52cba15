"""Arrays of a run of flows.

A flow in transfer has a *slot*. Slot s has an *entry* for the k-th link of its route, number
``s * width + k``; the entries on a link are a list in both directions, so that a flow enters and
leaves in the time of its route. Sizes are bytes, times ns, rates and capacities bytes per ns.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Places = NDArray[np.int32]
Floats = NDArray[np.float64]

CAPPED = -1
"""Bottleneck of a flow that its own cap holds."""
NOWHERE = -1

ROUNDING = 1e-12
"""Part of a time by which it may lie above a whole number of ns and still be that one."""

ACTIVE, UNUSED, WAITING, LOGGED, STAMP, ENDED, HEAP, GROUP, FREED = np.arange(9)
"""Counters: slots in use, slots given back, flows on their way to transfer, steps in the log, the
last stamp, flows that ended, events of the filling, slots whose rates are asked for, links that
flows have left."""
COUNTERS = 9


class Routes(NamedTuple):
    """Links and routes.

    Attributes:
        capacity: (L,) of each link.
        offsets: (R + 1,) where the links of each route begin.
        links: Links of all routes; each once per route.
        parts: Part of the flow's rate that each link carries.
        latency: (R,) ns of each route.
    """

    capacity: Floats
    offsets: Ints
    links: Places
    parts: Floats
    latency: Floats


class Flows(NamedTuple):
    """Flows, and when they end.

    Attributes:
        route: (F,) route of each.
        size: (F,) bytes.
        start: (F,) ns after the release.
        cap: (F,) most bytes per ns; infinite: none.
        waits: (F,) flows that it still waits for.
        released: (F,) latest end of those that it waited for.
        offsets: (F + 1,) where those that wait for each begin.
        followers: Flows that wait.
        finish: (F,) when it ended; NaN before.
        ended: (F,) flows that ended, in order.
    """

    route: Ints
    size: Floats
    start: Floats
    cap: Floats
    waits: Ints
    released: Floats
    offsets: Ints
    followers: Ints
    finish: Floats
    ended: Ints


class Slots(NamedTuple):
    """Flows in transfer.

    Attributes:
        flow: (S,) flow of each slot.
        rate: (S,) present rate.
        new_rate: (S,) rate that is being worked out.
        left: (S,) bytes left at ``since``.
        since: (S,) when the rate last changed.
        ends: (S,) when it ends at this rate.
        bottleneck: (S,) full link on which no flow is faster; ``CAPPED``.
        stamp: (S,) equal to the present stamp: its rate is being worked out.
        frozen: (S,) whether the new rate is known.
        place: (S,) place in ``order``.
        order: (S,) slots as a heap by ``ends``.
        unused: (S,) slots given back, last first.
        after: (S width,) next entry on the same link.
        before: (S width,) entry before.
    """

    flow: Ints
    rate: Floats
    new_rate: Floats
    left: Floats
    since: Floats
    ends: Floats
    bottleneck: Ints
    stamp: Ints
    frozen: NDArray[np.bool_]
    place: Ints
    order: Ints
    unused: Ints
    after: Places
    before: Places


class Sharing(NamedTuple):
    """Links while rates are worked out.

    Attributes:
        head: (L,) first entry on each link.
        stamp: (L,) tells whether the link is touched in this round, or was left.
        room: (L,) capacity that is not given away.
        weight: (L,) parts of the flows without a new rate.
        open: (L,) flows without a new rate.
        fixed: (L,) flows that keep their rate.
        level: (L,) rate at which the link filled up; below 0: it did not.
        fastest: (L,) fastest new rate on it.
        touched: (L,) links touched.
        group: (S,) slots whose rates are worked out.
        freed: (L,) links that flows have left at this instant.
        key: Heap of what fills up next: its level.
        what: Link, or -1 - slot of a flow that reaches its cap.
    """

    head: Places
    stamp: Ints
    room: Floats
    weight: Floats
    open: Ints
    fixed: Ints
    level: Floats
    fastest: Floats
    touched: Ints
    group: Ints
    freed: Ints
    key: Floats
    what: Ints


class Waiting(NamedTuple):
    """Flows on their way to transfer, a heap by time, then number.

    Attributes:
        time: When each begins its transfer.
        flow: Its number.
    """

    time: Floats
    flow: Ints


class Log(NamedTuple):
    """Changes of rates.

    Attributes:
        time: When.
        flow: Of which flow.
        rate: Its rate from then on.
    """

    time: Floats
    flow: Ints
    rate: Floats
