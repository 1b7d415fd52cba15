"""Routers with virtual channels in plain Python, one flit and one cycle at a time.

Written from the description of BookSim 2's input-queued router, without sharing a line with the
simulator: nothing is skipped, requests are lists, pointers turn as described.
"""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

IDLE, ROUTING, WAITING, ACTIVE = range(4)

Asked = dict[int, list[int]]


@dataclass
class Packet:
    """One packet; on a torus it remembers how it goes round the dimension it is in."""

    source: int
    target: int
    way: tuple[int, int, int] = (-1, 0, 0)  # dimension, direction, half of the channels


@dataclass
class Flit:
    packet: Packet
    is_head: bool
    is_tail: bool


@dataclass
class Channel:
    flits: deque[Flit] = field(default_factory=deque)
    state: int = IDLE
    ready: int = 0
    port: int = 0
    allowed: range = range(0)
    out: int = 0


def islip(asked: Asked, inputs: int, outputs: int, grant: list[int], accept: list[int]) -> Asked:
    """Outputs that each input won, by input; pointers turn."""
    granted: Asked = defaultdict(list)
    for o, requests in asked.items():
        granted[min(requests, key=lambda i: (i - grant[o]) % inputs)].append(o)
    won: Asked = {}
    for i, outs in granted.items():
        o = min(outs, key=lambda o: (o - accept[i]) % outputs)
        won[i] = [o]
        grant[o], accept[i] = (i + 1) % inputs, (o + 1) % outputs
    return won


