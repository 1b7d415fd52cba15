"""Proof by replay that a schedule does what its collective asks for."""

import numpy as np

from simcore.errors import SimulationError
from simcore.kernels.synthesis.replaying import EMPTY, FINE, TWICE, replay_all
from simcore.synthesis.fabric import Fabric, Floats, Ints
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER
from simcore.synthesis.schedule import Schedule

_ROUNDING = 1e-9

_SAID = {
    EMPTY: "a node sends what it does not hold then",
    TWICE: "a contribution is counted twice",
}


def check(schedule: Schedule, fabric: Fabric) -> None:
    """Replay a schedule on its network.

    Links must not be shared; nothing is sent before it is there, by a switch
    before it comes in as fast as it leaves; each NPU ends with each chunk that
    the collective gives it; each contribution counts once; NPUs pass on what is not for them only
    where they may.

    Raises:
        SimulationError: It does something else, with the first place where it does.
    """
    slack = _ROUNDING * max(schedule.time, 1e-300)
    takes = schedule.part / fabric.rate[schedule.link]
    arrival = schedule.start + takes + fabric.latency[schedule.link]
    _refuse_wrong_arcs(schedule, fabric)
    order = np.lexsort((schedule.start, schedule.link))
    early = schedule.start[order][1:] < (schedule.start + takes)[order][:-1] - slack
    shared = early & (schedule.link[order][1:] == schedule.link[order][:-1])
    if shared.any():
        link = schedule.link[order][1:][np.argmax(shared)]
        raise SimulationError(f"schedule: no link must carry two chunks at once; link {link} does")
    if schedule.sends and not arrival.max() <= schedule.time + slack:
        raise SimulationError("schedule: its time must be that of the last arrival, and is less")
    chunk, wrong = _played(schedule, fabric, takes, slack)
    if wrong != FINE:
        said = _SAID.get(wrong, "an NPU ends without it")
        raise SimulationError(f"schedule: chunk {chunk} must reach its NPUs; {said}")


def _refuse_wrong_arcs(schedule: Schedule, fabric: Fabric) -> None:
    size = fabric.nodes
    there = (fabric.tail * size + fabric.head) * max(fabric.links, 1) + fabric.link
    used = (schedule.tail * size + schedule.head) * max(fabric.links, 1) + schedule.link
    if not np.isin(used, there).all():
        raise SimulationError("schedule: every send must go along a link of the network")
    if schedule.kind == ALL_TO_ALL and not fabric.npus_forward:
        strange = schedule.head != schedule.target[schedule.chunk]
        if (strange & (schedule.head < fabric.npus)).any():
            raise SimulationError("schedule: NPUs must not pass on chunks here, and one does")


def _played(schedule: Schedule, fabric: Fabric, takes: Floats, slack: float) -> tuple[int, int]:
    chunks = len(schedule.owner)
    order = np.argsort(schedule.chunk, kind="stable")
    chunk = schedule.chunk[order]
    begins = np.searchsorted(chunk, np.arange(chunks + 1)).astype(np.int64)
    start, done = schedule.start[order], (schedule.start + takes)[order]
    latency = fabric.latency[schedule.link[order]]
    begun = np.where(schedule.head[order] >= fabric.npus, start, done) + latency
    by_begin = np.lexsort((begun, chunk)) - begins[chunk]
    sums = schedule.kind in (REDUCE_SCATTER, ALL_REDUCE)
    holder = np.full(chunks, -1, np.int64) if sums else schedule.owner
    keeper = schedule.target if schedule.kind == ALL_TO_ALL else schedule.owner
    found = replay_all(
        fabric.npus,
        fabric.nodes,
        fabric.copies,
        fabric.reduces,
        schedule.kind in (ALL_GATHER, ALL_REDUCE),
        begins,
        schedule.tail[order],
        schedule.head[order],
        schedule.joins[order],
        _small(schedule.flight[order], chunk, begins),
        start,
        done,
        begun,
        done + latency,
        by_begin,
        slack,
        holder,
        keeper,
    )
    return int(found[0]), int(found[1])


def _small(flight: Ints, chunk: Ints, begins: Ints) -> Ints:
    """Flights (S,) of each chunk, counted from 0."""
    order = np.lexsort((flight, chunk))
    new = np.ones(len(flight), np.bool_)
    new[1:] = (flight[order][1:] != flight[order][:-1]) | (chunk[order][1:] != chunk[order][:-1])
    count = np.cumsum(new) - 1
    found = np.empty(len(flight), np.int64)
    found[order] = count - count[begins[chunk[order]]]
    return found
