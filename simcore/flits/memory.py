"""The one array of words in which a network lives, as ``kernels.flits.network`` lays it out."""

import numpy as np

from simcore.flits.case import Case
from simcore.kernels.flits import network as of
from simcore.kernels.flits.allocation import OUTPUT_FIRST
from simcore.kernels.flits.due import BITS, SOON
from simcore.kernels.flits.network import Ints
from simcore.kernels.flits.passing import STAGES
from simcore.kernels.flits.routes.rule import LOOKING, TOLD

_SEED = 0x9E3779B97F4A7C15
_ROUTES = 3_000_000
"""Difference of the seed of routes from that of traffic."""
_FEW = 64
"""Rows for packets and messages that are told one by one, to begin with."""
_DUE = [of.ROUTE_DUE, of.CROSSING_DUE, of.CHANNELS_DUE, of.SWITCH_DUE]


class Memory:
    """Words of a network at its start.

    Args:
        case: The network.
        traffic: Kind of the kernel's, and its nodes.
        seed: Of what is drawn.
        is_live: Nodes send messages that are told one by one.

    Attributes:
        words: All of them.
    """

    words: Ints

    def __init__(
        self, case: Case, traffic: tuple[int, list[int]], seed: int, *, is_live: bool = False
    ) -> None:
        how, (routers, ports) = case.how, case.links.router.shape
        inputs, outputs = ports * how.input_ports, ports * how.output_ports
        each = ports * how.channels
        self._shapes = _shapes(case, len(traffic[1]))
        if is_live:
            self._shapes[of.AT_PACKET] = (2 * case.nodes + _FEW, of.PACKET_WORDS)
            self._shapes[of.AT_MESSAGE] = (_FEW, of.MESSAGE_WORDS)
        sizes = [int(np.prod(shape)) for shape in self._shapes.values()]
        starts = of.HEADER_WORDS + np.concatenate([[0], np.cumsum(sizes)])
        self.words = np.zeros(int(starts[-1]), np.int64)
        self.words[list(self._shapes)] = starts[:-1]
        seeds = seed_state(seed), seed_state(seed + _ROUTES)
        words: dict[int, int] = {
            of.ROUTERS: routers, of.PORTS: ports, of.CHANNELS: how.channels, of.DEPTH: how.depth,
            of.NODES: case.nodes, of.SIZE: how.size, of.ROUTING_CYCLES: how.routing,
            of.CROSSING_CYCLES: how.crossing, of.CHANNEL_CYCLES: how.channel_cycles,
            of.SWITCH_CYCLES: how.switch_cycles, of.GUESSES: how.guesses, of.HOLDS: how.holds,
            of.TAIL_CREDIT: how.tail_credit, of.INPUT_PORTS: how.input_ports,
            of.OUTPUT_PORTS: how.output_ports, of.CHANNEL_KIND: how.channel_kind,
            of.SWITCH_KIND: how.switch_kind, of.ITERATIONS: how.iterations,
            of.KIND: case.rule.kind, of.SIDE: case.rule.side, of.DIMENSIONS: case.rule.dimensions,
            of.FIRST_PORT: case.rule.first, of.LOW_CHANNEL: case.rule.low,
            of.NODE_CREDIT: case.links.node_latency, of.TRAFFIC: traffic[0],
            of.SPOTS_COUNT: len(traffic[1]), of.IS_BATCH: case.batch > 0,
            of.MOST_OUT: case.most_out, of.RANDOM: seeds[0], of.ROUTES_RANDOM: seeds[1],
            of.LAST_ROW: self._shapes[of.AT_WHEEL][0] - 1,
            of.WHEEL_WIDTH: self._shapes[of.AT_WHEEL][1],
            of.BACK_WIDTH: self._shapes[of.AT_BACK][1],
            of.CROSSING_ROWS: self._shapes[of.AT_CROSSING][1], of.WIDTH: _width(case),
            of.MAY_PASS: _may_pass(case), of.SWITCH_INPUTS: inputs, of.SWITCH_OUTPUTS: outputs,
            of.SOON_WORDS: -(-case.nodes // BITS), of.ENDED: of.NONE, of.TURNS_SIZE: how.turns,
            of.LIVE: is_live, of.SLOW_LINKS: bool((case.links.slowness != of.CYCLE).any()),
            of.ONE_STAGE: how.turns > 0, of.FREE_ROWS: self._shapes[of.AT_PACKET][0],
        }  # fmt: skip
        for word, value in words.items():
            self.words[word] = int(value)
        self._fill(case, traffic[1], each)

    def table(self, at: int) -> Ints:
        """View of a table, by the word that tells where it begins."""
        begin, shape = int(self.words[at]), self._shapes[at]
        return self.words[begin : begin + int(np.prod(shape))].reshape(shape)

    def _fill(self, case: Case, targets: list[int], each: int) -> None:
        links, depth = case.links, case.how.depth
        link = self.table(of.AT_LINK)
        columns = links.router, links.port, links.latency, links.from_latency
        names = of.TO, of.TO_CHANNEL, of.TO_CYCLES, of.FROM_CYCLES
        for at, table in zip(names, columns, strict=True):
            link[..., at] = table
        link[..., of.TO_CHANNEL] *= case.how.channels
        link[..., of.SLOWNESS], link[..., of.TURN] = links.slowness, links.turn
        link[..., of.CLAIMED] = of.NONE
        self.table(of.AT_DOOR)[:, : of.ENTRY] = _doors(case)
        if case.rule.kind != TOLD:  # those that are told come with their messages
            self.table(of.AT_TABLE)[:] = case.rule.table
        strides = case.rule.side ** np.arange(case.rule.dimensions, dtype=np.int64)
        routers = np.arange(len(links.router), dtype=np.int64)
        self.table(of.AT_PLACE)[:] = routers[:, None] // strides % case.rule.side
        self.table(of.AT_TARGET)[:] = targets
        inputs = self.table(of.AT_INPUT)
        inputs[..., of.DUE] = of.NONE
        inputs[..., of.PORT] = np.arange(each) // case.how.channels
        inputs[..., of.VC] = np.arange(each) % case.how.channels
        for at in (of.AT_OUTPUT, of.AT_NODE_OUTPUT):
            self.table(at)[..., of.CREDITS] = depth
        self.table(of.AT_OUTPUT)[..., of.OF_PORT] = inputs[..., of.PORT]
        self.table(of.AT_ROUTER)[:, _DUE] = of.NONE
        self.table(of.AT_SWITCH_IN)[..., [of.HELD_CHANNEL, of.WON_CHANNEL]] = of.NONE
        self._point(case)
        packets, messages = self.table(of.AT_PACKET), self.table(of.AT_MESSAGE)
        packets[:, of.NEXT_FREE] = np.arange(1, len(packets) + 1)
        messages[:, of.FOLLOWS] = np.arange(1, len(messages) + 1)
        messages[-1:, of.FOLLOWS] = of.NONE  # the first one is free, as words are 0
        nodes = self.table(of.AT_NODE)
        nodes[:, of.LEFT] = case.batch
        nodes[:, [of.PACKET, of.LAST_VC, of.ON_VC, of.RETIRED_IN, of.QUEUE]] = of.NONE
        for at in (of.AT_GRANTED, of.AT_CHOSEN, of.AT_BEST):
            self.table(at)[:] = of.NONE
        if case.batch:
            self.table(of.AT_SENDING)[:] = np.arange(case.nodes)
            self.words[of.SENDING] = case.nodes

    def _point(self, case: Case) -> None:
        """Write where the words lie that belong to those of a router, channel or door."""
        links, how = case.links, case.how
        routers, ports = links.router.shape
        own, inputs, outputs = (
            self.table(of.AT_ROUTER),
            self.table(of.AT_INPUT),
            self.table(of.AT_OUTPUT),
        )
        own[:, of.NUMBER] = np.arange(routers)
        firsts = {of.FIRST_LINK: of.AT_LINK, of.FIRST_OUTPUT: of.AT_OUTPUT,
                  of.FIRST_EXIT: of.AT_SWITCH_OUT, of.COORDINATES: of.AT_PLACE}  # fmt: skip
        for column, at in firsts.items():
            own[:, column] = self._place(at)
        inputs[..., of.OWN] = self._place(of.AT_ROUTER)[:, None]
        port, vc = inputs[0, :, of.PORT], inputs[0, :, of.VC]
        inputs[..., of.LINK] = self._place(of.AT_LINK, 2)[:, port]
        gate = port * how.input_ports + vc % how.input_ports
        inputs[..., of.GATE] = self._place(of.AT_SWITCH_IN, 2)[:, gate]
        inputs[..., of.CREDITED] = (
            self._credited(links, how.channels)[:, port] + vc * of.OUTPUT_WORDS
        )
        first = links.router * ports + links.port
        ends = int(self.words[of.AT_INPUT]) + first[:, port] * how.channels * of.INPUT_WORDS
        outputs[..., of.ENDS_AT] = ends + vc * of.INPUT_WORDS
        is_node = links.router[:, port] < 0
        outputs[..., of.ENDS_AT][is_node] = -self._place(of.AT_OUTPUT, 2)[is_node]
        entry = (links.node_router * ports + links.node_port) * how.channels
        self.table(of.AT_DOOR)[:, of.ENTRY] = int(self.words[of.AT_INPUT]) + entry * of.INPUT_WORDS

    def _place(self, at: int, depth: int = 1) -> Ints:
        """Places where the rows of a table begin, over so many of its dimensions."""
        shape = self._shapes[at]
        rows, step = shape[:depth], int(np.prod(shape[depth:]))
        places = int(self.words[at]) + step * np.arange(int(np.prod(rows)), dtype=np.int64)
        return places.reshape(rows)

    def _credited(self, links: of.Links, channels: int) -> Ints:
        """(R, P) places where the output channels begin that the credits of an input go back to."""
        at, ports = links.from_router, links.router.shape[1]
        outputs, nodes = int(self.words[of.AT_OUTPUT]), int(self.words[of.AT_NODE_OUTPUT])
        row = np.where(at >= 0, (at * ports + links.from_port) * channels, (-1 - at) * channels)
        first = np.where(at >= 0, np.int64(outputs), np.int64(nodes))
        return np.asarray(first + row * of.OUTPUT_WORDS, np.int64)

    def grow(self) -> None:
        """Double the rows for packets and for messages; those that there are keep their numbers."""
        old = self.table(of.AT_PACKET), self.table(of.AT_MESSAGE)
        first = int(self.words[of.AT_PACKET])
        for at, table in zip((of.AT_PACKET, of.AT_MESSAGE), old, strict=True):
            self._shapes[at] = (2 * len(table), table.shape[1])
        sizes = [int(np.prod(self._shapes[at])) for at in (of.AT_PACKET, of.AT_MESSAGE)]
        words = np.zeros(first + sum(sizes), np.int64)
        words[:first] = self.words[:first]
        words[of.AT_MESSAGE] = first + sizes[0]
        self.words = words
        kinds = (of.AT_PACKET, of.NEXT_FREE, of.FREE), (of.AT_MESSAGE, of.FOLLOWS, of.FREE_MESSAGE)
        for (at, column, free), table in zip(kinds, old, strict=True):
            count, new = len(table), self.table(at)
            new[:count] = table
            new[count:, column] = np.arange(count + 1, 2 * count + 1)
            new[-1, column] = words[free]
            words[free] = count
        words[of.FREE_ROWS] += len(old[0])


def _doors(case: Case) -> Ints:
    """Columns of the nodes' doors that never change."""
    links = case.links
    ends = links.node_router, links.node_port, links.exit_router, links.exit_port
    return np.stack((*ends, links.node_cycles, links.node_slowness), axis=1)


def seed_state(seed: int) -> int:
    """State of what is drawn, as a signed word."""
    state = _SEED * (2 * seed + 1) % 2**64
    return state - 2**64 if state >= 2**63 else state


def _may_pass(case: Case) -> bool:
    """True if a flit that is in nobody's way sees nothing that changes until it is sent."""
    how = case.how
    stages = how.routing, how.channel_cycles, how.switch_cycles, how.crossing, how.output_ports
    kinds = how.channel_kind, how.switch_kind
    changes = how.guesses or how.tail_credit or how.holds or case.rule.kind in LOOKING
    is_even = bool((case.links.slowness == of.CYCLE).all())
    return stages == (1, 1, 1, 1, 1) and max(kinds) <= OUTPUT_FIRST and is_even and not changes


def _width(case: Case) -> int:
    how = case.how
    return int(case.links.router.shape[1]) * max(how.channels, how.input_ports, how.output_ports)


def _shapes(case: Case, targets: int) -> dict[int, tuple[int, ...]]:
    """Shapes of the tables."""
    links, how, nodes = case.links, case.how, case.nodes
    routers, ports = links.router.shape
    each, width = ports * how.channels, _width(case)
    longest = int(max(links.latency.max(), links.from_latency.max(), links.node_latency))
    queued = how.channels * how.depth if how.output_ports > 1 else 0  # at an output, at most
    rows = 1 << (longest + queued + 2 * how.crossing + STAGES + 3 - 1).bit_length()
    lines = int((links.router != of.NOWHERE).sum()) + nodes
    crossing = ports * max(how.input_ports, how.output_ports) * (how.crossing + 1)
    packets = routers * (each * how.depth + crossing) + rows * lines + nodes + 1
    asks, inputs, outputs = of.MOST_WAYS * each * how.channels, how.input_ports, how.output_ports
    return {
        of.AT_LINK: (routers, ports, of.LINK_WORDS), of.AT_DOOR: (nodes, of.DOOR_WORDS),
        of.AT_TABLE: case.rule.table.shape, of.AT_PLACE: (routers, case.rule.dimensions),
        of.AT_TARGET: (targets,), of.AT_INPUT: (routers, each, of.INPUT_WORDS),
        of.AT_FLIT: (routers, each, how.depth),
        of.AT_WAY: (routers, each, of.MOST_WAYS, of.WAY_WORDS),
        of.AT_FOUND: (of.MOST_WAYS, of.WAY_WORDS), of.AT_SOON: (SOON, -(-nodes // BITS)),
        of.AT_OUTPUT: (routers, each, of.OUTPUT_WORDS), of.AT_BUSY: (routers, each),
        of.AT_SWITCH_IN: (routers, ports * inputs, of.INPUT_WORDS),
        of.AT_SWITCH_OUT: (routers, ports * outputs, of.OUTPUT_WORDS),
        of.AT_ROUTER: (routers, of.ROUTER_WORDS), of.AT_CROSSING: (routers, crossing, 3),
        of.AT_AWAKE: (routers,), of.AT_NODE: (nodes, of.NODE_WORDS),
        of.AT_NODE_OUTPUT: (nodes, how.channels, of.OUTPUT_WORDS),
        of.AT_SENDING: (nodes,), of.AT_DUE: (nodes,),
        of.AT_WHEEL: (rows, lines, of.EVENT_WORDS),
        of.AT_BACK: (rows, lines * inputs + nodes),
        of.AT_COUNT: (2, rows), of.AT_ASK: (asks, 4), of.AT_GUESS: (of.MOST_WAYS * each, 2),
        of.AT_SPOILT: (each,), of.AT_GRANTED: (width,), of.AT_CHOSEN: (width,),
        of.AT_WIN: (width,), of.AT_BEST: (ports * inputs, ports * outputs), of.AT_USED: (4, width),
        of.AT_WAITER: (each,), of.AT_SENDER: (each,),
        # the last two may grow
        of.AT_PACKET: (packets, of.PACKET_WORDS), of.AT_MESSAGE: (0, of.MESSAGE_WORDS),
    }  # fmt: skip
