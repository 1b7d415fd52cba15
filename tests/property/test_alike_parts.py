"""Alike parts of a network of packets: answers with and without folding, to the ns and in order."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import heappop, heappush
from typing import Any

import pytest

from simcore.kernels.packets import layout as f
from simcore.packets.case import Topology
from simcore.packets.live import LivePackets, Way
from simcore.packets.parameters import Parameters

COUNTED = (
    f.PORT_SENT, f.PORT_MOST, f.PORT_PAUSES, f.PORT_RESUMES, f.PORT_DROPS, f.PORT_EGRESS,
    f.PORT_INGRESS, f.PORT_CREDIT, f.PORT_BUSY,
)  # fmt: skip
CONTROLS = (
    "none", "dcqcn", "timely", "dctcp", "dcqcn_paper", "timely_paper", "swift", "cubic",
)  # fmt: skip
SEEDS = 200


@dataclass
class Machine:
    """Hosts in rows and columns, each of which a collective may run in."""

    topology: Topology
    way: Way | None
    rows: list[list[int]]
    columns: list[list[int]]


def rails(draw: random.Random) -> Machine:
    """Hosts with a link to their server's switch and one to that of their rail; ways are told."""
    servers, rails = draw.choice([2, 3, 4]), draw.choice([2, 3, 4])
    hosts, number = servers * rails, dict[tuple[int, int], int]()
    links: list[tuple[int, int, int, int]] = []
    speeds = [(draw.choice([25, 100, 400]), draw.choice([0, 1, 500])) for _ in range(2)]
    for host in range(hosts):
        for side, switch in enumerate((hosts + host % rails, hosts + rails + host // rails)):
            number[host, side] = len(links)
            links.append((host, switch, speeds[side][0] * 10**9, speeds[side][1]))

    def hop(one: int, two: int, side: int) -> list[int]:
        return [2 * number[one, side], 2 * number[two, side] + 1]

    def way(source: int, target: int) -> list[int]:
        if source % rails == target % rails:
            return hop(source, target, 0)
        between = source // rails * rails + target % rails
        inside = hop(source, between, 1)
        return inside if between == target else inside + hop(between, target, 0)

    all_hosts = [[server * rails + rail for rail in range(rails)] for server in range(servers)]
    return _machine(draw, hosts, links, servers + rails, way, all_hosts)


def leaf_spine(draw: random.Random) -> Machine:
    """Leaves joined by spines, whose ways a hash or the switches choose."""
    leaves, spines, each = draw.choice([2, 3, 4]), draw.choice([1, 2, 3]), draw.choice([2, 3, 4])
    hosts, rate, delay = leaves * each, draw.choice([25, 100]) * 10**9, draw.choice([1, 500])
    links = [(host, hosts + host // each, rate, delay) for host in range(hosts)]
    links += [
        (hosts + leaf, hosts + leaves + spine, rate, delay)
        for leaf in range(leaves)
        for spine in range(spines)
    ]
    all_hosts = [[leaf * each + host for host in range(each)] for leaf in range(leaves)]
    return _machine(draw, hosts, links, leaves + spines, None, all_hosts)


def _machine(
    draw: random.Random,
    hosts: int,
    links: list[tuple[int, int, int, int]],
    switches: int,
    way: Way | None,
    rows: list[list[int]],
) -> Machine:
    if draw.random() < 0.2:  # almost symmetric
        at = draw.randrange(len(links))
        one, two, rate, delay = links[at]
        links[at] = draw.choice([(one, two, rate, delay + 1), (one, two, rate // 2, delay)])
    buffer = draw.choice([32 << 20, 1 << 20, 200_000, 60_000])
    named = tuple(range(hosts, hosts + switches))
    topology = Topology(
        hosts + switches, named, tuple(links), buffer, {}, ways_told=way is not None
    )
    return Machine(topology, way, rows, [list(column) for column in zip(*rows, strict=True)])


def parameters(draw: random.Random, machine: Machine) -> Parameters:
    """Parameters of all kinds that go together."""
    rates = {link[2] for link in machine.topology.links}
    payload, control = draw.choice([1000, 4096]), draw.choice(CONTROLS)
    told: dict[str, Any] = {"packet_payload_size": payload, "l2_chunk_size": payload}
    told |= {"control": control, "min_rate": 10**8, "enable_qcn": 0}
    told["link_control"] = draw.choice(["pfc", "pfc", "credits", "drop"])
    if control in ("dctcp", "swift") or draw.random() < 0.3:
        told |= {"has_win": 1, "global_t": 0, "var_win": draw.choice([0, 1])}
    if draw.random() < 0.6:
        low = draw.choice([5, 100, 400])
        high, pmax = draw.choice([low, 2 * low]), 0.2
        told |= {"enable_qcn": 1, "kmin_kb": dict.fromkeys(rates, low)}
        told |= {"kmax_kb": dict.fromkeys(rates, high), "pmax": dict.fromkeys(rates, pmax)}
    if told["link_control"] == "drop":
        told |= {"selective_repeat": 1, "retry_ns": 100_000, "retry_backoff": 1}
    elif told["link_control"] == "pfc":
        told |= {"headroom_packets": draw.choice([0, 3]), "retry_ns": draw.choice([0, 200_000])}
    elif draw.random() < 0.4:
        told["lane_weights"] = [1] * draw.choice([2, 3])
    if machine.way is None:
        told["routing"] = draw.choice(["ecmp", "ecmp", "spray", "adaptive"])
    if draw.random() < 0.15 and told["link_control"] != "drop" and not told.get("retry_ns"):
        told["train"] = 4
    return Parameters.from_file_data(told, at="params")


@dataclass
class Driver:
    """Begins flows at given times and when others end, as a system layer does."""

    network: LivePackets
    at_receiver: bool
    events: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)
    after: dict[int, Callable[[int], None]] = field(default_factory=dict)
    log: list[tuple[int, ...]] = field(default_factory=list)

    def plan(self, at_ns: int, action: Callable[[int], None]) -> None:
        heappush(self.events, (at_ns, len(self.after) + len(self.events), action))

    def begin(
        self, now_ns: int, ends: tuple[int, int], size: int, then: Callable[[int], None]
    ) -> None:
        self.after[self.network.begin(now_ns, *ends, size)] = then

    def run(self) -> None:
        while True:
            due_ns, own = self.network.next_event_ns(), self.events
            if due_ns is None and not own:
                return
            if own and (due_ns is None or own[0][0] < due_ns):
                now_ns = own[0][0]
                while own and own[0][0] == now_ns:
                    heappop(own)[2](now_ns)
                continue
            ended = self.network.advance(own[0][0] if own else 1 << 60)
            for flow in ended:
                row = self.network.row(flow.number)[: 5 if self.at_receiver else 6]
                self.log.append((flow.number, flow.finish_ns, *row))
            for flow in ended:
                self.after[flow.number](flow.finish_ns)


@dataclass
class Collective:
    """Steps of a group: each member sends when what it waits for has come."""

    driver: Driver
    members: list[int]
    size: int
    steps: int
    pause_ns: int
    pattern: str
    sent: dict[int, int] = field(default_factory=dict)

    def start(self, now_ns: int) -> None:
        for place in range(len(self.members)):
            self.send(now_ns, place)

    def send_at(self, place: int, now_ns: int) -> None:
        self.send(now_ns, place)

    def send(self, now_ns: int, place: int) -> None:
        count = len(self.members)
        others = {
            "ring": [(place + 1) % count],
            "all": [other for other in range(count) if other != place],
            "incast": [0] if place else [],
        }[self.pattern]
        step = self.sent[place] = self.sent.get(place, -1) + 1
        if step >= self.steps:
            return
        for other in others:
            ends = self.members[place], self.members[other]
            self.driver.begin(now_ns, ends, self.size, lambda end_ns: self._ended(end_ns, place))

    def _ended(self, now_ns: int, place: int) -> None:
        if self.pause_ns:
            self.driver.plan(now_ns + self.pause_ns, lambda time_ns: self.send(time_ns, place))
        else:
            self.send(now_ns, place)


def told(seed: int, fold: bool) -> tuple[list[Any], int]:
    """All that a random run tells, and how many flows were folded in it."""
    draw = random.Random(seed)
    machine = draw.choice([rails, leaf_spine])(draw)
    run, at_receiver = parameters(draw, machine), draw.random() < 0.5
    network = LivePackets(
        machine.topology, run, 1, machine.way, ends_at_receiver=at_receiver, short_cut=fold
    )
    driver, now_ns = Driver(network, at_receiver), 0
    size = draw.choice([1, 3000, 20_000, 100_000])
    for _ in range(draw.choice([1, 2, 3])):
        groups = draw.choice([machine.rows, machine.columns])
        groups = draw.sample(groups, len(groups)) if draw.random() < 0.2 else groups
        shape = (draw.choice([1, 2, 4]), draw.choice([0, 0, 500]))
        pattern, gap = draw.choice(["ring", "ring", "all", "incast"]), draw.choice([0, 0, 0, 3000])
        odd = draw.randrange(len(groups)) if draw.random() < 0.2 else -1  # almost symmetric
        phase = [
            Collective(driver, group, size + (place == odd), *shape, pattern)
            for place, group in enumerate(groups)
        ]
        if gap or draw.random() < 0.5:
            for place, collective in enumerate(phase):
                driver.plan(now_ns + place * gap, collective.start)
        else:  # members of all groups in turn
            for place in range(len(groups[0])):
                for collective in phase:
                    driver.plan(now_ns, partial(collective.send_at, place))
        if draw.random() < 0.3:  # a message between any two
            two = draw.sample([host for row in machine.rows for host in row], 2)
            pair = Collective(driver, two, size, 1, 0, "incast")
            driver.plan(now_ns + draw.choice([0, 1000]), pair.start)
        now_ns += draw.choice([0, 5000, 10**7])
    driver.run()
    folded = network.folded.flows
    report, ports = network.report(), network._image.port_table
    return [driver.log, report, network.waiting(), ports[:, COUNTED].tolist()], folded


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_folding_changes_no_answer_and_no_order(first: int) -> None:
    folded = 0
    for seed in range(first, first + 50):
        plain, _ = told(seed, fold=False)
        found, count = told(seed, fold=True)
        assert found == plain, f"seed {seed}"
        folded += count > 0
    assert folded >= 10
