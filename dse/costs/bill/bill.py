"""A bill: parts, how many of each, and what they cost, draw and fill, from low to high."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from dse.costs.parts import Part

NETWORK = ("scale_up", "scale_out", "spares")
"""Groups of lines that are network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BillLine:
    """One part on a bill.

    Attributes:
        group: What of the machine it belongs to, such as ``scale_out``.
        part: Name on the parts list.
        what: In words.
        count: How many, or of how many units.
        unit: Of the count; empty: pieces.
        usd, low_usd, high_usd: Of all of them, typical and from low to high, USD.
        power_w, most_power_w: Of all of them, W.
        rack_units: Height of all of them.
        priced: False: in the price of something else.
        estimate: No published price was found.
    """

    group: str
    part: str
    what: str
    count: float
    unit: str = ""
    usd: float = 0.0
    low_usd: float = 0.0
    high_usd: float = 0.0
    power_w: float = 0.0
    most_power_w: float = 0.0
    rack_units: float = 0.0
    priced: bool = True
    estimate: bool = False


def line(group: str, name: str, part: Part, count: float) -> BillLine:
    """*count* of *part*, called *name* on the list."""
    price = part.price_usd or 0.0
    low = price if part.low_usd is None else part.low_usd
    high = price if part.high_usd is None else part.high_usd
    most = part.power_w if part.most_power_w is None else part.most_power_w
    return BillLine(
        group=group,
        part=name,
        what=part.what,
        count=count,
        unit=part.unit,
        usd=count * price,
        low_usd=count * low,
        high_usd=count * high,
        power_w=count * part.power_w,
        most_power_w=count * most,
        rack_units=count * part.rack_units,
        priced=part.price_usd is not None,
        estimate=part.estimate,
    )


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
        return sum(line.usd for line in self.lines)

    @property
    def low_usd(self) -> float:
        """Sum of the low prices, USD."""
        return sum(line.low_usd for line in self.lines)

    @property
    def high_usd(self) -> float:
        """Sum of the high prices, USD."""
        return sum(line.high_usd for line in self.lines)

    @property
    def power_w(self) -> float:
        """Typical power of all, W."""
        return sum(line.power_w for line in self.lines)

    @property
    def most_power_w(self) -> float:
        """Largest power of all, W."""
        return sum(line.most_power_w for line in self.lines)

    @property
    def network(self) -> "Bill":
        """The lines that are network."""
        return replace(self, lines=tuple(x for x in self.lines if x.group in NETWORK))

    @property
    def network_share(self) -> float:
        """Price of the network over that of everything."""
        return self.network.usd / self.usd if self.usd else 0.0

    def group(self, name: str) -> "Bill":
        """The lines of one group."""
        return replace(self, lines=tuple(x for x in self.lines if x.group == name))


def merged(lines: Iterable[BillLine]) -> tuple[BillLine, ...]:
    """*lines* with those of the same group and part as one, in the order of the first."""
    found: dict[tuple[str, str], BillLine] = {}
    for one in lines:
        key = (one.group, one.part)
        if key not in found:
            found[key] = one
            continue
        old = found[key]
        found[key] = replace(
            old,
            count=old.count + one.count,
            usd=old.usd + one.usd,
            low_usd=old.low_usd + one.low_usd,
            high_usd=old.high_usd + one.high_usd,
            power_w=old.power_w + one.power_w,
            most_power_w=old.most_power_w + one.most_power_w,
            rack_units=old.rack_units + one.rack_units,
        )
    return tuple(found.values())


def bill_data(bill: Bill) -> dict[str, Any]:
    """*bill* as plain data, for JSON."""
    totals = ("usd", "low_usd", "high_usd", "power_w", "network_share", "ports_per_npu", "area_m2")
    return {
        **{name: getattr(bill, name) for name in totals},
        "network_usd": bill.network.usd,
        "lines": [asdict(one) for one in bill.lines],
        "notes": list(bill.notes),
    }
