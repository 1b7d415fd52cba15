"""Sizes that prices hang on, such as the NPUs of a scale-up domain, and other values of them.

A size decides which links count as cheap ones. So it can decide a study as a price can, and more
suddenly: all at once where a domain does not fit any more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dse.costs.prices import PriceBook
from simcore import Npu, Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeMove:
    """A size at another value.

    Attributes:
        name: Of the size, such as ``scale_up.npus``.
        told: The change, in words.
        prices: The book with the other value.
        domains: NPUs of the accelerators' own scale-up domains, by name, that are others.
    """

    name: str
    told: str
    prices: PriceBook
    domains: tuple[tuple[str, int], ...] = ()

    def machine(self, platform: Platform) -> Platform:
        """*platform* with the domain of its accelerator at the other value."""
        npus = dict(self.domains).get(platform.npu.name)
        if npus is None:
            return platform
        scale_up = platform.npu.scale_up.model_copy(update={"npus": npus})
        npu = platform.npu.model_copy(update={"scale_up": scale_up})
        return platform.model_copy(update={"npu": npu})


def size_moves(prices: PriceBook, npus: Sequence[Npu]) -> Iterator[SizeMove]:
    """Half and twice each size of *prices* and of *npus*, and domains as the accelerators' own."""
    own = {npu.name: npu.scale_up.npus for npu in npus}
    wanted = {prices.scale_up.npus // 2, 2 * prices.scale_up.npus, *own.values()}
    for size in sorted(wanted - {0, prices.scale_up.npus}):
        part = prices.scale_up.model_copy(update={"npus": size})
        book = prices.model_copy(update={"scale_up": part})
        told = f"{size} in place of {prices.scale_up.npus}"
        yield SizeMove(name="scale_up.npus", told=told, prices=book)
    tiers = prices.scale_out.tier_endpoints
    for at, endpoints in enumerate(tiers):
        for size in (endpoints // 2, 2 * endpoints):
            changed = (*tiers[:at], size, *tiers[at + 1 :])
            part_out = prices.scale_out.model_copy(update={"tier_endpoints": changed})
            book = prices.model_copy(update={"scale_out": part_out})
            told = f"{size} in place of {endpoints}"
            yield SizeMove(name=f"scale_out.tier_endpoints[{at}]", told=told, prices=book)
    for name, size in own.items():
        for other in sorted({size // 2, 2 * size} - {0}):
            told = f"{other} in place of {size}"
            domains = ((name, other),)
            yield SizeMove(name=f"{name}.scale_up.npus", told=told, prices=prices, domains=domains)
