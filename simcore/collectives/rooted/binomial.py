"""Binomial tree: whoever has the data passes it on, to twice as many members in each step."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Span, Step
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True)
class Binomial(CollectiveAlgorithm):
    """ceil(log2 n) steps for any rooted collective: least latency.

    In step k of a broadcast the first 2^k members send to those 2^k further on; of a scatter they
    send only what is meant for the receiver and for those that it will send to. A reduce and a
    gather are the same backwards. Messages of a step are equally long: where n is no power of two,
    as long as the longest of them.

    With a seconds per message, S bytes at the root, a bandwidth b, r seconds to reduce a byte and n
    a power of two: log2(n) (a + S / b) for a broadcast, log2(n) (a + S / b + r S) for a reduce,
    log2(n) a + (n - 1) / n S / b for a scatter and a gather.

    Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
    Operations in MPICH", IJHPCA 19(1), 2005 (sections 4.2 and 4.5).
    """

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return members >= 2 and kind.rooted

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        if kind in (CollectiveKind.BROADCAST, CollectiveKind.REDUCE):
            sizes = [Fraction(1)] * (members - 1).bit_length()
        else:
            sizes = blocks(members, 1 if kind is CollectiveKind.GATHER else members)
        if kind in (CollectiveKind.BROADCAST, CollectiveKind.SCATTER):
            return outwards(sizes, members)
        return inwards(sizes, members, reduces=kind is CollectiveKind.REDUCE)


def blocks(members: int, whole: int) -> list[Fraction]:
    """Sizes of the steps of a scatter, of shares 1 / *whole*: of the receiver's whole subtree."""
    levels = range((members - 1).bit_length())
    return [Fraction(-(-(members - (1 << k)) // (2 << k)), whole) for k in levels]


def outwards(sizes: Sequence[Fraction], members: int) -> list[Step]:
    """Steps from the root to the leaves, a message of step k being ``sizes[k]``."""
    return [
        Step(size=size, peer=Span(ahead=1 << k, first=0, count=_pairs(k, members)))
        for k, size in enumerate(sizes)
    ]


def inwards(sizes: Sequence[Fraction], members: int, *, reduces: bool) -> list[Step]:
    """The steps of ``outwards`` backwards."""
    return [
        Step(
            size=sizes[k],
            peer=Span(ahead=-(1 << k), first=1 << k, count=_pairs(k, members)),
            reduces=reduces,
        )
        for k in reversed(range(len(sizes)))
    ]


def _pairs(level: int, members: int) -> int:
    return min(1 << level, members - (1 << level))
