"""Messages between stages that have fair parts of links, one for all of their pair of stages.

A message of a pair loads each link of a class with what all of the pair do. Flows count time from
the last message that began, so that what they do depends on nothing but how long ago others did.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from simcore.engines.classes.sends import Sends
from simcore.engines.classes.state import ClassState
from simcore.engines.events.input import Ints
from simcore.flows.simulate import FlowTable, flow_arrays, log_arrays, sharing_arrays, slot_arrays
from simcore.kernels.classes.carried import ARRIVED, Messages, run_with_flows
from simcore.kernels.flows.state import ACTIVE, COUNTERS, WAITING, Routes, Waiting
from simcore.kernels.npu.layout import NEVER


class FairSends(Sends):
    """Messages that have max-min fair parts of links."""

    def _make_network(self, nodes: int) -> None:
        sent, count = self.sent, len(self.sent.node)
        of_node = np.zeros(nodes, np.int64)
        of_node[sent.node] = np.arange(count)
        self._messages = Messages(
            of_node=of_node,
            node=sent.node,
            stage=sent.source,
            arrival=np.empty((count, 2), np.int64),
            clock=np.zeros(2, np.int64),
        )
        self._routes, number = self._routes_of_pairs()
        table = FlowTable(
            route=np.array([number[pair] for pair in sent.pairs], np.int64),
            size_bytes=sent.size_bytes.astype(np.float64),
            start_ns=np.zeros(count),
        )
        self._width = int(np.diff(self._routes.offsets).max(initial=1))
        self._flows = flow_arrays(table)
        self._slots = slot_arrays(count, self._width)
        self._sharing = sharing_arrays(len(self.ways.bytes_per_ns), count)
        self._waiting = Waiting(np.empty(count), np.empty(count, np.int64))
        self._counter = np.zeros(COUNTERS, np.int64)
        self._log = log_arrays(0)

    def _routes_of_pairs(self) -> tuple[Routes, dict[tuple[int, int], int]]:
        ways = list(self.ways.of_pair.values())
        lengths = [len(way.links) for way in ways]
        routes = Routes(
            capacity=self.ways.bytes_per_ns,
            offsets=np.cumsum([0, *lengths]),
            links=np.concatenate([way.links for way in ways]).astype(np.int32),
            parts=np.concatenate([way.parts for way in ways]),
            latency=np.array([way.latency_ns for way in ways]),
        )
        return routes, {pair: number for number, pair in enumerate(self.ways.of_pair)}

    def run(self, state: ClassState) -> int:
        return run_with_flows(
            *state.arrays, state.memo, self._messages, self._routes, self._flows, self._slots,
            self._sharing, self._waiting, self._log, self._counter,
        )  # fmt: skip

    def situation(self, now_ns: int, before: Ints) -> Iterator[NDArray[np.generic]]:
        node, slots = self.sent.node - before, self._slots
        yield self._messages.clock[:1] - now_ns
        waiting = int(self._counter[WAITING])
        later = np.lexsort((self._waiting.flow[:waiting], self._waiting.time[:waiting]))
        yield self._waiting.time[later]
        yield node[self._waiting.flow[later]]
        active = slots.order[: int(self._counter[ACTIVE])]
        active = active[np.argsort(slots.flow[active])]
        yield node[slots.flow[active]]
        for column in (slots.left, slots.since, slots.rate, slots.ends, slots.bottleneck):
            yield column[active]
        # the order in which flows stand on a link is that in which their rates are summed up
        lengths = np.diff(self._routes.offsets)[self._flows.route[slots.flow[active]]]
        entries = active[:, None] * self._width + np.arange(self._width)
        behind = slots.after[entries[np.arange(self._width) < lengths[:, None]]].astype(np.int64)
        found = node[slots.flow[np.maximum(behind, 0) // self._width]]
        yield np.where(behind < 0, NEVER, found)

    def arrivals(self) -> Ints:
        arrival = self._messages.arrival[: int(self._messages.clock[ARRIVED])]
        return arrival[:, [0, 1, 1]]
