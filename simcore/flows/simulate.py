"""Flow-level simulation: max-min fair rates over the links of a graph."""

from dataclasses import dataclass

import numpy as np

from simcore.errors import ConfigError, SimulationError
from simcore.graphs.graph import Floats, Ints, NetworkGraph
from simcore.graphs.routing.table import RouteTable
from simcore.kernels.flows.run import NEEDS_LOG, run
from simcore.kernels.flows.state import (
    COUNTERS,
    LOGGED,
    NOWHERE,
    WAITING,
    Flows,
    Log,
    Routes,
    Sharing,
    Slots,
    Waiting,
)
from simcore.kernels.flows.waits import followers_of

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowTable:
    """Flows, as columns.

    Attributes:
        route: (F,) row of the table of routes that each takes.
        size_bytes: (F,) bytes, 0 or more.
        start_ns: (F,) ns after time 0, or after the last of those that it waits for has ended.
        cap_bytes_per_s: (F,) most that each may send; infinite: no cap. None: no flow has one.
        waits_offsets: (F + 1,) where the flows that each waits for begin; None: none waits.
        waits_for: Their numbers.
    """

    route: Ints
    size_bytes: Floats
    start_ns: Floats
    cap_bytes_per_s: Floats | None = None
    waits_offsets: Ints | None = None
    waits_for: Ints | None = None

    def __len__(self) -> int:
        return len(self.route)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FlowResult:
    """Outcome of flows.

    Attributes:
        finish_ns: (F,) when the last byte of each was through.
        link_bytes: (L,) bytes that each link carried.
        rates: For each flow steps of time in ns and rate in bytes/s from then on, where asked for.
    """

    finish_ns: Floats
    link_bytes: Floats
    rates: list[list[tuple[float, float]]] | None

    @property
    def makespan_ns(self) -> float:
        """End of the last flow."""
        return float(self.finish_ns.max(initial=0.0))


def simulate_flows(
    graph: NetworkGraph, routes: RouteTable, flows: FlowTable, *, rates: bool = False
) -> FlowResult:
    """Run *flows* over *graph*: rates are max-min fair at every instant.

    A flow waits for the latency of its route once, then shares links until its bytes are through.
    No link carries more than its capacity, no flow exceeds its cap, and every flow is at its cap
    or crosses a full link on which none is faster. D. Bertsekas and R. Gallager, "Data Networks",
    2nd ed., 1992, section 6.5.2.

    Args:
        graph: The network.
        routes: Routes over its links.
        flows: Their columns.
        rates: Whether rates over time are asked for.

    Raises:
        SimulationError: Flows wait for each other.
    """
    tables = _Tables(graph, routes, flows, rates)
    tables.run(np.inf)
    finish = tables.flows.finish
    if np.isnan(finish).any():
        first = int(np.flatnonzero(np.isnan(finish))[0])
        raise SimulationError(f"flows wait for each other for ever; the first is flow {first}")
    return FlowResult(
        finish_ns=finish,
        link_bytes=_link_bytes(graph, routes, flows),
        rates=tables.rates() if rates else None,
    )


class _Tables:
    """Arrays of one run."""

    def __init__(
        self, graph: NetworkGraph, routes: RouteTable, flows: FlowTable, rates: bool
    ) -> None:
        merged = _merged(routes)
        self.routes = Routes(
            capacity=graph.bytes_per_s / _NS_PER_S,
            offsets=merged.offsets,
            links=merged.links.astype(np.int32),
            parts=merged.parts,
            latency=merged.latency_ns,
        )
        self.flows = flow_arrays(flows)
        count = len(flows)
        width = int(np.diff(merged.offsets).max(initial=1))
        if count * max(width, 1) >= 2**31:
            rule = f"must number less than {2**31 // max(width, 1):,} with routes of {width} links"
            raise ConfigError("flows", rule, got=count)
        self.slots = slot_arrays(count, max(width, 1))
        self.sharing = sharing_arrays(graph.links, count)
        self.counter = np.zeros(COUNTERS, np.int64)
        self.log = log_arrays(8 * count + 64 if rates else 0)
        self.waiting = self._those_that_start()

    def _those_that_start(self) -> Waiting:
        free = np.flatnonzero(self.flows.waits == 0)
        begin = self.flows.start[free] + self.routes.latency[self.flows.route[free]]
        order = np.lexsort((free, begin))
        waiting = Waiting(np.empty(len(self.flows.size)), np.empty(len(self.flows.size), np.int64))
        waiting.time[: len(free)] = begin[order]  # an array in order is a heap
        waiting.flow[: len(free)] = free[order]
        self.counter[WAITING] = len(free)
        return waiting

    def run(self, until_ns: float) -> None:
        """Run up to and including a time."""
        arrays = self.routes, self.flows, self.slots, self.sharing, self.waiting
        while run(*arrays, self.log, self.counter, until_ns) == NEEDS_LOG:
            longer = log_arrays(2 * len(self.log.time))
            for old, new in zip(self.log, longer, strict=True):
                new[: len(old)] = old
            self.log = longer

    def rates(self) -> list[list[tuple[float, float]]]:
        """Steps of each flow."""
        steps: list[list[tuple[float, float]]] = [[] for _ in range(len(self.flows.size))]
        count = self.counter[LOGGED]
        rates = self.log.rate[:count] * _NS_PER_S
        columns = self.log.time[:count].tolist(), self.log.flow[:count].tolist(), rates.tolist()
        for time, flow, rate in zip(*columns, strict=True):
            steps[flow].append((time, rate))
        return steps


