"""A network as synthesis sees it: arcs along which chunks go, and the links that they occupy."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.files.yaml_file import read_yaml
from simcore.graphs.circuits import refuse_circuits
from simcore.graphs.graph import MOST_NODES, NetworkGraph
from simcore.graphs.read import read_networks
from simcore.graphs.read.link_list import checked_rows, is_number, is_whole

Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]
Floats = NDArray[np.float64]

_COLUMNS = ("a", "b", "rate", "latency")
_NS = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fabric:
    """NPUs 0 to ``npus`` - 1, switches after them, and arcs in order of the node that they leave.

    Attributes:
        npus: NPUs.
        nodes: NPUs and switches.
        tail: (A,) node at which each arc begins.
        head: (A,) node at which it ends.
        link: (A,) link that it occupies; a half-duplex link has two arcs.
        rate: (L,) bytes per second of each link, or units of size per unit of time.
        latency: (L,) of each link, in the same unit of time.
        copies: Whether switches can send on several times what they were sent once.
        reduces: Whether switches can combine chunks.
        npus_forward: Whether NPUs pass on what is for others alone.
    """

    npus: int
    nodes: int
    tail: Ints
    head: Ints
    link: Ints
    rate: Floats
    latency: Floats
    copies: bool = False
    reduces: bool = False
    npus_forward: bool = True

    @property
    def links(self) -> int:
        """Links."""
        return len(self.rate)

    @property
    def offsets(self) -> Ints:
        """(nodes + 1,) where the arcs of each node begin."""
        return np.searchsorted(self.tail, np.arange(self.nodes + 1)).astype(np.int64)

    def reversed(self) -> "Fabric":
        """This fabric with every arc turned around; what copied reduces."""
        order = np.argsort(self.head, kind="stable")
        return replace(
            self,
            tail=self.head[order],
            head=self.tail[order],
            link=self.link[order],
            copies=self.reduces,
            reduces=self.copies,
        )

    def mirror(self) -> Ints | None:
        """Links (L,) back for links there, of the same rate and latency; None if some have none."""
        speeds = self.rate[self.link], self.latency[self.link]
        there = np.lexsort((self.link, *speeds, self.head, self.tail))
        back = np.lexsort((self.link, *speeds, self.tail, self.head))
        same = [(self.tail, self.head), (self.head, self.tail), *((one, one) for one in speeds)]
        if any((one[there] != other[back]).any() for one, other in same):
            return None
        twin = np.zeros(self.links, np.int64)
        twin[self.link[there]] = self.link[back]
        return twin if (twin[self.link[there]] == self.link[back]).all() else None

    def without_latency(self) -> "Fabric":
        """This fabric as it is to messages so large that latencies do not count."""
        return replace(self, latency=np.zeros(self.links))


def fabric_of(
    graph: NetworkGraph, switch_copies: bool = False, switch_reduces: bool = False
) -> Fabric:
    """The fabric of a network graph; times are in seconds."""
    both = np.flatnonzero(graph.half)
    tail = np.concatenate([graph.link_from, graph.link_to[both]])
    head = np.concatenate([graph.link_to, graph.link_from[both]])
    link = np.concatenate([np.arange(graph.links), both])
    order = np.argsort(tail, kind="stable")
    return Fabric(
        npus=graph.npus,
        nodes=graph.nodes,
        tail=tail[order],
        head=head[order],
        link=link[order],
        rate=graph.bytes_per_s,
        latency=graph.latency_ns * _NS,
        copies=switch_copies,
        reduces=switch_reduces,
        npus_forward=graph.npus_forward,
    )


def read_fabric(path: Path, switch_copies: bool = False, switch_reduces: bool = False) -> Fabric:
    """The fabric of a file.

    The file is a network file (a family, node-link JSON, GraphML), or a table of directed links in
    units of one's own: ``npus``, ``nodes``, ``links`` with columns a, b, rate and latency, and
    ``switch_copies``, ``switch_reduces``, ``npus_forward``, as other bounds of collectives are
    given in.

    Raises:
        ConfigError: It cannot be read, or breaks a rule.
    """
    if path.suffix != ".graphml":
        data = read_yaml(path) if path.suffix in (".yaml", ".yml") else read_json(path)
        if isinstance(data, dict) and "links" in data and "npus" in data:
            try:
                return fabric_of_table(data, switch_copies, switch_reduces)
            except ConfigError as error:
                raise error.in_file(path) from None
    networks, listed = read_networks(path)
    if listed:
        raise ConfigError(str(path), "must hold one network, not a list", got=len(networks))
    try:
        own = networks[0].in_network
        if own.reduces and own.limits:
            rule = (
                "must be left out where a schedule is written, whose times know no such limit of "
                "switches; runs count it"
            )
            told = own.model_dump(mode="json", by_alias=True, exclude_none=True)
            raise ConfigError(f"in_network.{own.limits[0]}", rule, got=told[own.limits[0]])
        copies, reduces = switch_copies or own.multicasts, switch_reduces or own.reduces
        graph = networks[0].graph()
        refuse_circuits(graph, "synthesised schedules")
        return fabric_of(graph, copies, reduces)
    except ConfigError as error:
        raise error.in_file(path) from None


def fabric_of_table(
    table: Mapping[str, Any], switch_copies: bool = False, switch_reduces: bool = False
) -> Fabric:
    """The fabric of a table of directed links.

    Raises:
        ConfigError: A key or a row breaks a rule.
    """
    npus = _count(table, "npus", 1)
    nodes = _count(table, "nodes", npus)
    begin, end, rates, latencies = [], [], [], []
    for number, (a, b, rate, latency) in enumerate(checked_rows(table, "links", _COLUMNS, "")):
        at = f"links[{number}]"
        for name, node in (("a", a), ("b", b)):
            if not is_whole(node) or not 0 <= node < nodes:
                raise ConfigError(f"{at}.{name}", f"must be a node, 0 to {nodes - 1}", got=node)
        if a == b:
            raise ConfigError(at, "must join two different nodes", got=[a, b])
        if not is_number(latency) or latency < 0:
            raise ConfigError(f"{at}.latency", "must be a number, 0 or more", got=latency)
        begin.append(a)
        end.append(b)
        rates.append(_rate(rate, f"{at}.rate"))
        latencies.append(float(latency))
    order = np.argsort(np.array(begin, np.int64), kind="stable")
    return Fabric(
        npus=npus,
        nodes=nodes,
        tail=np.array(begin, np.int64)[order],
        head=np.array(end, np.int64)[order],
        link=order,
        rate=np.array(rates, np.float64),
        latency=np.array(latencies, np.float64),
        copies=switch_copies or _flag(table, "switch_copies", False),
        reduces=switch_reduces or _flag(table, "switch_reduces", False),
        npus_forward=_flag(table, "npus_forward", True),
    )


def _count(table: Mapping[str, Any], key: str, least: int) -> int:
    value = table.get(key)
    if not is_whole(value) or not least <= value <= MOST_NODES:  # type: ignore[operator]
        raise ConfigError(key, f"must be a whole number, {least} to {MOST_NODES}", got=value)
    return int(value)  # type: ignore[arg-type]


def _flag(table: Mapping[str, Any], key: str, default: bool) -> bool:
    value = table.get(key)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise ConfigError(key, "must be true, false or null", got=value)
    return value


def _rate(value: object, at: str) -> float:
    """A rate: a number, or the text of a fraction such as ``25/2``."""
    try:
        rate = float(Fraction(value)) if isinstance(value, str) else value
    except (ValueError, ZeroDivisionError, OverflowError):
        rate = None
    if not is_number(rate) or not rate > 0:  # type: ignore[operator]
        raise ConfigError(at, "must be a number above 0", got=value)
    return float(rate)  # type: ignore[arg-type]
