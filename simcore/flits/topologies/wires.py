"""A network of routers as it is wired, one link and one node at a time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.kernels.flits.network import CYCLE, NOWHERE, Ints, Links

ENDPOINT_LATENCY = 1
MOST_ROUTERS = 1 << 14
MOST_PORTS = 1 << 12
NO_TABLE = np.zeros((0, 0), np.int64)


@dataclass(slots=True, kw_only=True)
class Wires:
    """Links between routers, and nodes on them.

    Attributes:
        routers: How many.
        ends: (router, output, router, input, cycles) of each link.
        slowness: For how long a flit keeps each link busy, in parts of a cycle; none: a cycle.
        nodes: (router, input, router, output) where each node's flits enter and leave; routers
            below 0: they do not.
        node_cycles: Of the links of nodes.
        node_slowness: Likewise of those by which flits enter; none: a cycle.
        turn: (R, P) places of inputs' first channels in their turns; none: 0.
        side, dimensions: Of a grid, or ways down and levels of a tree.
        first: Port of the first link between routers.
        base, digits: Digits of a node's number, as patterns of traffic shift them; 0: none.
        table: (R, N) outputs by router and node, where routes are looked up.
    """

    routers: int
    side: int = 1
    dimensions: int = 1
    first: int = 0
    base: int = 0
    digits: int = 0
    ends: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    slowness: list[int] = field(default_factory=list)
    nodes: list[tuple[int, int, int, int]] = field(default_factory=list)
    node_cycles: int = ENDPOINT_LATENCY
    node_slowness: list[int] = field(default_factory=list)
    turn: Ints = field(default_factory=lambda: NO_TABLE)
    table: Ints = field(default_factory=lambda: NO_TABLE)

    def links(self, credit_delay: int = 0) -> Links:
        """Arrays of the links; a credit takes a link's cycles and *credit_delay* more."""
        used = [port for end in self.ends for port in (end[1], end[3])]
        used += [port for node in self.nodes for port in (node[1], node[3])]
        shape = (3, self.routers, max(used) + 1)
        ends, starts = np.full(shape, NOWHERE, np.int64), np.full(shape, NOWHERE, np.int64)
        ends[1:], starts[1:] = 0, 0
        slowness = np.full(shape[1:], CYCLE, np.int64)
        for (router, output, other, port, cycles), slow in zip_longest(self.ends, self.slowness):
            ends[:, router, output] = other, port, cycles
            starts[:, other, port] = router, output, cycles + credit_delay
            slowness[router, output] = slow or CYCLE
        back = self.node_cycles + credit_delay
        for number, (router, port, last, output) in enumerate(self.nodes):
            if router >= 0:
                starts[:, router, port] = -1 - number, 0, back
            if last >= 0:
                ends[:, last, output] = -1 - number, 0, self.node_cycles
        doors = np.maximum(np.array(self.nodes, np.int64).T, 0)
        count = len(self.nodes)
        return Links(
            ends[0], ends[1], ends[2], starts[0], starts[1], starts[2],
            doors[0], doors[1], doors[2], doors[3], back,
            node_cycles=np.full(count, self.node_cycles, np.int64),
            node_slowness=np.array(self.node_slowness or [CYCLE] * count, np.int64),
            slowness=slowness,
            turn=self.turn if self.turn.size else np.zeros(shape[1:], np.int64),
        )  # fmt: skip


def whole(
    config: Mapping[str, Any], name: str, least: int, most: int, default: int | None = None
) -> int:
    """A parameter that is a whole number.

    Raises:
        ConfigError: It is none, or out of its range.
    """
    value = config.get(name, default)
    is_whole = isinstance(value, int | float) and value == int(value)
    if not is_whole or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(name, f"must be a whole number from {least} to {most:,}", got=value)
    return int(value)


def sides(config: Mapping[str, Any], name: str = "k", least: int = 2) -> tuple[int, int, int]:
    """Parameters k and n, and k to the n-th, which is at most ``MOST_ROUTERS``.

    Raises:
        ConfigError: They break their rules.
    """
    k, n = whole(config, name, least, MOST_ROUTERS), whole(config, "n", 1, 14)
    if k**n > MOST_ROUTERS:
        raise ConfigError(name, f"must give at most {MOST_ROUTERS:,}, k to the n-th", got=k)
    return k, n, k**n
