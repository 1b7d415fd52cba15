"""Cases of golden/packet as flows: a fluid in place of packets, over the ways that hashes choose.

A flow sends the bytes that are on the wire, headers included; its acknowledgements take their part
of the way back. Added per flow is what a fluid has not: one packet's time at each switch, and the
way of the last acknowledgement. Congestion control is left out, or followed as a fluid.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.flows.controlled import LongestTrip, simulate_controlled
from simcore.flows.controls import CONTROLS, FlowControl, control_of_table
from simcore.flows.simulate import FlowTable, simulate_flows
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.routing import RouteTable

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "golden" / "packet" / "cases"
HEADER = {"hpcc": 78, "timely": 44}
ACK = {"hpcc": 76}
_WORD = 0xFFFFFFFF


def murmur3(words: list[int], seed: int) -> int:
    """MurmurHash3, 32 bits (A. Appleby, public domain), of whole words."""
    h = seed
    for k in words:
        k = k * 0xCC9E2D51 & _WORD
        k = (k << 15 | k >> 17) & _WORD
        h ^= k * 0x1B873593 & _WORD
        h = (h << 13 | h >> 19) & _WORD
        h = (h * 5 + 0xE6546B64) & _WORD
    h ^= 4 * len(words)
    h = (h ^ h >> 16) * 0x85EBCA6B & _WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & _WORD
    return h ^ h >> 16


def address(node: int) -> int:
    return 0x0B000001 + node // 256 * 0x10000 + node % 256 * 0x100


class Fabric:
    """A case's links, and the ways through its switches."""

    def __init__(self, case: dict[str, Any]) -> None:
        top = case["topology"]
        self.nodes, self.switches = top["num_nodes"], set(top["switches"])
        self.rows: list[list[int]] = top["links"]
        self.link: dict[tuple[int, int], int] = {}
        for number, (a, b, _, _) in enumerate(self.rows):
            self.link[a, b], self.link[b, a] = 2 * number, 2 * number + 1
        self.listed: dict[tuple[int, int], list[int]] = {}
        for switch, hops, targets in case.get("ecmp_next_hops", {}).get("rows", ()):
            for target in targets:
                self.listed[switch, target] = hops
        self.far: dict[int, dict[int, int]] = {}

    def distances(self, target: int) -> dict[int, int]:
        if target not in self.far:
            found, front = {target: 0}, [target]
            while front:
                ahead: list[int] = []
                for node in front:
                    if node != target and node not in self.switches:
                        continue
                    for a, b in self.link:
                        if a == node and b not in found:
                            found[b] = found[node] + 1
                            ahead.append(b)
                front = ahead
            self.far[target] = found
        return self.far[target]

    def way(self, source: int, target: int, ports: int) -> list[int]:
        """Links that the hash of these addresses and ports takes."""
        links, node, key = [], source, [address(source), address(target), ports]
        far = self.distances(target)
        while node != target:
            hops = self.listed.get((node, target))
            if hops is None:
                hops = [b for a, b in self.link if a == node and far[b] == far[node] - 1]
            after = hops[murmur3(key, node) % len(hops)] if len(hops) > 1 else hops[0]
            links.append(self.link[node, after])
            node = after
        return links

    def graph(self) -> NetworkGraph:
        rates = np.repeat([rate / 8 for _, _, rate, _ in self.rows], 2)
        ends = np.array([[a, b] for a, b, _, _ in self.rows])
        count = len(rates)
        return NetworkGraph(
            npus=self.nodes,
            nodes=self.nodes,
            tier_of=np.zeros(0, np.int64),
            tiers=(),
            link_from=ends.ravel(),
            link_to=ends[:, ::-1].ravel(),
            bytes_per_s=rates,
            latency_ns=np.repeat([float(delay) for _, _, _, delay in self.rows], 2),
            half=np.zeros(count, np.bool_),
            cable_of=np.arange(count) // 2,
            kind_of=np.zeros(count // 2, np.int64),
            kinds=("link",),
        )


def simulated(case: dict[str, Any]) -> NDArray[np.float64]:
    """End of each flow, ns, at the sender."""
    fabric, rows = Fabric(case), case["flows"]
    graph = fabric.graph()
    payload, cc = case["params"]["packet_payload_size"], case["cc"].split("_")[0]
    header, ack = HEADER.get(cc, 36), ACK.get(cc, 48)
    ns_per_byte = 1e9 / graph.bytes_per_s
    earlier: dict[tuple[int, int], int] = defaultdict(int)
    offsets, links = [0], list[int]()
    parts, latency, sizes = list[float](), list[float](), list[float]()
    for _, source, target, size, _, _ in rows:
        sport = 10000 + earlier[source, target]
        earlier[source, target] += 1
        forth = fabric.way(source, target, sport | 100 << 16)
        back = fabric.way(target, source, 100 | sport << 16)
        packets = -(-size // payload)
        wire, last = size + packets * header, min(size, payload) + header
        links += forth + back
        parts += [1.0] * len(forth) + [packets * ack / wire] * len(back)
        offsets.append(len(links))
        sizes.append(float(wire))
        late = graph.latency_ns[forth + back].sum() + ack * ns_per_byte[back].sum()
        latency.append(late + last * ns_per_byte[forth[1:]].sum())
    table = RouteTable(
        offsets=np.array(offsets),
        links=np.array(links),
        parts=np.array(parts),
        latency_ns=np.array(latency),
    )
    flows = FlowTable(
        route=np.arange(len(rows)),
        size_bytes=np.array(sizes),
        start_ns=np.array([float(row[4]) for row in rows]),
        waits_offsets=np.concatenate([[0], np.cumsum([len(row[5]) for row in rows])]),
        waits_for=np.array([other for row in rows for other in row[5]], np.int64),
    )
    return simulate_flows(graph, table, flows).finish_ns


def controlled(case: dict[str, Any]) -> NDArray[np.float64]:
    """End of each flow, ns, at the sender, which reacts as its control says."""
    fabric, rows = Fabric(case), case["flows"]
    graph, control = fabric.graph(), control_of(case)
    earlier: dict[tuple[int, int], int] = defaultdict(int)
    forth, back = list[list[int]](), list[list[int]]()
    for _, source, target, *_ in rows:
        sport = 10000 + earlier[source, target]
        earlier[source, target] += 1
        forth.append(fabric.way(source, target, sport | 100 << 16))
        back.append(fabric.way(target, source, 100 | sport << 16))
    flows = FlowTable(
        route=np.arange(len(rows)),
        size_bytes=np.array([float(row[3]) for row in rows]),
        start_ns=np.array([float(row[4]) for row in rows]),
        waits_offsets=np.concatenate([[0], np.cumsum([len(row[5]) for row in rows])]),
        waits_for=np.array([other for row in rows for other in row[5]], np.int64),
    )
    ways = RouteTable.of(graph, forth), RouteTable.of(graph, back)
    longest = longest_trip(fabric, graph, control.payload_bytes) if control.has_window else None
    return simulate_controlled(graph, *ways, flows, control, longest).finish_ns


def control_of(case: dict[str, Any]) -> FlowControl:
    """The control of a case, with the parameters of its own configuration."""
    params, name = case["params"], case["cc"].split("_")[0]
    own: dict[str, object] = {
        "payload": f"{params['packet_payload_size']} B",
        "added": bytes_per_s(params["rate_ai"]),
        "least": bytes_per_s(params["min_rate"]),
    }
    if name == "dcqcn":
        rate, kilobytes = next(iter(params["kmax_kb"].items()))  # as long on links of any rate
        own |= {
            "more": bytes_per_s(params["rate_hai"]),
            "marked": f"{kilobytes * 8e12 / int(rate)} ns",
            "gain": params["ewma_gain"],
            "alpha": f"{params['alpha_resume_interval']} us",
            "cut": f"{params['rate_decrease_interval']} us",
            "rise": f"{params['rp_timer']} us",
            "fast": params["fast_recovery_times"],
            "clamps": bool(params["clamp_target_rate"]),
        }
    elif name == "timely":
        own |= {"more": bytes_per_s(params["rate_hai"])}
        own |= {"weight": params["timely_alpha"], "part": params["timely_beta"]}
        for key, ours in (("tlow", "low"), ("thigh", "high"), ("minrtt", "shortest")):
            own[ours] = f"{params[f'timely_{key}_ns']} ns"
    else:
        own |= {"target_use": params["u_target"], "stages": params["mi_thresh"]}
        own |= {"at_once": bool(params["fast_react"])}
    return control_of_table({"name": name, **own})


def bytes_per_s(rate: str) -> str:
    """A rate such as 20Mb/s, in bytes."""
    number = float(rate.removesuffix("b/s")[:-1])
    return f"{number / 8} {rate[-4]}B/s"


def longest_trip(fabric: Fabric, graph: NetworkGraph, payload: float) -> LongestTrip:
    """Round trip and window of the pair of hosts that has the longest."""
    hosts = [node for node in range(fabric.nodes) if node not in fabric.switches]
    trips, windows = [0.0], [0.0]
    for source in hosts:
        for target in [host for host in hosts if host != source]:
            way = fabric.way(source, target, 0)
            rates = graph.bytes_per_s[way]
            trip = 2 * graph.latency_ns[way].sum() + (payload * 1e9 // rates).sum()
            trips.append(float(trip))
            windows.append(float(trip * rates.min() // 1e9))
    return LongestTrip(ns=max(trips), window_bytes=max(windows))


def compared(path: Path, *, reacts: bool = False) -> tuple[str, str, float, float]:
    """Family, control, and both ratios of one case: mean time of a flow, last end.

    Where senders react, the control is followed that the case has, if `flow` has it.
    """
    case = json.loads(path.read_text())
    followed = reacts and case["cc"].split("_")[0] in CONTROLS
    got = controlled(case) if followed else simulated(case)
    columns = case["expect"]["cols"]
    rows = sorted(case["expect"]["flows"])
    begin = np.array([row[columns.index("start_ns")] for row in rows], float)
    want = np.array([row[columns.index("finish_ns")] for row in rows], float)
    place = {row[0]: at for at, row in enumerate(case["flows"])}
    released = [
        row[4] + max((got[place[other]] for other in row[5]), default=0.0) for row in case["flows"]
    ]
    times = got - np.array(released)
    mean = float(times.mean() / (want - begin).mean())
    return case["family"], case["cc"].split("_")[0], mean, float(got.max() / want.max())
