"""Flows whose senders react to congestion: a fluid in steps, by the rules of a control."""

from dataclasses import dataclass

import numpy as np

from simcore.errors import ConfigError, SimulationError
from simcore.flows.controls import FlowControl
from simcore.flows.simulate import FlowResult, FlowTable
from simcore.graphs.graph import Floats, Ints, NetworkGraph
from simcore.graphs.routing.table import RouteTable
from simcore.kernels.flows.controlled import run_controlled
from simcore.kernels.flows.controlled_state import COLUMNS, Moving, Senders, Ways
from simcore.kernels.flows.waits import followers_of

STEP_NS = 250.0
"""Length of a step; as many of 81 recorded cases are near with a quarter or twice of it."""
_LEAST_STEPS, _MOST_STEPS, _ROOM = 64, 8192, 1 << 22
"""Steps of which it is kept what came: queues of 2 ms, or less where flows are many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestTrip:
    """Round trip and bytes by which senders are configured.

    Attributes:
        ns: A packet's payload there and nothing back, when idle, of the longest pair.
        window_bytes: Most that such a pair has under way.
    """

    ns: float
    window_bytes: float


def simulate_controlled(
    graph: NetworkGraph,
    ways: RouteTable,
    back: RouteTable,
    flows: FlowTable,
    control: FlowControl,
    longest: LongestTrip | None = None,
) -> FlowResult:
    """Run *flows* over *graph*, whose senders change their rates as *control* says.

    A fluid: links pass what stands before them in parts of all, senders know of queues, marks and
    utilisations later by the time on idle links. Packets are counted, with headers and
    acknowledgements. Fluid models of the controls: Y. Zhu et al., "ECN or Delay: Lessons Learnt
    from Analysis of DCQCN and TIMELY", CoNEXT 2016.

    Args:
        graph: The network.
        ways: Of the flows, none of them spread.
        back: Of acknowledgements, one for each way.
        flows: Their columns; sizes without headers.
        control: What senders do.
        longest: By what windows and round trips are configured; None: by the flows' own ways.

    Raises:
        ConfigError: A way is spread, or has no link.
        SimulationError: Flows wait for each other.
    """
    _check(ways)
    own = _Tables(graph, ways, back, flows, control, longest)
    if not run_controlled(
        own.ways, own.senders, own.moving, control.code, own.given, np.array([STEP_NS, 0.0])
    ):
        first = int(np.flatnonzero(np.isnan(own.moving.finish))[0])
        raise SimulationError(f"flows wait for each other for ever; the first is flow {first}")
    return FlowResult(finish_ns=own.moving.finish, link_bytes=own.moving.passed, rates=None)


def _check(ways: RouteTable) -> None:
    if (ways.parts < 1.0).any():
        rule = "must keep a flow on one way where senders react (control)"
        raise ConfigError("routing", rule, got="a way that is spread")
    if (np.diff(ways.offsets) == 0).any():
        first = int(np.flatnonzero(np.diff(ways.offsets) == 0)[0])
        rule = "must have links where senders react (control)"
        raise ConfigError(f"flows[{first}].route", rule, got="a flow of an NPU to itself")


class _Tables:
    """Arrays of one run."""

    def __init__(
        self,
        graph: NetworkGraph,
        ways: RouteTable,
        back: RouteTable,
        flows: FlowTable,
        control: FlowControl,
        longest: LongestTrip | None,
    ) -> None:
        ways, back = _of_flows(ways, flows.route), _of_flows(back, flows.route)
        self._rate, self._latency = graph.bytes_per_s * 1e-9, graph.latency_ns
        full = control.payload_bytes + control.header_bytes
        home = self._trip(back, control.ack_bytes)
        told = self._rest(ways, full) + np.repeat(home, np.diff(ways.offsets))
        trip = longest or self._longest(ways, control)
        self.given = control.given(trip.ns)
        self.ways = Ways(
            capacity=self._rate,
            offsets=ways.offsets,
            links=ways.links,
            told=np.rint(told / STEP_NS).astype(np.int64),
            back_offsets=back.offsets,
            back_links=back.links,
        )
        window = trip.window_bytes if control.has_window else np.inf
        self.senders = self._senders(ways, home, flows, control, window)
        self.moving = self._still(flows)

    def _senders(
        self, ways: RouteTable, home: Floats, flows: FlowTable, control: FlowControl, window: float
    ) -> Senders:
        """Flows, whose acknowledgements are *home* (F,) after a packet has come, on idle links."""
        packets = np.maximum(1.0, np.ceil(flows.size_bytes / control.payload_bytes))
        size = np.maximum(flows.size_bytes, 1.0) + packets * control.header_bytes
        last = np.minimum(flows.size_bytes, control.payload_bytes) + control.header_bytes
        idle = self._trip(ways, control.payload_bytes + control.header_bytes) + home
        first = self._rate[ways.links[ways.offsets[:-1]]]
        cap = flows.cap_bytes_per_s
        # a fluid passes one link in a step
        back = np.rint(idle / STEP_NS).astype(np.int64) - np.diff(ways.offsets) + 1
        offsets, followers = _followers(flows)
        return Senders(
            size=size,
            packet=size / packets,
            line=first if cap is None else np.minimum(first, cap * 1e-9),
            window=np.full(len(flows), window),
            idle=idle,
            ack=packets * control.ack_bytes / size,
            back=np.maximum(1, back),
            late=self._trip(ways, last) - last / first + home,
            start=flows.start_ns,
            offsets=offsets,
            followers=followers,
        )

    def _trip(self, ways: RouteTable, size: Floats | float) -> Floats:
        """(F,) time of a packet along each way, stored whole at every link."""
        of_flow = np.repeat(np.arange(len(ways)), np.diff(ways.offsets))
        each = np.broadcast_to(np.asarray(size, np.float64), len(ways))[of_flow]
        times = each / self._rate[ways.links] + self._latency[ways.links]
        return np.bincount(of_flow, times, len(ways)).astype(np.float64)

    def _rest(self, ways: RouteTable, size: float) -> Floats:
        """(E,) time of a packet from the beginning of each link to the end of its way."""
        times = size / self._rate[ways.links] + self._latency[ways.links]
        since = np.concatenate([[0.0], np.cumsum(times)])
        ends = np.repeat(since[ways.offsets[1:]], np.diff(ways.offsets))
        rest: Floats = ends - since[:-1]
        return rest

    def _longest(self, ways: RouteTable, control: FlowControl) -> LongestTrip:
        of_flow = np.repeat(np.arange(len(ways)), np.diff(ways.offsets))
        trip = self._trip(ways, control.payload_bytes)
        trip += np.bincount(of_flow, self._latency[ways.links], len(ways))
        slowest = np.minimum.reduceat(self._rate[ways.links], ways.offsets[:-1])
        return LongestTrip(ns=float(trip.max()), window_bytes=float((trip * slowest).max()))

    def _still(self, flows: FlowTable) -> Moving:
        count, links, entries = len(flows), len(self._rate), len(self.ways.links)
        steps = 2 + int(max(self.ways.told.max(initial=0), self.senders.back.max(initial=0)))
        waits = flows.waits_offsets
        sends_on = np.zeros(links, np.bool_)
        sends_on[self.ways.links[self.ways.offsets[:-1]]] = True
        of_links = np.zeros((6, links))
        depth = min(_MOST_STEPS, max(_LEAST_STEPS, _ROOM // max(entries, 1)))
        return Moving(
            stage=np.zeros(count, np.int64),
            waits=np.zeros(count, np.int64) if waits is None else np.diff(waits),
            begin=flows.start_ns.copy(),
            finish=np.full(count, np.nan),
            sender=np.zeros((count, COLUMNS)),
            wanted=np.zeros(count),
            arrived=np.zeros(count),
            last=np.zeros(count, np.int64),
            leaves=np.zeros((count, 2)),
            held=np.zeros(entries),
            seen=np.zeros((entries, 2)),
            under_way=np.zeros(count, np.int64),
            queue=of_links[0],
            passed=of_links[1],
            acks=of_links[2],
            share=of_links[3],
            room=of_links[4],
            open=np.zeros(links, np.int64),
            queues=np.zeros((links, steps)),
            passes=np.zeros((links, steps)),
            arrivals=np.zeros((count, steps)),
            sends_on=sends_on,
            came=np.zeros((entries, depth)),
            came_all=np.zeros((links, depth)),
            first=np.zeros((links, 2), np.int64),
            waited=np.zeros((links, steps)),
            gone=np.zeros((links, 2)),
        )


def _of_flows(routes: RouteTable, route: Ints) -> RouteTable:
    """Routes of flows, one each."""
    counts = np.diff(routes.offsets)[route]
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    taken = np.repeat(routes.offsets[route] - offsets[:-1], counts) + np.arange(offsets[-1])
    return RouteTable(
        offsets=offsets,
        links=routes.links[taken],
        parts=routes.parts[taken],
        latency_ns=routes.latency_ns[route],
    )


def _followers(flows: FlowTable) -> tuple[Ints, Ints]:
    if flows.waits_offsets is None or flows.waits_for is None:
        return np.zeros(len(flows) + 1, np.int64), np.zeros(0, np.int64)
    return followers_of(flows.waits_offsets, flows.waits_for)
