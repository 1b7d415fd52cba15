"""Scale-out dimensions as bought: ports, network cards, switches by tier, modules and cables."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod
from typing import NamedTuple

from dse.costs.bill.cabling import switched
from dse.costs.fabrics import FabricCounts
from dse.costs.fabrics.clos import clos, least_tiers, two_tiers
from simcore import (
    GBPS,
    HALL_M,
    RACK_M,
    ROW_M,
    BillLine,
    Catalogue,
    Dimension,
    HostPorts,
    InfeasibleError,
    Links,
    Part,
    Platform,
    bill_line,
    cheapest_cables,
    merged_lines,
    plain_sum,
)

GROUP = "scale_out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """Parts of one scale-out fabric.

    Attributes:
        ports_per_npu: Network ports of an NPU.
        port_gbps: Speed of each.
        lines: Of the bill.
    """

    ports_per_npu: int
    port_gbps: float
    lines: tuple[BillLine, ...]


Bought = list[tuple[str, Part, float]]
"""Names of parts, the parts, and how many of each; the same part may be there several times."""


class _Way(NamedTuple):
    """One way to buy a fabric: ports of an NPU, speed of each, and all that is bought.

    Lines of a bill are made of the cheapest alone: fabrics are wired in thousands of ways.
    """

    ports_per_npu: int
    port_gbps: float
    bought: Bought

    @property
    def usd(self) -> float:
        """Typical price of all lines, added as the bill adds them: part by part."""
        found: dict[str, float] = {}
        for name, part, count in self.bought:
            usd = count * (part.price_usd or 0.0)
            found[name] = found[name] + usd if name in found else usd
        return plain_sum(found.values())

    def wired(self) -> Wired:
        """Fabric bought in this way, with its lines of a bill."""
        lines = [bill_line(GROUP, name, part, count) for name, part, count in self.bought]
        return Wired(
            ports_per_npu=self.ports_per_npu, port_gbps=self.port_gbps, lines=merged_lines(lines)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricNeed:
    """A scale-out fabric that is asked for.

    Attributes:
        npus: Of the machine.
        joined: Endpoints that one fabric joins, of each port.
        links_per_npu: 1 where switches are.
        gbps: Least speed of one link, Gb/s.
        has_switch: Whether there are switches.
        tiers: Least tiers of switches.
        oversubscription: Of its top tier.
        npus_per_rack: How many stand in one rack.
        has_cards: A network card per port is in the price of the NPUs' server ...
        card_gbps: ... if the port is no faster than this.
    """

    npus: int
    joined: int
    links_per_npu: int
    gbps: float
    has_switch: bool
    tiers: int
    oversubscription: float
    npus_per_rack: int
    has_cards: int
    card_gbps: float


def fabrics(platform: Platform, inner: int) -> list[list[Dimension]]:
    """Dimensions from *inner* on, those that share ports together.

    Raises:
        InfeasibleError: A dimension cannot share the ports of the one before.
    """
    found: list[list[Dimension]] = []
    for position, dimension in enumerate(platform.dimensions[inner:], start=inner):
        if dimension.network is not None:  # a graph, whose own parts are counted
            continue
        if not dimension.shares_ports:
            found.append([dimension])
            continue
        before = found[-1][-1] if found else None
        if before is None or not (before.shape.has_switches and dimension.shape.has_switches):
            reason = f"dimension {position} shares ports, and the one before is no scale-out switch"
            raise InfeasibleError("shares_ports", reason)
        if dimension.bandwidth_bytes_per_s > before.bandwidth_bytes_per_s:
            reason = f"dimension {position} has more bandwidth than the ports it shares"
            raise InfeasibleError("shares_ports", reason)
        found[-1].append(dimension)
    return found


def needs(platform: Platform, inner: int, server: Part | None) -> Iterator[FabricNeed]:
    """Needs of the scale-out dimensions of *platform*, one after the other.

    The first fabric that can uses the network cards of the server.

    Args:
        platform: The machine.
        inner: Dimensions that are scale-up.
        server: What the NPUs are sold in.
    """
    cards, rack = cards_per_npu(server), npus_per_rack(server)
    joined = prod(dimension.npus for dimension in platform.dimensions[:inner])
    outside = 1
    for levels in fabrics(platform, inner):
        first, last = levels[0], levels[-1]
        outside *= prod(level.npus for level in levels)
        switched_ = first.shape.has_switches
        links = 1 if switched_ else first.links_per_npu
        endpoints = outside if last.rails else joined * outside
        yield FabricNeed(
            npus=platform.npus,
            joined=endpoints,
            links_per_npu=links,
            gbps=first.bandwidth_bytes_per_s / links / GBPS,
            has_switch=switched_,
            tiers=len(levels),
            oversubscription=last.oversubscription,
            npus_per_rack=rack,
            has_cards=cards,
            card_gbps=server.speed_gbps if server else 0.0,
        )
        cards = max(0, cards - links)


def cards_per_npu(server: Part | None) -> int:
    """Network ports of one NPU in the server's price, whole ones."""
    return HostPorts.of(server, 1).cards


def npus_per_rack(server: Part | None) -> int:
    """NPUs in one rack of 40 usable units; 8 where the server is unknown."""
    return HostPorts.of(server, 1).npus_per_rack


