"""BlueConnect: a dimension taken as a grid of any factors, one after the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from simcore.collectives.base import CollectiveAlgorithm, Step, Table
from simcore.terms import EVERYWHERE, CollectiveKind


@dataclass(frozen=True, slots=True)
class BlueConnect(CollectiveAlgorithm):
    """Phases over the factors of n: of each, f - 1 exchanges among members of a line of the grid.

    An all-reduce reduce-scatters over the factors, innermost first, and gathers back: least bytes,
    and 2 sum(f - 1) steps, few where factors are small. An all-to-all passes on all that goes to
    another line, factor by factor.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: 2 sum(f - 1) a + (n - 1) / n (2 S / b + r S); an all-to-all takes sum((f - 1) (a + S / (f
    b))).

    Attributes:
        factors: Innermost first; none: the prime factors of n. Among other counts a ring stands in.

    Source: M. Cho, U. Finkler, M. Serrano, D. Kung, H. Hunter, "BlueConnect: Decomposing All-Reduce
    for Deep Learning on Heterogeneous Network Hierarchy", IBM J. Res. Dev. 63(6), 2019.
    """

    factors: tuple[int, ...] = ()

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        fits = not self.factors or prod(self.factors) == members
        return members >= 2 and fits and kind in EVERYWHERE

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        grid = self.factors or prime_factors(members)
        if kind is CollectiveKind.ALL_TO_ALL:
            return exchanged(grid)
        if kind is CollectiveKind.REDUCE_SCATTER:
            return scattered(grid)
        whole = 1 if kind is CollectiveKind.ALL_GATHER else members
        gathers = gathered(grid, whole)
        return gathers if kind is CollectiveKind.ALL_GATHER else [*scattered(grid), *gathers]


def prime_factors(number: int) -> tuple[int, ...]:
    """Prime factors of *number*, smallest first, each as often as it divides."""
    found, factor = list[int](), 2
    while factor * factor <= number:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return (*found, number) if number > 1 else tuple(found)


def scattered(grid: Sequence[int]) -> list[Step]:
    """Steps of a reduce-scatter over the factors of *grid*, innermost first."""
    found, left = list[Step](), Fraction(1)
    for place, factor in enumerate(grid):
        left /= factor
        found += [
            Step(size=left, peer=_ahead(grid, place, step), reduces=True)
            for step in range(1, factor)
        ]
    return found


def gathered(grid: Sequence[int], whole: int) -> list[Step]:
    """Steps of an all-gather over the factors of *grid*, outermost first, of shares 1 / *whole*."""
    found, held = list[Step](), Fraction(1, whole)
    for place in range(len(grid) - 1, -1, -1):
        found += [Step(size=held, peer=_ahead(grid, place, step)) for step in range(1, grid[place])]
        held *= grid[place]
    return found


def exchanged(grid: Sequence[int]) -> list[Step]:
    """Steps of an all-to-all over the factors of *grid*, innermost first."""
    return [
        Step(size=Fraction(1, factor), peer=_ahead(grid, place, step))
        for place, factor in enumerate(grid)
        for step in range(1, factor)
    ]


def _ahead(grid: Sequence[int], place: int, step: int) -> Table:
    """Receivers that lie *step* further on along one factor of the grid, and around."""
    stride, factor = prod(grid[:place]), grid[place]
    members = prod(grid)
    return Table(
        tuple(
            member + ((at + step) % factor - at) * stride
            for member in range(members)
            for at in (member // stride % factor,)
        )
    )
