"""Garnet 2.0 as ASTRA-sim runs it: routers of one stage, each ring of links a network of its own.

NPU ``local + L (column + columns row)`` is a router. A ring of the local dimension leads one way,
rings of columns and of rows lead both ways; a packet stays on its ring. Behind a switch, packets
take the switches in turn; all to all, every pair of packages has a link of its own. A message
becomes full packets. Links narrower than a flit are busy with it for several cycles, and cost two
more at each end.

Source: N. Agarwal et al., "GARNET: A detailed on-chip network model inside a full-system
simulator", ISPASS 2009; S. Rashidi et al., "ASTRA-SIM: Enabling SW/HW co-design exploration for
distributed DL training platforms", ISPASS 2020.
"""

from dataclasses import dataclass, field

from simcore.flits.fabric import case_of
from simcore.flits.live import ATTOSECONDS, LiveFlits, Way
from simcore.flits.topologies.wires import Wires
from simcore.kernels.flits.allocation import ISLIP
from simcore.kernels.flits.network import CYCLE, CYCLE_BITS, How
from simcore.kernels.flits.routes.rule import ANY, IN_TURN, PART_BITS

TORUS, SWITCH, ALL_TO_ALL = "Torus3D", "NV_Switch", "AllToAll"
_BRIDGE_CYCLES = 4
"""Cycles of a link that is narrower than a flit: a logical and a physical one at each end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarnetNetwork:
    """Parameters of a network, in cycles of 1 ns, by the names of its file.

    Attributes:
        topology: ``Torus3D``, ``NV_Switch`` or ``AllToAll``.
        npus, packages, rows: NPUs, packages, and rows of packages.
        local_rings, vertical_rings, horizontal_rings: Rings through each NPU; of the last two, one
            each way.
        links_per_tile: Switches that an NPU has a link to, or links to each other package.
        flit_bits: Width of a flit.
        packet_bytes: Of every packet.
        local_bits, package_bits: Widths of links.
        channels: Virtual channels of a link.
        router_latency, local_latency, package_latency: Cycles.
        buffers: Flits that a channel holds.
    """

    topology: str
    npus: int
    packages: int
    rows: int
    local_rings: int
    vertical_rings: int
    horizontal_rings: int
    links_per_tile: int
    flit_bits: int
    packet_bytes: int
    local_bits: int
    package_bits: int
    channels: int
    router_latency: int
    local_latency: int
    package_latency: int
    buffers: int

    @property
    def packet_flits(self) -> int:
        """Flits of a packet."""
        return -(-self.packet_bytes * 8 // self.flit_bits)

    @property
    def sizes(self) -> tuple[int, ...]:
        """NPUs along each dimension that has more than one, innermost first."""
        package = self.npus // self.packages
        outer = (self.packages // self.rows, self.rows)
        every = (package, *(outer if self.topology == TORUS else (self.packages,)))
        return tuple(size for size in every if size > 1) or (1,)


@dataclass(slots=True)
class _Lane:
    """A virtual network: links of one ring, or of one step between packages.

    Attributes:
        number: Among all virtual networks.
        port: Of its links at every router; nodes have the one behind it.
        step: +1 or -1 along the dimension; 0: not a ring.
    """

    number: int
    port: int
    step: int = 0


@dataclass(slots=True)
class _Line:
    """A dimension: its stride among NPUs, NPUs along it, lanes, and its links."""

    stride: int
    size: int
    cycles: int
    slowness: int
    lanes: list[_Lane] = field(default_factory=list)


class Garnet:
    """Routers of one stage, and the ways between NPUs that differ in one dimension.

    Args:
        network: Its parameters.
    """

    def __init__(self, network: GarnetNetwork) -> None:
        self._net, self._lines, self._virtual = network, list[_Line](), 0
        self._known: dict[tuple[int, int, int], Way] = {}
        package = network.npus // network.packages
        local = self._add_line(1, package, network.local_latency, network.local_bits)
        self._add_lanes(local, network.local_rings, (1,))
        if network.topology == TORUS:
            columns = network.packages // network.rows
            link = network.package_latency, network.package_bits
            vertical = self._add_line(package * columns, network.rows, *link)
            self._add_lanes(vertical, network.vertical_rings, (1, -1))
            horizontal = self._add_line(package, columns, *link)
            self._add_lanes(horizontal, network.horizontal_rings, (1, -1))
        else:
            link = network.package_latency, network.package_bits
            outer = self._add_line(package, network.packages, *link)
            is_switch = network.topology == SWITCH
            each = 1 if is_switch else network.links_per_tile * network.packages
            self._add_lanes(outer, each, (0,))
        self._ports = 2 * sum(len(line.lanes) for line in self._lines)
        self._wires = self._wired()

    def _add_line(self, stride: int, size: int, latency: int, bits: int) -> _Line:
        phits = -(-self._net.flit_bits // bits)
        cycles = latency + (phits - 1 + _BRIDGE_CYCLES if phits > 1 else 0)
        self._lines.append(_Line(stride, size, cycles, phits * CYCLE))
        return self._lines[-1]

    def _add_lanes(self, line: _Line, count: int, steps: tuple[int, ...]) -> None:
        """Number the virtual networks of a dimension; one of a single NPU has no links."""
        for step in steps:
            for _ in range(count):
                if line.size > 1:
                    port = 2 * sum(len(one.lanes) for one in self._lines)
                    line.lanes.append(_Lane(self._virtual, port, step))
                self._virtual += 1

    def _wired(self) -> Wires:
        net = self._net
        is_switch = net.topology == SWITCH and net.packages > 1
        switches = net.npus // net.packages * net.links_per_tile if is_switch else 0
        wires = Wires(routers=net.npus + switches, side=net.links_per_tile)
        wires.node_cycles = net.local_latency
        for line in self._lines:
            for lane in line.lanes:
                for npu in range(net.npus):
                    wires.nodes.append((npu, lane.port + 1) * 2)
                    for there, out, into in self._next(npu, line, lane):
                        wires.ends.append((npu, out, there, into, line.cycles))
                        wires.slowness.append(line.slowness)
                        if there >= net.npus:  # and back from the switch
                            wires.ends.append((there, into, npu, out, line.cycles))
                            wires.slowness.append(line.slowness)
        return wires

    def _next(self, npu: int, line: _Line, lane: _Lane) -> list[tuple[int, int, int]]:
        """Routers that the links of a lane lead to from an NPU, with both ports."""
        here = npu // line.stride % line.size
        if lane.step:
            to = (here + lane.step) % line.size
            return [(npu + (to - here) * line.stride, lane.port, lane.port)]
        net = self._net
        if net.topology == SWITCH:
            planes, inner = net.links_per_tile, npu % line.stride
            first = net.npus + inner * planes
            return [(first + plane, self._ports + plane, here) for plane in range(planes)]
        to = (line.lanes.index(lane) - here) % line.size
        if to == here:
            return []
        return [(npu + (to - here) * line.stride, lane.port, lane.port)]

    def live(self) -> LiveFlits:
        """The network before the first message; a cycle is 1 ns."""
        net = self._net
        links = self._wires.links()
        for end, slow in zip(self._wires.ends, self._wires.slowness, strict=True):
            links.from_latency[end[2], end[3]] -= (slow >> CYCLE_BITS) - 1  # credits are short
        # what a router takes longer than a cycle passes before its switch is asked
        links.latency[links.router >= 0] += net.router_latency - 1
        turn = links.turn
        for line in self._lines:
            for lane in line.lanes:
                turn[:, lane.port : lane.port + 2] = lane.number * net.channels
        size = net.packet_flits
        how = How(
            channels=net.channels, depth=min(net.buffers, size), size=size, routing=0, crossing=0,
            channel_cycles=1, switch_cycles=1, guesses=False, holds=False, tail_credit=True,
            input_ports=1, output_ports=1, channel_kind=ISLIP, switch_kind=ISLIP, iterations=1,
            turns=self._virtual * net.channels,
        )  # fmt: skip
        into = links.node_cycles + net.router_latency - 1
        case = case_of(self._wires, how, links._replace(node_cycles=into))
        return LiveFlits(case, ATTOSECONDS, self.alone)

    def way(self, source: int, target: int, turn: int) -> Way:
        """The way between NPUs that differ in one dimension, on one of the lanes that fit, in turn.

        Rings are gone around the shorter way, at the same distance either way.
        """
        line = next(
            one for one in self._lines
            if source // one.stride % one.size != target // one.stride % one.size
        )  # fmt: skip
        here, to = (npu // line.stride % line.size for npu in (source, target))
        fits = self._fitting(line, here, to)
        lane = fits[turn % len(fits)]
        key = source, target, lane.number
        if key not in self._known:
            self._known[key] = self._path(source, target, line, lane)
        return self._known[key]

    def _fitting(self, line: _Line, here: int, to: int) -> list[_Lane]:
        if self._net.topology == ALL_TO_ALL and line is self._lines[-1]:
            return line.lanes[(here + to) % line.size :: line.size]
        ahead = (to - here) % line.size
        steps = {lane.step: ahead if lane.step >= 0 else line.size - ahead for lane in line.lanes}
        return [lane for lane in line.lanes if steps[lane.step] == min(steps.values())]

    def _path(self, source: int, target: int, line: _Line, lane: _Lane) -> Way:
        net, ports = self._net, 1 << 20
        order = [one.number for every in self._lines for one in every.lanes].index(lane.number)
        first, last = order * net.npus + source, order * net.npus + target
        links, entries, at = list[int](), list[tuple[int, int, int]](), source
        slowness = line.slowness
        while at != target:
            there, out, _ = self._next(at, line, lane)[0]
            if there >= net.npus:
                planes, to = net.links_per_tile, target // line.stride % line.size
                entries.append((at, last, (out << PART_BITS) + IN_TURN))
                for plane in range(planes):
                    entries.append((there + plane, last, (to << PART_BITS) + ANY))
                    links += [at * ports + out + plane, (there + plane) * ports + to]
                hops, there = 2, target
                slowness = slowness if planes == 1 else 0
            else:
                entries.append((at, last, (out << PART_BITS) + ANY))
                links.append(at * ports + out)
                hops = len(links)
            at = there
        cycles = 1 + 2 * net.local_latency + (hops + 1) * net.router_latency + hops * line.cycles
        return Way(first, last, tuple(links), tuple(entries), cycles, slowness)

    def alone(self, way: Way, flits: int) -> int | None:
        """Cycles of a message that meets no other one; None where no formula tells them.

        A packet holds a channel until its last credit is back, so that a message must find as many
        as it needs at once, beside those of the message before it.
        """
        net = self._net
        size, channels = net.packet_flits, net.channels // 2
        back = 2 * max(line.cycles for line in self._lines) + 2 * net.local_latency
        is_wide = way.slowness == CYCLE
        is_wide = is_wide and (channels - 1) * size >= back + 2 * net.router_latency + 8
        if not way.slowness or net.buffers < size or not (is_wide or flits <= channels * size):
            return None
        return way.head_cycles + ((flits - 1) * way.slowness >> CYCLE_BITS)
