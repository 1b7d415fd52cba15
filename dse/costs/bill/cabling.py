"""Parts of switched and of direct networks: switches, modules, cables."""

from collections.abc import Iterator
from dataclasses import dataclass

from dse.costs.bill.bill import BillLine, line
from dse.costs.fabrics import FabricCounts
from dse.costs.parts import Catalogue, Part

RACK_M, ROW_M, HALL_M, BEYOND_M = 2.0, 30.0, 40.0, 150.0
"""Length of a cable, m: in a rack, along a row, across a hall of ``HALL_ENDPOINTS``, beyond.

In one rack copper, a leaf in the row and, up to 1,016 endpoints, everything multimode: NVIDIA
RA-11333-001. The lengths themselves are estimates within the reach of these cables.
"""

HALL_ENDPOINTS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Equal links between two kinds of ends.

    Attributes:
        count: Links.
        gbps: Speed of each, Gb/s.
        length_m: Of each.
        ends: Where its two ends are, ``nic`` or ``switch``.
    """

    count: int
    gbps: float
    length_m: float
    ends: tuple[str, str]


def cabled(links: Links, parts: Catalogue, group: str) -> list[BillLine]:
    """Cables, and modules where they need some, of the cheapest kind that reaches."""
    options = [
        list(_parts_of(links, name, part, parts, group))
        for name, part in parts.cables(links.gbps, links.length_m)
    ]
    return min(options, key=lambda lines: sum(one.usd for one in lines))


def _parts_of(
    links: Links, name: str, cable: Part, parts: Catalogue, group: str
) -> Iterator[BillLine]:
    yield line(group, name, cable, links.count)
    if cable.modules:
        for end in links.ends:
            module_name, module = parts.at_speed("module", links.gbps, end)
            yield line(group, module_name, module, links.count)


def switched(
    counts: FabricCounts, gbps: float, switch: tuple[str, Part], in_rack: bool
) -> tuple[list[tuple[str, Part, int]], list[Links]]:
    """Switches, and links by stage, of a fabric with ports of *gbps*.

    Args:
        counts: Of the fabric.
        gbps: Speed of its ports.
        switch: Name and part of its switches.
        in_rack: Whether its endpoints are in one rack.
    """
    name, part = switch
    host_m = RACK_M if in_rack else ROW_M
    between_m = HALL_M if counts.endpoints <= HALL_ENDPOINTS else BEYOND_M
    links = [
        Links(count=counts.links_host, gbps=gbps, length_m=host_m, ends=("nic", "switch")),
        *(
            Links(count=stage, gbps=gbps, length_m=between_m, ends=("switch", "switch"))
            for stage in counts.links
            if stage
        ),
    ]
    return [(name, part, sum(counts.switches))], links
