"""Networks from a file: lines ``router R`` with ``node N`` and ``router S`` to which they lead.

A number behind a router or a node is the cycles of that link, in that direction. Routes are
shortest ones by cycles, one for each pair; nothing keeps them from waiting for each other in a
circle.
"""

from collections.abc import Mapping
from heapq import heappop, heappush
from pathlib import Path
from typing import Any

import numpy as np

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.flits.topologies.wires import MOST_ROUTERS, Wires

MOST_BYTES = 1 << 26
MOST_CYCLES = 10_000

Neighbours = dict[int, dict[int, int]]


def any_network(config: Mapping[str, Any]) -> Wires:
    """Network of the file that ``network_file`` names.

    Raises:
        ConfigError: No file is named, it cannot be read, or a line breaks a rule.
    """
    if not config.get("network_file"):
        raise ConfigError("network_file", "must name the file of the network: add it", got="none")
    path = Path(str(config.get("network_file", "")))
    lines = read_text(path, MOST_BYTES).splitlines()
    ways, homes = _read(lines, path)
    return _wire(ways, homes, path)


def _read(lines: list[str], path: Path) -> tuple[Neighbours, dict[int, int]]:
    """Cycles from each router to each neighbour, and the router of each node."""
    ways: Neighbours = {}
    homes: dict[int, int] = {}
    for number, line in enumerate(lines, 1):
        words, place = line.split(), f"{path}:{number}"
        if not words:
            continue
        if words[0] != "router" or len(words) < 2:
            raise ConfigError(place, "must begin with router and its number", got=line[:60])
        router = _number(words[1], place, MOST_ROUTERS - 1)
        ways.setdefault(router, {})
        at = 2
        while at < len(words):
            kind, other = words[at], _number("".join(words[at + 1 : at + 2]), place, 1 << 16)
            at += 2
            cycles = 1
            if at < len(words) and words[at] not in ("router", "node"):
                cycles = _number(words[at], place, MOST_CYCLES)
                at += 1
            if kind == "node":
                if homes.setdefault(other, router) != router:
                    raise ConfigError(place, "must not attach a node twice", got=other)
            elif kind == "router":
                ways[router][other] = cycles
            else:
                raise ConfigError(place, "must list nodes and routers", got=kind)
    return ways, homes


def _number(word: str, place: str, most: int) -> int:
    if not word.isdecimal() or not word.isascii() or int(word) > most:
        raise ConfigError(place, f"must have whole numbers from 0 to {most:,}", got=word)
    return int(word)


def _wire(ways: Neighbours, homes: dict[int, int], path: Path) -> Wires:
    for router, neighbours in list(ways.items()):
        for other in neighbours:
            ways.setdefault(other, {}).setdefault(router, 1)  # a line may tell one direction only
    routers = len(ways)
    if not homes:
        raise ConfigError(str(path), "must attach nodes to routers", got=f"{routers} routers")
    if sorted(ways) != list(range(routers)):
        raise ConfigError(str(path), f"must number routers from 0 to {routers - 1}", got=max(ways))
    if sorted(homes) != list(range(len(homes))):
        raise ConfigError(
            str(path), f"must number nodes from 0 to {len(homes) - 1}", got=max(homes)
        )
    wires = Wires(routers=routers)
    ports = [0] * routers
    for node in range(len(homes)):
        router = homes[node]
        wires.nodes.append((router, ports[router], router, ports[router]))
        ports[router] += 1
    port_to = {}
    for router in range(routers):
        for place, other in enumerate(sorted(ways[router])):
            port_to[router, other] = ports[router] + place
    for (router, other), port in port_to.items():
        wires.ends.append((router, port, other, port_to[other, router], ways[router][other]))
    wires.table = _shortest(ways, wires, port_to, path)
    return wires


def _shortest(
    ways: Neighbours, wires: Wires, port_to: dict[tuple[int, int], int], path: Path
) -> Any:
    """(R, N) outputs on shortest paths; of equal ones that of the router that is settled first."""
    table = np.zeros((wires.routers, len(wires.nodes)), np.int64)
    for router in range(wires.routers):
        first = _first_steps(ways, router)
        for node, (home, port, _, _) in enumerate(wires.nodes):
            if home == router:
                table[router, node] = port
            elif home not in first:
                raise ConfigError(
                    str(path), f"must lead from router {router} to every node", got=node
                )
            else:
                table[router, node] = port_to[router, first[home]]
    return table


def _first_steps(ways: Neighbours, start: int) -> dict[int, int]:
    """Neighbour of *start* on the way to each router."""
    far, settled = {start: 0}, set()
    first: dict[int, int] = {}
    heap = [(0, start)]
    while heap:
        cycles, router = heappop(heap)
        if router in settled:
            continue
        settled.add(router)
        for other, more in sorted(ways[router].items()):
            if other not in far or cycles + more < far[other]:
                far[other] = cycles + more
                first[other] = other if router == start else first[router]
                heappush(heap, (far[other], other))
    return first
