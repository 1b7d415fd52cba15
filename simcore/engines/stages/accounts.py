"""Totals of an iteration, and the time by what NPUs did, counted again from its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.engines.stages.counts import NodeCounts
from simcore.engines.stages.lowering import Lowered
from simcore.engines.stages.times import MessageTimes
from simcore.kernels.npu import layout as n
from simcore.machine import Dimension

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WorkTotals:
    """Sums over the nodes of an iteration.

    Attributes:
        nodes: Nodes, on one NPU per stage.
        matrix_flop: FLOP of matrix products and attention on one NPU of each stage, added up.
        sent_bytes: (D,) float64, bytes that one NPU sends in each dimension, mean over the stages.
        link_bytes: (D,) float64, bytes that pass the ports of one NPU in each dimension, with
            those of dimensions that share them: what the NPUs of the stage that sends most send,
            or with what NPUs of a ring pass on, the mean over all NPUs.
        held_ns: How long members of a stage's collectives may have waited at most, done with a
            phase, for its last member; 0 where all behave alike.
    """

    nodes: int
    matrix_flop: float
    sent_bytes: Floats
    link_bytes: Floats
    held_ns: int


def count_work(
    counts: NodeCounts,
    dimensions: Sequence[Dimension],
    times: Sequence[CollectiveTime | None],
    messages: MessageTimes,
) -> WorkTotals:
    """Add up all nodes.

    Args:
        counts: How often each stage does what.
        dimensions: Of the network.
        times: Of each collective; None where its members are at several stages.
        messages: Which way those between stages take.
    """
    stages, count = counts.collectives.shape[0], len(dimensions)
    own, passed = _message_bytes(counts, messages, count)
    sent = own.sum(axis=0)
    held = 0
    if times:
        nothing = (0.0,) * (2 * count)
        traffic = np.array([time.traffic if time else nothing for time in times])
        whole = counts.collectives.sum(axis=0) @ traffic
        sent, passed = sent + whole[:count], passed + whole[count:]
        own += counts.collectives @ traffic[:, :count] if stages > 1 else sent
        each = [time.held_ns if time else 0 for time in times]
        if any(each):
            held = int((counts.collectives @ np.array(each)).max())
    passed /= stages
    for d in reversed(range(1, count)):
        if dimensions[d].shares_ports:
            own[:, d - 1] += own[:, d]
            passed[d - 1] += passed[d]
    return WorkTotals(
        nodes=counts.nodes,
        matrix_flop=counts.matrix_flop,
        sent_bytes=sent / stages,
        link_bytes=np.maximum(own.max(axis=0), passed),
        held_ns=held,
    )


def _message_bytes(
    counts: NodeCounts, messages: MessageTimes, dimensions: int
) -> tuple[Floats, Floats]:
    """(S, D) bytes of the messages that each stage sends, and (D,) that all of them pass links."""
    stages = messages.dimension.shape[1]
    if stages == 1:
        return np.zeros((1, dimensions)), np.zeros(dimensions)
    sizes, place = counts.sent_bytes.ravel(), messages.dimension
    each = (np.arange(stages) * dimensions + place).ravel()
    own = _sums(each, sizes, stages * dimensions).reshape(stages, dimensions)
    if np.maximum.reduce(messages.passes, axis=None) <= 1:
        return own, own.sum(axis=0)
    return own, _sums(place.ravel(), sizes * messages.passes.ravel(), dimensions)


def _sums(place: Ints, amount: Floats, places: int) -> Floats:
    """(P,) float64: what comes together at each of *places*."""
    return np.asarray(np.bincount(place, amount, places), np.float64)


def book(lowered: Lowered, start_ns: Ints, end_ns: Ints) -> Ints:
    """Time by what each stage's NPU did, from when each node ran.

    Where several nodes are under way, the time is that of the compute node that took the lowest
    slot, or else of the communication that did. Of two communications that begin at once, the one
    at the lower position counts as the first, which need not be so with several streams.

    Returns:
        (S, C + 1) int64 ns: compute first, then communication that no compute hides, then idle.
    """
    stages, categories = lowered.stage_start.size - 1, len(lowered.categories)
    booked = np.zeros((stages, categories + 1), np.int64)
    begin_ns = np.minimum(_after_all_have_started(lowered, start_ns), end_ns)
    for stage in range(stages):
        nodes = slice(lowered.stage_start[stage], lowered.stage_start[stage + 1])
        kind = lowered.node[nodes, n.KIND]
        category = lowered.node[nodes, n.CATEGORY]
        computes = kind == n.COMPUTE
        covered = _Covered()
        for lane in (computes, ~computes & (kind != n.RECV)):
            own = np.flatnonzero(lane)
            slot = _slots(start_ns[nodes][own], end_ns[nodes][own])
            for number in range(int(slot.max(initial=-1)) + 1):
                at = own[slot == number]
                first, last = begin_ns[nodes][at], end_ns[nodes][at]
                np.add.at(booked[stage], category[at], covered.add(first, last))
        booked[stage, -1] = end_ns.max() - booked[stage, :-1].sum()
    return booked


def _after_all_have_started(lowered: Lowered, start_ns: Ints) -> Ints:
    """Start of each node; of a shared collective, the start of its last member."""
    start = start_ns.copy()
    for collective in lowered.shared:
        nodes = list(collective.nodes)
        start[nodes] = start_ns[nodes].max()
    return start


def _slots(start: Ints, end: Ints) -> Ints:
    """The slot of each node, (N,) int64, where each takes the lowest one that is free."""
    slot = np.zeros(start.size, np.int64)
    free_from: list[int] = []
    ends = end.tolist()
    for at in np.lexsort((np.arange(start.size), start)).tolist():
        begin = int(start[at])
        number = next((n for n, time in enumerate(free_from) if time <= begin), len(free_from))
        if number == len(free_from):
            free_from.append(0)
        free_from[number] = ends[at]
        slot[at] = number
    return slot


class _Covered:
    """Times at which an NPU is known to do something, as intervals that do not touch."""

    def __init__(self) -> None:
        self._start, self._end = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def add(self, start: Ints, end: Ints) -> Ints:
        """Cover further intervals, (N,) each, which do not overlap one another.

        Returns:
            (N,) int64, how much of each was not covered before.
        """
        fresh = end - start - (self._until(end) - self._until(start))
        start, end = np.append(self._start, start), np.append(self._end, end)
        order = np.lexsort((end, start))
        start, end = start[order], np.maximum.accumulate(end[order])
        if start.size:
            begins = np.append(True, start[1:] > end[:-1])
            self._start, self._end = start[begins], end[np.append(begins[1:], True)]
        return np.asarray(fresh, np.int64)

    def _until(self, time: Ints) -> Ints:
        """Time covered up to each *time*."""
        if not self._start.size:
            return np.zeros_like(time)
        before = np.append(0, np.cumsum(self._end - self._start))
        begun = np.searchsorted(self._start, time, side="right")
        running = np.where(begun > 0, np.maximum(self._end[begun - 1] - time, 0), 0)
        return np.asarray(before[begun] - running, np.int64)
