"""Lines of a bill: parts, how many of each, and what they cost, draw and fill, from low to high."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from simcore.parts.part import Part


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


def bill_line(group: str, name: str, part: Part, count: float) -> BillLine:
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


def merged_lines(lines: Iterable[BillLine]) -> tuple[BillLine, ...]:
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