def _merged(routes: RouteTable) -> RouteTable:
    """Routes with each link once per route: a half-duplex cable may be passed twice."""
    at = np.repeat(np.arange(len(routes)), np.diff(routes.offsets))
    most = int(routes.links.max(initial=0)) + 1
    keys, first, inverse = np.unique(
        at * most + routes.links, return_index=True, return_inverse=True
    )
    if len(keys) == len(routes.links):
        return routes
    parts = np.bincount(inverse, routes.parts, len(keys)).astype(np.float64)
    order = np.argsort(first, kind="stable")  # links stay in the order in which they are passed
    links, of_route = (keys % most)[order], (keys // most)[order]
    offsets = np.searchsorted(of_route, np.arange(len(routes) + 1))
    return RouteTable(
        offsets=offsets.astype(np.int64),
        links=links,
        parts=parts[order],
        latency_ns=routes.latency_ns,
    )


def flow_arrays(flows: FlowTable) -> Flows:
    """Flows that have not begun."""
    count = len(flows)
    offsets, waits_for = flows.waits_offsets, flows.waits_for
    if offsets is None or waits_for is None:
        waits = np.zeros(count, np.int64)
        after, followers = np.zeros(count + 1, np.int64), np.zeros(0, np.int64)
    else:
        waits = np.diff(offsets)
        after, followers = followers_of(offsets, waits_for)
    cap = flows.cap_bytes_per_s
    return Flows(
        route=flows.route,
        size=flows.size_bytes,
        start=flows.start_ns,
        cap=np.full(count, np.inf) if cap is None else cap / _NS_PER_S,
        waits=waits,
        released=np.zeros(count),
        offsets=after,
        followers=followers,
        finish=np.full(count, np.nan),
        ended=np.empty(count, np.int64),
    )


def slot_arrays(count: int, width: int) -> Slots:
    """Slots for *count* flows in transfer with routes of at most *width* links.

    Memory is taken by the system as slots are first used, of which there are as many as flows are
    in transfer at once.
    """
    return Slots(
        flow=np.empty(count, np.int64),
        rate=np.empty(count),
        new_rate=np.empty(count),
        left=np.empty(count),
        since=np.empty(count),
        ends=np.empty(count),
        bottleneck=np.empty(count, np.int64),
        stamp=np.zeros(count, np.int64),
        frozen=np.zeros(count, np.bool_),
        place=np.empty(count, np.int64),
        order=np.empty(count, np.int64),
        unused=np.empty(count, np.int64),
        after=np.empty(count * width, np.int32),
        before=np.empty(count * width, np.int32),
    )


def sharing_arrays(links: int, count: int) -> Sharing:
    """Links while rates are worked out, of *count* flows in transfer at most."""
    return Sharing(
        head=np.full(links, NOWHERE, np.int32),
        stamp=np.zeros(links, np.int64),
        room=np.zeros(links),
        weight=np.zeros(links),
        open=np.zeros(links, np.int64),
        fixed=np.zeros(links, np.int64),
        level=np.zeros(links),
        fastest=np.zeros(links),
        touched=np.empty(links, np.int64),
        group=np.empty(count, np.int64),
        freed=np.empty(links, np.int64),
        key=np.empty(links + count),
        what=np.empty(links + count, np.int64),
    )


def log_arrays(count: int) -> Log:
    """Room for so many changes of rates."""
    return Log(np.empty(count), np.empty(count, np.int64), np.empty(count))


def _link_bytes(graph: NetworkGraph, routes: RouteTable, flows: FlowTable) -> Floats:
    """Bytes of each link: size times part, over all flows."""
    of_route = np.bincount(flows.route, flows.size_bytes, len(routes))
    carried = np.repeat(of_route, np.diff(routes.offsets)) * routes.parts
    return np.bincount(routes.links, carried, graph.links).astype(np.float64)


def simulate_at_once(graph: NetworkGraph, routes: RouteTable, size_bytes: float) -> FlowResult:
    """Simulate one flow of *size_bytes* on each of *routes*, all from time 0, without latency."""
    still = RouteTable(
        offsets=routes.offsets,
        links=routes.links,
        parts=routes.parts,
        latency_ns=np.zeros(len(routes)),
    )
    count = len(routes)
    flows = FlowTable(
        route=np.arange(count), size_bytes=np.full(count, size_bytes), start_ns=np.zeros(count)
    )
    return simulate_flows(graph, still, flows)
