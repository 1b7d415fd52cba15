"""Runs a case packet by packet, and reads off what happened."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simcore.errors import SimulationError
from simcore.kernels.packets import layout as f
from simcore.kernels.packets.run_loop import call_flows, count_flying, plan_sample, run_packets
from simcore.packets.case import Case
from simcore.packets.image import Image, build_image
from simcore.packets.link_changes import LinkChanges
from simcore.packets.waiting import Progress, who_waits

Ints = NDArray[np.int64]
OnRows = Callable[[Ints], None]
"""Takes (T, 8) rows of the trace; see ``layout``."""

_ROWS = 1 << 14
FLOW_COLUMNS = (
    "id", "start_ns", "finish_ns", "fct_ns", "last_byte_at_receiver_ns", "pkts_received",
    "pkts_ecn_marked",
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """Result of one run.

    Attributes:
        is_complete: Every flow has ended.
        message: Who waits for what, where not.
        flows: Rows of ``FLOW_COLUMNS``; None: it never came to that.
        pauses: Frames that told a port to pause, as received.
        drops: Packets that switches had no room for.
        lost: Packets that links lost.
        queues: Switch, neighbour, largest queue in bytes on the way to it.
        events: Events carried out.
    """

    is_complete: bool
    message: str
    flows: list[list[int | None]]
    pauses: int
    drops: int
    lost: int
    queues: list[list[int]]
    events: int


class Watch(Protocol):
    """Looks at a run from time to time."""

    every_ns: int

    def take(self, image: Image) -> None: ...


def run_case(
    case: Case, seed: int = 1, on_rows: OnRows | None = None, watch: Watch | None = None
) -> Outcome:
    """Simulate a case.

    Args:
        case: Network, flows and parameters.
        seed: Of the random numbers, where marks or losses are random.
        on_rows: Called with rows of the trace: each packet that a host receives.
        watch: Called once in so many ns; changes nothing.

    Raises:
        ConfigError: The network cannot be run with these parameters.
    """
    image = build_image(case, seed)
    changes = LinkChanges(case.topology.changes, image, case.parameters)
    status = carry_out(image, on_rows, watch, changes)
    arena = image.arena
    message = who_waits(case, image) if status == f.STUCK else ""
    return Outcome(
        is_complete=status == f.ENDED,
        message=message,
        flows=_flow_rows(case, image),
        pauses=int(arena[f.PAUSES]),
        drops=int(arena[f.DROPS]),
        lost=int(arena[f.LOST_PACKETS]),
        queues=_queues(image),
        events=int(arena[f.EVENTS]),
    )


def carry_out(
    image: Image,
    on_rows: OnRows | None = None,
    watch: Watch | None = None,
    changes: LinkChanges | None = None,
) -> int:
    """Run what is in *image* until it ends or is stuck; which of the two."""
    trace = np.zeros(f.TRACE_WORDS * (_ROWS if on_rows else 1), np.int64)
    image.arena[f.TRACING] = on_rows is not None
    call_flows(image.arena)
    progress = Progress()
    if watch is not None:
        plan_sample(image.arena, watch.every_ns)
    while True:
        status = int(run_packets(image.arena, image.reals, trace))
        if status == f.SAMPLED and watch is not None:
            watch.take(image)
            plan_sample(image.arena, int(image.arena[f.NOW_NS]) + watch.every_ns)
        if status == f.PAUSED:
            acked = int(image.flow_table[:, f.Q_ACKED].sum())
            status = status if progress.is_made(image, acked) else f.STUCK
        if status == f.FULL:
            image.grow(max(int(image.arena[f.NEEDED_WORDS]), 2 * image.arena.size))
            continue
        if status == f.REROUTES and changes is not None:
            begun = image.flow_table[:, f.Q_START_NS] >= 0
            left = np.flatnonzero(begun & (image.flow_table[:, f.Q_FINISH_NS] < 0))
            changes.reroute(image, (image.flows + f.Q_WORDS * left).tolist())
        if on_rows is not None:
            rows = trace.reshape(-1, f.TRACE_WORDS)
            on_rows(rows[: image.arena[f.TRACE_ROWS]].copy())
            image.arena[f.TRACE_ROWS] = 0
        if status in (f.ENDED, f.STUCK):
            _check_conservation(image)
            return status


def _check_conservation(image: Image) -> None:
    """Every packet was received, was dropped or lost, or is still on its way."""
    arena = image.arena
    flying = count_flying(arena, image.ports, image.network.owner.size)
    ends = [int(arena[word]) for word in (f.TAKEN_PACKETS, f.DROPS, f.LOST_PACKETS)]
    sent = int(arena[f.SENT_PACKETS])
    if sent != sum(ends) + flying:
        told = f"{ends[0]} received, {ends[1]} dropped, {ends[2]} lost, {flying} on their way"
        raise SimulationError(f"{sent} packets were sent, but {told}")


def _flow_rows(case: Case, image: Image) -> list[list[int | None]]:
    table = image.flow_table
    start, finish = table[:, f.Q_START_NS].tolist(), table[:, f.Q_FINISH_NS].tolist()
    last = table[:, f.Q_LAST_BYTE_NS].tolist()
    taken, marked = table[:, f.Q_TAKEN].tolist(), table[:, f.Q_MARKED].tolist()
    rows: list[list[int | None]] = []
    for index, name in enumerate(case.flows.ids):
        times = [None if time < 0 else time for time in (start[index], finish[index], last[index])]
        fct = None if times[1] is None else finish[index] - start[index]
        counts = [None, None] if fct is None else [taken[index], marked[index]]
        rows.append([name, times[0], times[1], fct, times[2], *counts])
    return rows


def _queues(image: Image) -> list[list[int]]:
    owner = image.network.owner
    found = [
        [int(owner[port]), int(owner[port ^ 1]), int(most)]
        for port, most in enumerate(image.port_table[:, f.PORT_MOST])
        if most > 0
    ]
    return sorted(found)