def wire(need: FabricNeed, parts: Catalogue) -> Wired:
    """The cheapest way to buy a fabric: port speed, ports side by side, kind of switch, uplinks.

    As faster ports and leaves with more uplinks are looked at too, more bandwidth never costs less.

    Raises:
        InfeasibleError: No switch on the list joins so many.
    """
    found = [way for speed in parts.speeds_gbps() for way in _ways(need, speed, parts)]
    if not found:
        reason = f"no switch of the parts list joins {need.joined} endpoints in three tiers"
        raise InfeasibleError("parts", reason)
    return min(found, key=lambda way: way.usd).wired()


@lru_cache(maxsize=1024)  # prices change from one bill to the next, what is counted does not
def leaves_and_spines(need: FabricNeed, radix: int) -> tuple[FabricCounts, ...]:
    """Two tiers with at most that many ports down for each port up.

    Ratios that do not divide the ports of a switch are met by the next lower ones: 256 ports at 2
    to 1 are 169 down and 87 up, which go evenly to 3 spines.
    """
    found: dict[tuple[int, int], FabricCounts] = {}
    fewest: int | None = None
    for uplinks in range(ceil(radix / (need.oversubscription + 1) - 1e-9), radix // 2 + 1):
        leaves = ceil(need.joined / (radix - uplinks))
        try:
            spines, between = two_tiers(leaves, radix, uplinks)
        except InfeasibleError:
            continue
        if fewest is None or leaves + spines < fewest:  # more links have to save switches
            fewest = leaves + spines
            found[leaves, spines] = FabricCounts(
                endpoints=need.joined,
                switches=(leaves, spines),
                links_host=need.joined,
                links=(between,),
            )
    return tuple(found.values())


def _ways(need: FabricNeed, port_gbps: float, parts: Catalogue) -> Iterator[_Way]:
    side_by_side = max(1, ceil(need.gbps / port_gbps - 1e-9))
    if not need.has_switch:
        yield _direct(need, port_gbps, side_by_side, parts)
        return
    for name, part in parts.of_kind("switch"):
        radix = part.radix_at(port_gbps)
        if radix is None:
            continue
        try:
            planes = _planes(need, radix)
        except InfeasibleError:
            continue
        for counts in planes:
            yield _fabric(need, port_gbps, side_by_side, counts, (name, part, radix), parts)


def _planes(need: FabricNeed, radix: int) -> tuple[FabricCounts, ...]:
    """One plane of one fabric, in each way that may be the cheapest.

    Raises:
        InfeasibleError: Three tiers do not join so many.
    """
    tiers = max(need.tiers, least_tiers(need.joined, radix))
    if tiers > 3:
        return ()
    if tiers == 2:
        return leaves_and_spines(need, radix)
    full = clos(need.joined, radix, tiers)
    return (full if tiers == 1 else _fewer_cores(full, need.oversubscription),)


def _fewer_cores(full: FabricCounts, oversubscription: float) -> FabricCounts:
    """Three tiers of which the cores alone are oversubscribed."""
    *below, cores = full.switches
    *stages, top = full.links
    return FabricCounts(
        endpoints=full.endpoints,
        switches=(*below, ceil(cores / oversubscription)),
        links_host=full.links_host,
        links=(*stages, ceil((top or 0) / oversubscription)),
    )


def _fabric(
    need: FabricNeed,
    port_gbps: float,
    planes: int,
    counts: FabricCounts,
    switch: tuple[str, Part, int],
    parts: Catalogue,
) -> _Way:
    """All fabrics of the machine, with *planes* ports of each NPU side by side."""
    name, part, radix = switch
    copies = ceil(need.npus / need.joined) * planes
    boxes, stages = switched(counts, port_gbps, (name, part), need.joined <= need.npus_per_rack)
    bought: Bought = [(box, of, count * copies) for box, of, count in boxes]
    if len(counts.switches) == 1:  # small fabrics share a switch
        bought = [(name, part, ceil(copies / (radix // need.joined)))]
    for stage in stages:
        every = Links(
            count=stage.count * copies, gbps=stage.gbps, length_m=stage.length_m, ends=stage.ends
        )
        bought += _cables(every, parts)
    return _Way(planes, port_gbps, [*_cards(need, port_gbps, planes, parts), *bought])


def _cables(links: Links, parts: Catalogue) -> Bought:
    return [(name, part, links.count) for name, part in cheapest_cables(links, parts)]


def _direct(need: FabricNeed, port_gbps: float, side_by_side: int, parts: Catalogue) -> _Way:
    """Cables from NPU to NPU."""
    ports = need.links_per_npu * side_by_side
    length_m = RACK_M if need.joined <= need.npus_per_rack else ROW_M
    if need.joined > 8 * need.npus_per_rack:
        length_m = HALL_M
    links = Links(
        count=need.npus * ports // 2, gbps=port_gbps, length_m=length_m, ends=("nic", "nic")
    )
    bought = [*_cards(need, port_gbps, ports, parts), *_cables(links, parts)]
    return _Way(ports, port_gbps, bought)


def _cards(need: FabricNeed, port_gbps: float, ports: int, parts: Catalogue) -> Bought:
    """Network cards beyond those of the server."""
    own = need.has_cards if port_gbps <= need.card_gbps else 0
    bought = max(0, ports - own)
    if not bought:
        return []
    name, part = parts.at_speed("nic", port_gbps)
    return [(name, part, bought * need.npus)]
