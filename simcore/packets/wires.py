"""Ports of a graph of links that lead one way each: two links between two nodes make a wire."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.packets.case import Topology
from simcore.packets.parameters import MOST_RATE

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Wires:
    """A topology of wires, and the port at which each link begins.

    Attributes:
        topology: Hosts first, then switches.
        port: (L,) port of each link.
    """

    topology: Topology
    port: Ints


def wires_of(
    ends: tuple[Ints, Ints], bytes_per_ns: Floats, latency_ns: Floats, npus: int, buffer_bytes: int
) -> Wires:
    """The wires of links.

    Args:
        ends: (L,) node at which each link begins, and (L,) at which it ends.
        bytes_per_ns: (L,) of each link.
        latency_ns: (L,) of each link, in whole ns after rounding.
        npus: Nodes that are hosts, the first ones.
        buffer_bytes: Of a switch.

    Raises:
        ConfigError: The two directions of a wire differ, or are too fast.
    """
    rates = [round(rate * 8e9) for rate in bytes_per_ns.tolist()]
    delays = [round(delay) for delay in latency_ns.tolist()]
    if max(rates) > MOST_RATE or min(rates) < 1:
        rule = f"must have links of 1 bit/s to {MOST_RATE // 10**12} Tbit/s"
        raise ConfigError("platform", rule, got=f"{max(rates)} bit/s")
    found: dict[tuple[int, int, int], int] = {}
    rows: list[tuple[int, int, int, int]] = []
    seen: dict[tuple[int, int], int] = {}
    port = np.empty(len(rates), np.int64)
    for link, (a, b) in enumerate(zip(ends[0].tolist(), ends[1].tolist(), strict=True)):
        number = seen[a, b] = seen.get((a, b), -1) + 1
        key = (min(a, b), max(a, b), number)
        wire = found.get(key)
        if wire is None:
            wire = found[key] = len(rows)
            rows.append((a, b, rates[link], delays[link]))
        elif rows[wire][2:] != (rates[link], delays[link]):
            rule = "must have the same rate and latency in both directions of a cable"
            raise ConfigError("platform.network", rule, got=f"{rates[link]} and {rows[wire][2]}")
        port[link] = 2 * wire + (rows[wire][0] != a)
    nodes = 1 + max(int(ends[0].max()), int(ends[1].max()), npus - 1)
    switches = tuple(range(npus, nodes))
    return Wires(Topology(nodes, switches, tuple(rows), buffer_bytes, {}), port)


def way_facts(topology: Topology, ports: Sequence[int], payload: int) -> tuple[int, int]:
    """Round-trip time in ns of an empty way, and the bytes in flight on it.

    Args:
        topology: Of the wires.
        ports: The way, port by port.
        payload: Of a full packet.
    """
    wires = [topology.links[port >> 1] for port in ports]
    rate = min(wire[2] for wire in wires)
    sending = sum(8 * 10**9 * payload // wire[2] for wire in wires)
    round_ns = 2 * sum(wire[3] for wire in wires) + sending
    return round_ns, round_ns * rate // 10**9 // 8
