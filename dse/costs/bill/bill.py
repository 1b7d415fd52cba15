"""A bill: parts, how many of each, and what they cost, draw and fill, from low to high."""

from dataclasses import asdict, dataclass, replace
from typing import Any

from simcore import BillLine, plain_sum

NETWORK = ("scale_up", "scale_out", "spares")
"""Groups of lines that are network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """All lines of a machine or of a network.

    Attributes:
        lines: One per part and group.
        notes: What is no catalogue part, or was taken for granted.
        ports_per_npu: Network ports of one NPU outside its server, all dimensions together.
        area_m2: Floor, m2.
    """

    lines: tuple[BillLine, ...]
    notes: tuple[str, ...] = ()
    ports_per_npu: float = 0.0
    area_m2: float = 0.0

    @property
    def usd(self) -> float:
        """Typical price of all, USD."""
        return plain_sum([line.usd for line in self.lines])

    @property
    def low_usd(self) -> float:
        """Sum of the low prices, USD."""
        return plain_sum([line.low_usd for line in self.lines])

    @property
    def high_usd(self) -> float:
        """Sum of the high prices, USD."""
        return plain_sum([line.high_usd for line in self.lines])

    @property
    def power_w(self) -> float:
        """Typical power of all, W."""
        return plain_sum(line.power_w for line in self.lines)

    @property
    def most_power_w(self) -> float:
        """Largest power of all, W."""
        return plain_sum(line.most_power_w for line in self.lines)

    @property
    def network(self) -> "Bill":
        """The lines that are network."""
        return replace(self, lines=tuple(x for x in self.lines if x.group in NETWORK))

    @property
    def network_share(self) -> float:
        """Price of the network over that of everything."""
        return self.network.usd / self.usd if self.usd else 0.0

    def usd_of(self, group: str) -> float:
        """Typical price of one group, USD."""
        return plain_sum([line.usd for line in self.lines if line.group == group])

    def group(self, name: str) -> "Bill":
        """The lines of one group."""
        return replace(self, lines=tuple(x for x in self.lines if x.group == name))


def bill_data(bill: Bill) -> dict[str, Any]:
    """*bill* as plain data, for JSON."""
    totals = ("usd", "low_usd", "high_usd", "power_w", "network_share", "ports_per_npu", "area_m2")
    return {
        **{name: getattr(bill, name) for name in totals},
        "network_usd": bill.network.usd,
        "lines": [asdict(one) for one in bill.lines],
        "notes": list(bill.notes),
    }
