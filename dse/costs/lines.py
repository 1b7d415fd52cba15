"""The lines of a price book, one by one, to see what a change of each would do."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.costs.prices import PriceBook
from simcore import Npu

_LINES = {
    "network_tiers": ("chiplet", "package", "node", "pod"),
    "scale_up": ("switch", "direct"),
    "scale_out": ("first_tier", "next_tier", "direct"),
    "power": ("energy",),
    "ownership": ("lifetime_s", "capital", "maintenance", "staff"),
}
"""Per part of the book the prices in it; a tier of LIBRA's has several, which move together."""

_ACCELERATORS = "accelerators"


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceLine:
    """One price of a book.

    Attributes:
        part: Key of the book.
        key: Key in that part.
        value: Its amount, or the file's table of amounts.
    """

    part: str
    key: str
    value: Any

    @property
    def name(self) -> str:
        """As in the file: ``scale_out.next_tier``."""
        return f"{self.part}.{self.key.removesuffix('_s')}"

    def moved(self, prices: PriceBook, factor: float) -> PriceBook:
        """*prices* with this line *factor* times as high, and nothing else changed."""
        part = getattr(prices, self.part)
        if self.part == _ACCELERATORS:
            changed: Any = {**part, self.key: self.value * factor}
        else:
            changed = part.model_copy(update={self.key: _times(self.value, factor)})
        return prices.model_copy(update={self.part: changed})


def price_lines(prices: PriceBook, npus: Sequence[Npu]) -> list[PriceLine]:
    """The lines of *prices*, and the prices of the accelerators *npus*."""
    lines = [
        PriceLine(part=part, key=key, value=getattr(getattr(prices, part), key))
        for part, keys in _LINES.items()
        for key in keys
    ]
    for npu in {npu.name: npu for npu in npus}.values():
        if npu.name in prices.accelerators or npu.price_usd is not None:
            usd = prices.accelerator_usd(npu)
            lines.append(PriceLine(part=_ACCELERATORS, key=npu.name, value=usd))
    return lines


def _times(value: Any, factor: float) -> Any:
    """A number, or a tier's table of numbers, *factor* times as high."""
    if isinstance(value, float | int):
        return value * factor
    given = {key: amount for key, amount in value.model_dump().items() if amount is not None}
    return value.model_copy(update={key: amount * factor for key, amount in given.items()})
