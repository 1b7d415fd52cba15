"""Cables as bought: by speed and length, with modules where they need some."""

from collections.abc import Iterator
from dataclasses import dataclass

from simcore.parts.catalogue import Catalogue
from simcore.parts.lines import BillLine, bill_line
from simcore.parts.part import Part

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
    yield bill_line(group, name, cable, links.count)
    if cable.modules:
        for end in links.ends:
            module_name, module = parts.at_speed("module", links.gbps, end)
            yield bill_line(group, module_name, module, links.count)
