"""The table of a network: a family by name, or all nodes and cables; and its routing."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, PrivateAttr, model_validator

from simcore.errors import ConfigError
from simcore.graphs.circuit_rules import CircuitRules
from simcore.schema import Bytes, BytesPerS, Schema, Seconds
from simcore.terms import Precision

if TYPE_CHECKING:  # read where a network is named: most runs name none
    from simcore.graphs.graph import NetworkGraph
    from simcore.graphs.structure.parts import NetworkParts

_NS_PER_S = 1e9


class CableSpeed(Schema):
    """Speed of the cables of one kind.

    Attributes:
        bandwidth_bytes_per_s: Of one cable in one direction.
        latency_s: Of one cable and the switch or NPU at its end.
    """

    bandwidth_bytes_per_s: BytesPerS = Field(alias="bandwidth", gt=0)
    latency_s: Seconds = Field(alias="latency", ge=0)


class FamilyChoice(Schema):
    """One network where it is chosen among several.

    Attributes:
        family: Its family; unless given, the name under which it stands is that of a family.
        params: Parameters of the family.
        routing: As that of the network, likewise the others.
        bandwidth_bytes_per_s: Of one cable.
        latency_s: Of one cable.
        cables: Speed of cables by kind.
        shape: NPUs of each level.
        circuits: Cables that are up by turns.
    """

    family: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    routing: dict[str, Any] = Field(default_factory=dict)
    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", gt=0)
    latency_s: Seconds | None = Field(default=None, alias="latency", ge=0)
    cables: dict[str, CableSpeed] = Field(default_factory=dict)
    shape: tuple[int, ...] = ()
    circuits: CircuitRules | None = None


class InNetwork(Schema):
    """Work that all switches of a network, or of a dimension, can do for collectives.

    Attributes:
        reduces: They add up what comes in for the same place (SHARP, NVLS).
        multicasts: They send on several times what they were sent once.
        radix: Most inputs that one switch adds up: more members are a tree of switches, each level
            of which takes the latency of the links up and down once more. None: one switch does.
        payload_bytes: Most bytes of one operation; larger buffers are several. None: no limit.
        streams: Operations that are under way at once, where the payload is limited.
        formats: Number formats that the switches add up; none told: all.
    """

    reduces: bool = False
    multicasts: bool = False
    radix: int | None = Field(default=None, ge=2)
    payload_bytes: Bytes | None = Field(default=None, alias="payload", ge=1)
    streams: int = Field(default=1, ge=1)
    formats: tuple[Precision, ...] = ()

    @property
    def limits(self) -> tuple[str, ...]:
        """Keys of what is told of how far switches add up at once."""
        told = ("radix", self.radix), ("payload", self.payload_bytes)
        return tuple(key for key, value in told if value is not None)

    def levels(self, members: int) -> int:
        """Levels of switches that add up the buffers of *members*."""
        levels, reached = 1, self.radix or members
        while reached < members:
            levels, reached = levels + 1, reached * (self.radix or members)
        return levels

    def time_ns(
        self, members: int, size_bytes: int, bytes_per_ns: float, latency_ns: float
    ) -> float:
        """Time of adding up buffers of *size_bytes* among *members*, each sent up and down once.

        Operations follow each other as fast as the links carry them, or as fast as the first of a
        window of ``streams`` is back.

        Args:
            members: Members.
            size_bytes: Of one member's buffer.
            bytes_per_ns: Of a member's link.
            latency_ns: Of a link.
        """
        return self.windows_ns(2 * self.levels(members) * latency_ns, size_bytes, bytes_per_ns)

    def windows_ns(self, way_ns: float, size_bytes: int, bytes_per_ns: float) -> float:
        """Time of adding up buffers of *size_bytes* that are on their way up and down for *way_ns*.

        Args:
            way_ns: Latency from a member through all switches that add up back to it.
            size_bytes: Of one member's buffer.
            bytes_per_ns: Of a member's link.
        """
        sent_ns = size_bytes / bytes_per_ns
        if self.payload_bytes is None:
            return way_ns + sent_ns
        payload = min(self.payload_bytes, size_bytes)
        windows = -(-size_bytes // (payload * self.streams))
        last_ns = (size_bytes - (windows - 1) * payload * self.streams) / bytes_per_ns
        return way_ns + max(sent_ns, (windows - 1) * (way_ns + payload / bytes_per_ns) + last_ns)


class CableScale(Schema):
    """Speed of one cable against the others of its kind.

    Attributes:
        bandwidth: Its bandwidth over theirs.
        latency: Its latency over theirs.
    """

    bandwidth: float = Field(default=1.0, gt=0, le=1e6)
    latency: float = Field(default=1.0, ge=0, le=1e6)


class NetworkFile(Schema):
    """One network.

    Attributes:
        id: Name under which results list it.
        family: A name of ``FAMILIES``, or ``package.module:Object``.
        params: Parameters of the family.
        families: In a file, the networks that ``family`` may name, as a knob of a study does, each
            a ``FamilyChoice``; what the named one tells stands where the network tells nothing.
        graph: Nodes and cables in place of a family: node-link data, or a list of links.
        npus_forward: Whether messages pass through NPUs; as the family says unless given.
        bandwidth_bytes_per_s: Of one cable in one direction, unless its kind has its own.
        latency_s: Of one cable, unless its kind has its own.
        cables: Speed of the cables by kind.
        cable_scale: By number of a cable, of those that are there, how it differs from its kind.
        routing: ``rule``, a name of ``ROUTINGS``, and its options; ``ecmp_hash`` unless given.
        shape: NPUs of each level, innermost first, along which groups of NPUs and the phases of
            collectives are laid; those of the family unless given.
        in_network: Work that its switches can do for collectives.
        circuits: Cables that are up by turns, as optical circuit switches set them up.
        speed: All bandwidths are this many times what they are told to be.
        pairs: NPUs whose distance and shortest ways are asked for.
    """

    id: str = ""
    family: str = ""
    params: dict[str, Any] = Field(default_factory=dict)
    graph_table: dict[str, Any] | None = Field(default=None, alias="graph")
    npus_forward: bool | None = None
    bandwidth_bytes_per_s: BytesPerS | None = Field(default=None, alias="bandwidth", gt=0)
    latency_s: Seconds | None = Field(default=None, alias="latency", ge=0)
    cables: dict[str, CableSpeed] = Field(default_factory=dict)
    cable_scale: dict[int, CableScale] = Field(default_factory=dict)
    routing: dict[str, Any] = Field(default_factory=dict)
    shape: tuple[int, ...] = ()
    in_network: InNetwork = Field(default_factory=InNetwork)
    circuits: CircuitRules | None = None
    speed: float = Field(default=1.0, gt=0)
    pairs: tuple[tuple[int, int], ...] = ()

    _key: str = PrivateAttr(default="")

    @model_validator(mode="before")
    @classmethod
    def _is_one_of_families(cls, data: Any) -> Any:
        """The network of the family that is named, of those that are told."""
        if not isinstance(data, Mapping) or "families" not in data:
            return data
        listed, family = data["families"], data.get("family")
        if not isinstance(listed, Mapping) or family not in listed:
            told = ", ".join(map(str, listed)) if isinstance(listed, Mapping) else listed
            rule = "must be a table of families, the network's own one among them"
            raise ConfigError("families", rule, got=told)
        own, place = listed[family], f"families.{family}"
        chosen = FamilyChoice.from_file_data(own, at=place)
        rest = {key: value for key, value in data.items() if key != "families"}
        for key, told in own.items():
            of_both = isinstance(told, Mapping)
            rest[key] = {**told, **(rest.get(key) or {})} if of_both else rest.get(key, told)
        return {**rest, "family": chosen.family or family}

    @model_validator(mode="after")
    def _is_told_once(self) -> Self:
        if bool(self.family) == (self.graph_table is not None):
            rule = "must be given, or a graph in its place"
            raise ConfigError("family", rule, got=self.family or None)
        return self

    def __hash__(self) -> int:
        if not self._key:
            told = self.model_dump(mode="json")
            self._key = json.dumps(told, sort_keys=True, default=str)
        return hash(self._key)

    def graph(self, at: str = "") -> "NetworkGraph":
        """The graph, with the speeds that are told.

        Raises:
            ConfigError: An unknown family, parameters that break a rule, or cables that the
                network does not have.
        """
        place = f"{at}." if at else ""
        graph = self._given(place) if self.graph_table is not None else self._built(place)
        if self.npus_forward is not None:
            graph = graph.forwarding(self.npus_forward)
        graph = self._with_speeds(graph, place)
        if self.circuits is None:
            return graph
        from simcore.graphs.circuits import circuits_of

        return replace(graph, circuits=circuits_of(graph, self.circuits, f"{place}circuits"))

    @property
    def has_speeds(self) -> bool:
        """True if the cables have a bandwidth, so that messages can be sent."""
        if self.graph_table is not None:
            return self.bandwidth_bytes_per_s is not None or _tells_speeds(self.graph_table)
        return self.bandwidth_bytes_per_s is not None or bool(self.cables)

    def parts(self) -> "NetworkParts":
        """Parts of which it is bought; kept for the networks met last.

        Raises:
            ConfigError: As ``graph``.
        """
        from simcore.graphs.structure.parts import kept_parts

        return kept_parts(self)

    def formula(self) -> tuple[int, str] | None:
        """The narrowest cut by the family's formula, where it has one."""
        from simcore.graphs.families import FAMILIES

        if not self.family:
            return None
        family = FAMILIES[self.family]
        parameters = family.parameters.from_file_data(self.params, at="params")
        return None if parameters.failed else family.bisection(parameters)

    def _built(self, place: str) -> "NetworkGraph":
        from simcore.graphs.families import FAMILIES, build_family

        if self.family not in FAMILIES:
            raise FAMILIES.unknown(self.family, at=f"{place}family")
        return build_family(FAMILIES[self.family], self.params, f"{place}params")

    def _given(self, place: str) -> "NetworkGraph":
        from simcore.graphs.read.link_list import graph_of_links
        from simcore.graphs.read.node_link import graph_of_node_link, is_node_link

        table = self.graph_table
        assert table is not None
        if not is_node_link(table):
            return graph_of_links(table, f"{place}graph")
        try:
            return graph_of_node_link(table)
        except ConfigError as error:
            raise error.under(f"{place}graph") from None

    def _with_speeds(self, graph: "NetworkGraph", place: str) -> "NetworkGraph":
        import numpy as np

        for kind in self.cables:
            if kind not in graph.kinds:
                rule = f"must be kinds of cables that there are: {', '.join(graph.kinds)}"
                raise ConfigError(f"{place}cables", rule, got=kind)
        told = self.bandwidth_bytes_per_s is not None or self.cables
        if not told and self.speed == 1.0 and not self.cable_scale:
            return graph
        rates, latencies = graph.bytes_per_s.copy(), graph.latency_ns.copy()
        kind_of = graph.kind_of[graph.cable_of]
        for number, kind in enumerate(graph.kinds if told else ()):
            own = self.cables.get(kind)
            rate = own.bandwidth_bytes_per_s if own else self.bandwidth_bytes_per_s
            latency = own.latency_s if own else self.latency_s
            if rate is None and self.graph_table is None:
                rule = f"must tell the bandwidth of the cables of kind {kind}"
                raise ConfigError(f"{place}bandwidth", rule, got=rate)
            if rate is not None:
                rates[kind_of == number] = rate
            if latency is not None or rate is not None:
                latencies[kind_of == number] = (latency or 0.0) * _NS_PER_S
        found = replace(
            graph, bytes_per_s=np.asarray(rates * self.speed), latency_ns=latencies, _kept={}
        )
        self._scale_cables(found, place)
        return found

    def _scale_cables(self, graph: "NetworkGraph", place: str) -> None:
        """Give single cables the speeds that they have against others of their kind."""
        for number, scale in self.cable_scale.items():
            if not 0 <= number < graph.cables:
                rule = f"must be numbers of cables, 0 to {graph.cables - 1}"
                raise ConfigError(f"{place}cable_scale", rule, got=number)
            own = graph.cable_of == number
            graph.bytes_per_s[own] *= scale.bandwidth
            graph.latency_ns[own] *= scale.latency


