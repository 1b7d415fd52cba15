"""The lines of a price book, one by one, to see what a change of each would do."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dse.costs.prices import PriceBook, TierPrice
from simcore import Npu, Part

_LINES = {
    "network_tiers": ("chiplet", "package", "node", "pod"),
    "scale_up": ("switch", "direct"),
    "scale_out": ("first_tier", "next_tier", "direct"),
    "power": ("energy", "port", "tier", "carbon"),
    "ownership": ("lifetime_s", "capital", "maintenance", "staff"),
}
"""Per part of the book the prices in it; a tier of LIBRA's has several, which move together."""

_ACCELERATORS, _RENTS, _PARTS = "accelerators", "rents", "parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """One price of a book.

    Attributes:
        part: Key of the book.
        key: Key in that part.
        amount: In the book's unit; of a tier of LIBRA's, all of its prices; of the parts list, the
            part.
    """

    part: str
    key: str
    amount: float | TierPrice | Part

    @property
    def name(self) -> str:
        """Name such as ``scale_out.next_tier``."""
        return f"{self.part}.{self.key.removesuffix('_s')}"

    def factors(self, share: float) -> tuple[float, float]:
        """Least and highest factor of the price: *share* down and up, or its low and high.

        Of a part whose sources disagree by more than *share* the low and high of the list count;
        no price falls to nothing.
        """
        low, high = 1 - share, 1 + share
        if isinstance(self.amount, Part) and self.amount.price_usd:
            usd, part = self.amount.price_usd, self.amount
            low = min(low, (part.low_usd or usd * low) / usd)
            high = max(high, (part.high_usd or usd * high) / usd)
        return low, high

    def moved(self, prices: PriceBook, factor: float) -> PriceBook:
        """*prices* with this line *factor* times as high, and nothing else changed."""
        part, amount = getattr(prices, self.part), _times(self.amount, factor)
        if self.part in (_ACCELERATORS, _RENTS, _PARTS):
            return prices.model_copy(update={self.part: {**part, self.key: amount}})
        changed = part.model_copy(update={self.key: amount})
        return prices.model_copy(update={self.part: changed})


def price_lines(
    prices: PriceBook, npus: Sequence[Npu], parts: Iterable[str] = ()
) -> list[PriceLine]:
    """The lines of *prices*, and prices and rents of *npus*, and prices of *parts* by name."""
    lines = [
        PriceLine(part=part, key=key, amount=getattr(getattr(prices, part), key))
        for part, keys in _LINES.items()
        for key in keys
    ]
    for npu in {npu.name: npu for npu in npus}.values():
        if npu.name in prices.accelerators or npu.price_usd is not None:
            usd = prices.accelerator_usd(npu)
            lines.append(PriceLine(part=_ACCELERATORS, key=npu.name, amount=usd))
        if npu.name in prices.rents or npu.rent_usd_per_hour is not None:
            rent = prices.rent_usd_per_hour(npu)
            lines.append(PriceLine(part=_RENTS, key=npu.name, amount=rent))
    listed = ((name, prices.parts[name]) for name in parts if name in prices.parts)
    lines += [PriceLine(part=_PARTS, key=name, amount=part) for name, part in listed]
    return lines


def _times(amount: float | TierPrice | Part, factor: float) -> float | TierPrice | Part:
    if isinstance(amount, Part):
        names = ("price_usd", "low_usd", "high_usd")
        given = {name: getattr(amount, name) for name in names}
        moved = {name: usd * factor for name, usd in given.items() if usd is not None}
        return amount.model_copy(update=moved)
    if not isinstance(amount, TierPrice):
        return amount * factor
    given = {name: usd for name, usd in amount if usd is not None}
    return amount.model_copy(update={name: usd * factor for name, usd in given.items()})