class Router:
    def __init__(self, ports: int, each: int, depth: int) -> None:
        self.ports, self.each = ports, each
        self.inputs = [[Channel() for _ in range(each)] for _ in range(ports)]
        self.taken = [[False] * each for _ in range(ports)]
        self.credits = [[depth] * each for _ in range(ports)]
        self.vc_pointers = [0] * (ports * each), [0] * (ports * each)
        self.switch_pointers = [0] * ports, [0] * ports
        self.turns = [0] * ports

    def give_channels(self, now: int) -> None:
        asked: Asked = defaultdict(list)
        for i, c in enumerate(c for port in self.inputs for c in port):
            if c.state == WAITING and c.ready <= now:
                for vc in c.allowed:
                    if not self.taken[c.port][vc]:
                        asked[c.port * self.each + vc].append(i)
        count = self.ports * self.each
        for i, (o,) in islip(asked, count, count, *self.vc_pointers).items():
            c = self.inputs[i // self.each][i % self.each]
            c.out, c.state, c.ready = o % self.each, ACTIVE, now + 1
            self.taken[o // self.each][c.out] = True

    def pass_flits(self, now: int) -> list[tuple[int, int, int, int, Flit]]:
        """Input port and channel, output port and channel, and flit of all that leave."""
        asked: Asked = defaultdict(list)
        chosen: dict[tuple[int, int], int] = {}
        for port in range(self.ports):
            for j in range(self.each):
                vc = (self.turns[port] + j) % self.each
                c = self.inputs[port][vc]
                is_ready = c.state == ACTIVE and c.ready <= now and c.flits
                if is_ready and self.credits[c.port][c.out] and (port, c.port) not in chosen:
                    chosen[port, c.port] = vc
                    asked[c.port].append(port)
        left = []
        for port, (o,) in islip(asked, self.ports, self.ports, *self.switch_pointers).items():
            vc = chosen[port, o]
            self.turns[port] = (vc + 1) % self.each
            c = self.inputs[port][vc]
            flit = c.flits.popleft()
            self.credits[o][c.out] -= 1
            left.append((port, vc, o, c.out, flit))
            c.ready = now + 1
            if flit.is_tail:
                self.taken[o][c.out] = False
                c.state = ROUTING if c.flits else IDLE
        return left


@dataclass
class Grid:
    """A mesh, or with *wraps* a torus, of side^dimensions routers with a node each."""

    side: int
    dimensions: int
    wraps: bool
    each: int
    depth: int
    latency: int

    def neighbor(self, router: int, port: int) -> int:
        stride = self.side ** (port // 2)
        x = router // stride % self.side
        y = (x + (1, -1)[port % 2]) % self.side
        return int(router + (y - x) * stride)

    def route(self, router: int, packet: Packet) -> tuple[int, range]:
        for d in range(self.dimensions):
            x, y = (place // self.side**d % self.side for place in (router, packet.target))
            if x == y:
                continue
            if not self.wraps:
                return 2 * d + (y < x), range(self.each)
            if packet.way[0] != d:
                is_up = (y - x) % self.side < (x - y) % self.side
                packet.way = (d, 0 if is_up else 1, int(x > y))
            half = self.each // 2
            return 2 * d + packet.way[1], range(half * packet.way[2], half * (packet.way[2] + 1))
        return 2 * self.dimensions, range(self.each)


class Network:
    """A grid with each node's packets, which it sends as fast as it can."""

    def __init__(self, grid: Grid, target: Callable[[int], int], size: int, batch: int) -> None:
        self.grid, self.local = grid, 2 * grid.dimensions
        nodes = grid.side**grid.dimensions
        self.routers = [Router(self.local + 1, grid.each, grid.depth) for _ in range(nodes)]
        self.queues: list[deque[Flit]] = [deque() for _ in range(nodes)]
        for node, queue in enumerate(self.queues):
            for packet in [Packet(node, target(node)) for _ in range(batch)]:
                queue.extend(Flit(packet, i == 0, i == size - 1) for i in range(size))
        self.room = [[grid.depth] * grid.each for _ in range(nodes)]
        self.last, self.on = [-1] * nodes, [-1] * nodes
        self.arriving: dict[int, list[tuple[int, int, int, Flit]]] = defaultdict(list)
        self.returning: dict[int, list[tuple[list[int], int]]] = defaultdict(list)
        self.left = nodes * batch

    def deliver(self, now: int) -> None:
        for router, port, vc, flit in self.arriving.pop(now, []):
            if port < 0:  # at its node
                self.returning[now + 2].append((self.routers[router].credits[self.local], vc))
                self.left -= flit.is_tail
                continue
            c = self.routers[router].inputs[port][vc]
            c.flits.append(flit)
            if c.state == IDLE:
                c.state, c.ready = ROUTING, now
        for credits, vc in self.returning.pop(now, []):
            credits[vc] += 1

    def inject(self, node: int, now: int) -> None:
        queue, room, each = self.queues[node], self.room[node], self.grid.each
        if queue and self.on[node] < 0:
            turns = [(self.last[node] + 1 + i) % each for i in range(each)]
            self.on[node] = next((vc for vc in turns if room[vc]), -1)
            self.last[node] = self.on[node] if self.on[node] >= 0 else self.last[node]
        vc = self.on[node]
        if queue and vc >= 0 and room[vc]:
            flit = queue.popleft()
            room[vc] -= 1
            self.arriving[now + 2].append((node, self.local, vc, flit))
            self.on[node] = -1 if flit.is_tail else vc

    def work(self, number: int, now: int) -> None:
        router, grid = self.routers[number], self.grid
        for c in (c for port in router.inputs for c in port):
            if c.state == ROUTING and c.ready <= now:
                c.port, c.allowed = grid.route(number, c.flits[0].packet)
                c.state, c.ready = WAITING, now + 1
        router.give_channels(now)
        for port, vc, o, out, flit in router.pass_flits(now):
            if port == self.local:
                self.returning[now + 2].append((self.room[number], vc))
            else:
                before = self.routers[grid.neighbor(number, port)]
                self.returning[now + grid.latency + 1].append((before.credits[port ^ 1], vc))
            if o == self.local:
                self.arriving[now + 3].append((number, -1, out, flit))
            else:
                place = (grid.neighbor(number, o), o ^ 1, out, flit)
                self.arriving[now + grid.latency + 2].append(place)


def drain_time(grid: Grid, target: Callable[[int], int], size: int, batch: int) -> int:
    """Cycles until each node's *batch* of packets of *size* flits has arrived."""
    network, now = Network(grid, target, size, batch), 0
    while network.left:
        network.deliver(now)
        for node in range(len(network.queues)):
            network.inject(node, now)
        for number in range(len(network.routers)):
            network.work(number, now)
        now += 1
    return now