def _tells_speeds(table: Mapping[str, Any]) -> bool:
    rows = table.get("links", table.get("edges"))
    if not isinstance(rows, list) or not rows:
        return False
    return not isinstance(rows[0], Mapping) or all("bandwidth" in row for row in rows)


def network_table(given: object, *, at: str = "network", beside: Path | None = None) -> object:
    """*given*, or where it names a file the table in that file.

    A name is a shipped one of ``configs/networks``, or a path to JSON, YAML, GraphML or XML. A
    table whose ``file`` is a path has all else that it says in place of what stands there.

    Raises:
        ConfigError: No such file, or it cannot be read.
    """
    if isinstance(given, str):
        return _read(given, at, beside)
    if not isinstance(given, Mapping) or "file" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "file"}
    file = given["file"]
    if not isinstance(file, str):
        raise ConfigError(f"{at}.file", "must be a path", got=file)
    found = _read(file, f"{at}.file", beside)
    if isinstance(rest.get("params"), Mapping):
        rest["params"] = {**found.get("params", {}), **rest["params"]}
    return {**found, **rest}


def _read(name: str, at: str, beside: Path | None) -> dict[str, Any]:
    from simcore.files.resources import find_config
    from simcore.graphs.read.network_file import network_tables

    path = Path(name)
    if path.suffix in ("", ".yaml", ".yml"):
        path = find_config("networks", name, at=at, beside=beside)
    elif beside is not None:
        path = beside / path
    tables, _ = network_tables(path)
    if len(tables) != 1:
        raise ConfigError(str(path), "must hold one network", got=len(tables))
    return {key: value for key, value in tables[0].items() if key not in ("version", "source")}
