"""A network and what is sent over it, from the parameters that BookSim 2 has for them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcore.errors import ConfigError

MOST_ROUTERS = 1 << 14
MOST_FLITS = 1 << 16
MOST_CHANNELS = 256
MOST_CYCLES = 1 << 40

ROUTES = {"mesh": ("dor",), "torus": ("dim_order", "dim_order_bal")}
"""Routing functions of each topology."""

_FIXED = {
    "routing_delay": 1, "vc_alloc_delay": 1, "sw_alloc_delay": 1, "st_prepare_delay": 0,
    "st_final_delay": 1, "output_delay": 0, "wait_for_tail_credit": 0, "vc_allocator": "islip",
    "sw_allocator": "islip", "alloc_iters": 1, "input_speedup": 1, "output_speedup": 1,
    "internal_speedup": 1.0, "speculative": 0, "hold_switch_for_packet": 0,
    "injection_process": "bernoulli", "injection_rate_uses_flits": 1,
}  # fmt: skip
"""Parameters of which one value is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A network, and the rules by which it is measured.

    Attributes:
        topology, side, dimensions: ``mesh`` or ``torus`` of side^dimensions routers.
        route: Routing function.
        channels, depth: Virtual channels of a port, and flits that each holds.
        latency: Cycles of a link between routers.
        credit_delay: Cycles until a router may use a credit.
        size: Flits of a packet.
        traffic: Name of the pattern.
        batch: Packets of each node that are sent as fast as possible; 0: packets come at random.
        most_out: Packets of a node that may be on their way in a batch; 0: any number.
        warmup, period, samples: Periods that are left out, their cycles, and periods at most.
    """

    topology: str
    side: int
    dimensions: int
    route: str
    channels: int
    depth: int
    latency: int
    credit_delay: int
    size: int
    traffic: str
    batch: int
    most_out: int
    warmup: int
    period: int
    samples: int

    @property
    def nodes(self) -> int:
        return int(self.side**self.dimensions)


def read_case(config: Mapping[str, Any]) -> Case:
    """The case that a table of parameters describes.

    Raises:
        ConfigError: A parameter is missing, breaks its rule, or has a value that is not known here.
    """
    for name, known in _FIXED.items():
        if config.get(name, known) != known:
            raise ConfigError(name, f"must be {known}, the only value so far", got=config[name])
    topology = config.get("topology")
    if topology not in ROUTES:
        rule = f"must be one of {', '.join(ROUTES)}: no other network is known so far"
        raise ConfigError("topology", rule, got=topology)
    route = config.get("routing_function")
    if route not in ROUTES[topology]:
        rule = f"must be one of {', '.join(ROUTES[topology])} on a {topology}, so far"
        raise ConfigError("routing_function", rule, got=route)
    folded = topology == "torus" and _whole(config, "use_noc_latency", 0, 1, 1)
    case = Case(
        topology=topology,
        side=_whole(config, "k", 2, MOST_ROUTERS),
        dimensions=_whole(config, "n", 1, 14),
        route=route,
        channels=_whole(config, "num_vcs", 1, MOST_CHANNELS),
        depth=_whole(config, "vc_buf_size", 1, MOST_FLITS),
        latency=2 if folded else 1,
        credit_delay=_whole(config, "credit_delay", 0, 1000, 0),
        size=_whole(config, "packet_size", 1, MOST_FLITS),
        traffic=str(config.get("traffic", "uniform")),
        batch=_whole(config, "batch_size", 1, 1 << 30) if "batch_size" in config else 0,
        most_out=_whole(config, "max_outstanding_requests", 0, 1 << 30, 0),
        warmup=_whole(config, "warmup_periods", 1, 1 << 20, 3),
        period=_whole(config, "sample_period", 1, 1 << 30, 1000),
        samples=_whole(config, "max_samples", 1, 1 << 20, 10),
    )
    if case.nodes > MOST_ROUTERS:
        rule = f"must give at most {MOST_ROUTERS:,} routers, k to the n-th"
        raise ConfigError("k", rule, got=case.side)
    if topology == "torus" and case.channels % 2:
        raise ConfigError("num_vcs", "must be even: a torus halves them", got=case.channels)
    return case


def _whole(
    config: Mapping[str, Any], name: str, least: int, most: int, default: int | None = None
) -> int:
    value = config.get(name, default)
    is_whole = isinstance(value, int | float) and value == int(value)
    if not is_whole or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(name, f"must be a whole number from {least} to {most:,}", got=value)
    return int(value)


def targets_of(case: Case, tables: Mapping[str, Sequence[int]]) -> tuple[str, list[int]]:
    """Kind of a traffic pattern (``uniform``, ``table`` or ``listed``) and its nodes.

    Args:
        case: Says which pattern.
        tables: Permutations by name.

    Raises:
        ConfigError: There is no such pattern, or it does not fit the number of nodes.
    """
    nodes, name = case.nodes, case.traffic
    if name == "uniform":
        return "uniform", []
    listed = re.fullmatch(r"hotspot\(\{([\d, ]+)\}\)", name)
    if listed:
        found = [int(word) for word in listed[1].split(",") if word.strip()]
    elif name in _BITS:
        if nodes & (nodes - 1):
            raise ConfigError("traffic", f"{name} needs a power of two of nodes", got=nodes)
        bits = nodes.bit_length() - 1
        if name == "transpose" and bits % 2:
            raise ConfigError("traffic", "transpose needs a square of nodes", got=nodes)
        found = [_BITS[name](node, bits) for node in range(nodes)]
    elif name in ("tornado", "neighbor"):
        step = 1 if name == "neighbor" else -(-case.side // 2) - 1
        found = [_shifted(node, case, step) for node in range(nodes)]
    elif name in tables:
        found = [int(node) for node in tables[name]]
    else:
        rule = "must be uniform, bitcomp, transpose, bitrev, shuffle, tornado, neighbor, "
        rule += "hotspot({a}) or a permutation of the manifest"
        raise ConfigError("traffic", rule, got=name)
    if not found or max(found) >= nodes or (not listed and len(found) != nodes):
        raise ConfigError("traffic", f"must name nodes from 0 to {nodes - 1}", got=name)
    # BookSim 2's runs load one node only, the throughput says, whatever else is listed
    return ("listed", found[:1]) if listed else ("table", found)


def _shifted(node: int, case: Case, step: int) -> int:
    strides = [case.side**d for d in range(case.dimensions)]
    return sum((node // stride % case.side + step) % case.side * stride for stride in strides)


_BITS: dict[str, Callable[[int, int], int]] = {
    "bitcomp": lambda node, bits: ~node & (1 << bits) - 1,
    "transpose": lambda node, bits: node >> bits // 2 | (node & (1 << bits // 2) - 1) << bits // 2,
    "bitrev": lambda node, bits: int(f"{node:0{bits}b}"[::-1], 2) if bits else 0,
    "shuffle": lambda node, bits: (node << 1 | node >> bits - 1) & (1 << bits) - 1 if bits else 0,
}
