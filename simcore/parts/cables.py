"""Cables as bought: by speed and length, with modules where they need some."""

from collections.abc import Iterator
from dataclasses import dataclass

from simcore.parts.catalogue import Catalogue
from simcore.parts.lines import BillLine, bill_line
from simcore.parts.part import Part
from simcore.units import plain_sum

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
        ends: Where its ends are that take a module if it is optical, ``nic`` or ``switch``.
    """

    count: int
    gbps: float
    length_m: float
    ends: tuple[str, ...]


def cheapest_cables(links: Links, parts: Catalogue) -> list[tuple[str, Part]]:
    """Cables, and modules where they need some, of the cheapest kind that reaches: one per link."""
    options = [
        list(_parts_of(links, name, part, parts))
        for name, part in parts.cables(links.gbps, links.length_m)
    ]
    return min(
        options, key=lambda bought: plain_sum(links.count * (x.price_usd or 0.0) for _, x in bought)
    )


def cabled(links: Links, parts: Catalogue, group: str) -> list[BillLine]:
    """Lines of the cables and modules that ``cheapest_cables`` names."""
    bought = cheapest_cables(links, parts)
    return [bill_line(group, name, part, links.count) for name, part in bought]


def _parts_of(links: Links, name: str, cable: Part, parts: Catalogue) -> Iterator[tuple[str, Part]]:
    yield name, cable
    if cable.modules:
        for end in links.ends:
            yield parts.at_speed("module", links.gbps, end)
