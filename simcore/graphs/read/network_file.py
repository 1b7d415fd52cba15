"""Network files: a family by name with its parameters and the speed of its cables."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import Field

from simcore.errors import ConfigError
from simcore.files.json_file import read_json
from simcore.files.yaml_file import read_yaml
from simcore.graphs.families import FAMILIES, build_family
from simcore.graphs.graph import NetworkGraph
from simcore.graphs.read.link_list import graph_of_links
from simcore.schema import BytesPerS, Schema, Seconds

_NS_PER_S = 1e9


class CableSpeed(Schema):
    """Speed of the cables of one kind.

    Attributes:
        bandwidth_bytes_per_s: Of one cable in one direction.
        latency_s: Of one cable and the switch or NPU at its end.
    """

    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    latency_s: Seconds = Field(alias="latency", ge=0)


class NetworkFile(Schema):
    """One network.

    Attributes:
        id: Name under which results list it.
        family: A name of ``FAMILIES``, or ``package.module:Object``.
        params: Parameters of the family.
        npus_forward: Whether messages pass through NPUs; as the family says unless given.
        bandwidth_bytes_per_s: Of one cable in one direction, unless its kind has its own.
        latency_s: Of one cable, unless its kind has its own.
        cables: Speed of the cables by kind.
        pairs: NPUs whose distance and shortest ways are asked for.
    """

    id: str = ""
    family: str
    params: dict[str, Any] = Field(default_factory=dict)
    npus_forward: bool | None = None
    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", gt=0)
    latency_s: Seconds | None = Field(default=None, alias="latency", ge=0)
    cables: dict[str, CableSpeed] = Field(default_factory=dict)
    pairs: tuple[tuple[int, int], ...] = ()

    def graph(self, at: str = "") -> NetworkGraph:
        """The graph, with the speeds that are told.

        Raises:
            ConfigError: An unknown family, parameters that break a rule, or a kind of cables that
                the network does not have.
        """
        place = f"{at}." if at else ""
        if self.family not in FAMILIES:
            raise FAMILIES.unknown(self.family, at=f"{place}family")
        graph = build_family(FAMILIES[self.family], self.params, f"{place}params")
        if self.npus_forward is not None:
            graph = graph.forwarding(self.npus_forward)
        return self._with_speeds(graph, place)

    @property
    def has_speeds(self) -> bool:
        """True if the cables have a bandwidth, so that messages can be sent."""
        return self.bandwidth_bytes_per_s is not None or bool(self.cables)

    def formula(self) -> tuple[int, str] | None:
        """The narrowest cut by the family's formula, where it has one."""
        family = FAMILIES[self.family]
        parameters = family.parameters.from_file_data(self.params, at="params")
        return None if parameters.failed else family.bisection(parameters)

    def _with_speeds(self, graph: NetworkGraph, place: str) -> NetworkGraph:
        for kind in self.cables:
            if kind not in graph.kinds:
                rule = f"must be kinds of cables that there are: {', '.join(graph.kinds)}"
                raise ConfigError(f"{place}cables", rule, got=kind)
        if not self.has_speeds:
            return graph
        rates, latencies = [], []
        for kind in graph.kinds:
            own = self.cables.get(kind)
            rate = own.bandwidth_bytes_per_s if own else self.bandwidth_bytes_per_s
            latency = own.latency_s if own else self.latency_s
            if rate is None:
                rule = f"must tell the bandwidth of the cables of kind {kind}"
                raise ConfigError(f"{place}bandwidth", rule, got=rate)
            rates.append(rate)
            latencies.append((latency or 0.0) * _NS_PER_S)
        kind_of = graph.kind_of[graph.cable_of]
        return replace(
            graph,
            bytes_per_s=np.array(rates)[kind_of],
            latency_ns=np.array(latencies)[kind_of],
            _kept={},
        )


def read_networks(path: Path) -> tuple[list[NetworkFile], bool]:
    """The networks of a JSON or YAML file, and whether they stand in a list.

    Raises:
        ConfigError: The file cannot be read, or a network breaks a rule.
    """
    data = read_yaml(path) if path.suffix in (".yaml", ".yml") else read_json(path)
    if not isinstance(data, list):
        return [NetworkFile.from_file_data(data, at="")], False
    found = [NetworkFile.from_file_data(one, at=f"[{at}]") for at, one in enumerate(data)]
    names = [one.id for one in found]
    for at, name in enumerate(names):
        if not name or name in names[:at]:
            raise ConfigError(f"[{at}].id", "must be a name of its own", got=name)
    return found, True


def graph_of_table(table: object, at: str = "graph") -> NetworkGraph:
    """The graph of a table: a list of links, or a family with the speed of its cables.

    Raises:
        ConfigError: It is neither, or breaks a rule.
    """
    if isinstance(table, Mapping) and "links" in table:
        return graph_of_links(table, at)
    file = NetworkFile.from_file_data(table, at=at)
    if not file.has_speeds:
        rule = "must tell the speed of cables, such as '50 GB/s'"
        raise ConfigError(f"{at}.bandwidth", rule, got=None)
    return file.graph(at)
