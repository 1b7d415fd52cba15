"""A network and what is sent over it, from the parameters that BookSim 2 has for them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.flits.bursts import BURST_NAMES, Bursts, read_bursts
from simcore.flits.settings import MOST_CHANNELS, MOST_FLITS
from simcore.flits.topologies.known import TOPOLOGIES, Routing, Topology
from simcore.flits.topologies.wires import whole
from simcore.kernels.flits.allocation import INPUT_FIRST, ISLIP, OUTPUT_FIRST
from simcore.kernels.flits.matching import (
    LARGEST,
    LONELY,
    NEXT_WAVEFRONT,
    RANDOM_POINTERS,
    WAVEFRONT,
)
from simcore.kernels.flits.network import How, Links
from simcore.kernels.flits.routes.rule import Rule

MOST_STAGE_CYCLES = 1000
MOST_SPEEDUP = 16

ALLOCATORS = {
    "islip": ISLIP, "separable_input_first": INPUT_FIRST, "separable_output_first": OUTPUT_FIRST,
    "select": OUTPUT_FIRST, "wavefront": WAVEFRONT, "rr_wavefront": NEXT_WAVEFRONT,
    "pim": RANDOM_POINTERS, "loa": LONELY, "max_size": LARGEST,
}  # fmt: skip
"""Allocators by name; ``select`` with one iteration is output first."""

ITERATED = (ISLIP, RANDOM_POINTERS)
"""Allocators that may have several iterations."""

_FIXED: dict[str, object] = {
    "internal_speedup": 1.0,
    "arb_type": "round_robin", "batch_count": 1, "buf_size": -1, "buffer_policy": "private",
    "classes": 1, "include_queuing": 1, "latency_thres": 500.0, "link_failures": 0, "noq": 0,
    "output_buffer_size": -1, "priority": "none", "router": "iq", "spec_check_cred": 1,
    "spec_check_elig": 1, "spec_mask_by_reqs": 0, "spec_sw_allocator": "prio", "subnets": 1,
    "use_read_write": 0, "vc_busy_when_full": 0, "vc_prioritize_empty": 0, "vc_shuffle_requests": 0,
    "vct": 0,
}  # fmt: skip
"""Parameters of which one value is known."""

_READ = frozenset({
    "topology", "routing_function", "network_file", "k", "n", "c", "x", "y", "xr", "yr",
    "use_noc_latency", "num_vcs", "vc_buf_size", "packet_size", "routing_delay",
    "st_prepare_delay", "st_final_delay", "credit_delay", "wait_for_tail_credit", "speculative",
    "hold_switch_for_packet", "input_speedup", "vc_allocator", "sw_allocator", "alloc_iters",
    "traffic", "batch_size", "max_outstanding_requests", "sim_type", "warmup_periods",
    "sample_period", "max_samples", "vc_alloc_delay", "sw_alloc_delay", "output_delay",
    "output_speedup", "injection_process", "injection_rate_uses_flits", *BURST_NAMES,
})  # fmt: skip
"""Parameters that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A network, and the rules by which it is measured.

    Attributes:
        links: Of its routers and nodes.
        rule: Of its routes.
        how: Its routers work.
        base, digits: Digits of a node's number that patterns of traffic shift; 0: there are none.
        traffic: Name of the pattern.
        unit: Flits of which an offered rate of 1 is one per node and cycle.
        bursts: In which nodes send; None: in each cycle by the same chance.
        batch: Packets of each node that are sent as fast as possible; 0: packets come at random.
        most_out: Packets of a node that may be on their way in a batch; 0: any number.
        warmup, period, samples: Periods that are left out, their cycles, and periods at most.
    """

    links: Links
    rule: Rule
    how: How
    base: int
    digits: int
    traffic: str
    unit: int
    bursts: Bursts | None
    batch: int
    most_out: int
    warmup: int
    period: int
    samples: int

    @property
    def nodes(self) -> int:
        return len(self.links.node_router)


def read_case(config: Mapping[str, Any], folder: Path = Path()) -> Case:
    """The case that a table of parameters describes.

    Args:
        config: The parameters.
        folder: Where a ``network_file`` is looked for.

    Raises:
        ConfigError: A parameter is missing, breaks its rule, or has a value that is not known here.
    """
    for name, known in _FIXED.items():
        if config.get(name, known) != known:
            raise ConfigError(name, f"must be {known}, the only value so far", got=config[name])
    for name in config:
        if name not in _FIXED and name not in _READ:
            unknown = "must be left out: no such parameter is known"
            raise ConfigError(name, unknown, got=config[name])
    kinds = ("batch",) if "batch_size" in config else ("latency", "throughput")
    if config.get("sim_type", kinds[0]) not in kinds:
        fits = "must be batch where there is a batch_size, else latency or throughput"
        raise ConfigError("sim_type", fits, got=config["sim_type"])
    topology, routing = _topology(config)
    how = _how(config, routing)
    if "network_file" in config:
        config = {**config, "network_file": folder / str(config["network_file"])}
    wires = topology.wires(config)
    rule = Rule(
        routing.kind, wires.side, wires.dimensions, how.channels, wires.first,
        routing.skipped * (how.channels // 3), wires.table,
    )  # fmt: skip
    return Case(
        links=wires.links(whole(config, "credit_delay", 0, MOST_STAGE_CYCLES, 0)),
        rule=rule,
        how=how,
        base=wires.base,
        digits=wires.digits,
        traffic=str(config.get("traffic", "uniform")),
        unit=how.size if whole(config, "injection_rate_uses_flits", 0, 1, 1) else 1,
        bursts=read_bursts(config),
        batch=whole(config, "batch_size", 1, 1 << 30) if "batch_size" in config else 0,
        most_out=whole(config, "max_outstanding_requests", 0, 1 << 30, 0),
        warmup=whole(config, "warmup_periods", 1, 1 << 20, 3),
        period=whole(config, "sample_period", 1, 1 << 30, 1000),
        samples=whole(config, "max_samples", 1, 1 << 20, 10),
    )


def _topology(config: Mapping[str, Any]) -> tuple[Topology, Routing]:
    name, route = config.get("topology"), config.get("routing_function")
    topology = TOPOLOGIES.get(str(name))
    if topology is None:
        raise ConfigError("topology", f"must be one of {', '.join(TOPOLOGIES)}", got=name)
    routing = topology.routings.get(str(route))
    if routing is None:
        rule = f"must be one of {', '.join(topology.routings)} with topology {name}"
        raise ConfigError("routing_function", rule, got=route)
    return topology, routing


def _how(config: Mapping[str, Any], routing: Routing) -> How:
    """A router's way to work."""
    channels = whole(config, "num_vcs", 1, MOST_CHANNELS)
    route = config["routing_function"]
    if channels < routing.least:
        rule = f"must be at least {routing.least} with routing_function {route}"
        raise ConfigError("num_vcs", rule, got=channels)
    if channels % routing.parts:
        halves = f"must be even: routing_function {route} halves them"
        parts = f"must be a multiple of {routing.parts} with routing_function {route}"
        rule = halves if routing.parts == 2 else parts
        raise ConfigError("num_vcs", rule, got=channels)
    whole(config, "alloc_iters", 1, 16, 1)  # BookSim 2 reads it, and its routers do not
    whole(config, "output_delay", 0, MOST_STAGE_CYCLES, 0)  # likewise
    channel, switch = _allocator(config, "vc_allocator"), _allocator(config, "sw_allocator")
    prepare = whole(config, "st_prepare_delay", 0, MOST_STAGE_CYCLES, 0)
    return How(
        channels=channels,
        depth=whole(config, "vc_buf_size", 1, MOST_FLITS),
        size=whole(config, "packet_size", 1, MOST_FLITS),
        routing=whole(config, "routing_delay", 0, MOST_STAGE_CYCLES, 1),
        crossing=prepare + whole(config, "st_final_delay", 1, MOST_STAGE_CYCLES, 1),
        channel_cycles=_allocation_cycles(config, "vc_alloc_delay"),
        switch_cycles=_allocation_cycles(config, "sw_alloc_delay"),
        guesses=whole(config, "speculative", 0, 1, 0) == 1,
        holds=whole(config, "hold_switch_for_packet", 0, 1, 0) == 1,
        tail_credit=whole(config, "wait_for_tail_credit", 0, 1, 0) == 1,
        input_ports=whole(config, "input_speedup", 1, channels, 1),
        output_ports=whole(config, "output_speedup", 1, MOST_SPEEDUP, 1),
        channel_kind=channel[0],
        switch_kind=switch[0],
        iterations=_iterations(channel[1], switch[1]),
    )


def _allocation_cycles(config: Mapping[str, Any], name: str) -> int:
    """Cycles of an allocation; BookSim 2 stops where it takes several and a head guesses."""
    cycles = whole(config, name, 1, MOST_STAGE_CYCLES, 1)
    if cycles > 1 and whole(config, "speculative", 0, 1, 0):
        raise ConfigError(name, "must be 1 with speculative 1", got=cycles)
    return cycles


def _allocator(config: Mapping[str, Any], name: str) -> tuple[int, int]:
    """Kind of an allocator, and its iterations: ``islip(2)`` has two, other kinds any number."""
    found = str(config.get(name, "islip"))
    several = re.fullmatch(r"(islip|pim)\(([1-9]|1[0-6])\)", found)
    if several:
        return ALLOCATORS[several[1]], int(several[2])
    if found not in ALLOCATORS:
        rule = (
            f"must be one of {', '.join(ALLOCATORS)}, or islip(2) or pim(2) for iterations, to 16"
        )
        raise ConfigError(name, rule, got=config[name])
    return ALLOCATORS[found], 1 if ALLOCATORS[found] in ITERATED else 0


def _iterations(channel: int, switch: int) -> int:
    """Iterations of both allocators, of which one that has none (0) takes any."""
    if channel and switch and channel != switch:
        rule = f"must have as many iterations as vc_allocator, {channel}"
        raise ConfigError("sw_allocator", rule, got=switch)
    return max(channel, switch, 1)


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
        if case.base == 0:
            raise ConfigError("traffic", f"{name} needs a grid of nodes, as k and n give", got=name)
        step = 1 if name == "neighbor" else -(-case.base // 2) - 1
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
    strides = [case.base**d for d in range(case.digits)]
    return sum((node // stride % case.base + step) % case.base * stride for stride in strides)


_BITS: dict[str, Callable[[int, int], int]] = {
    "bitcomp": lambda node, bits: ~node & (1 << bits) - 1,
    "transpose": lambda node, bits: node >> bits // 2 | (node & (1 << bits // 2) - 1) << bits // 2,
    "bitrev": lambda node, bits: int(f"{node:0{bits}b}"[::-1], 2) if bits else 0,
    "shuffle": lambda node, bits: (node << 1 | node >> bits - 1) & (1 << bits) - 1 if bits else 0,
}
