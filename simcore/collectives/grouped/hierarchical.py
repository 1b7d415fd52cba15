"""Hierarchical: within groups of neighbours, then between groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives.base import CollectiveAlgorithm, Step, Table
from simcore.terms import CollectiveKind

SERVER = 8
"""Members of a group, where none are told."""


@dataclass(frozen=True, slots=True)
class Hierarchical(CollectiveAlgorithm):
    """Rings inside groups of k and rings between them, each member with those at its place.

    An all-reduce of n = k m members: a reduce-scatter inside, an all-reduce between, an all-gather
    inside: 2 (k + m) - 4 steps where a ring takes 2 (n - 1), and least bytes.

    With a seconds per message, S bytes at each member, a bandwidth b and r seconds to reduce a
    byte: 2 (k + m - 2) a + (n - 1) / n (2 S / b + r S).

    Attributes:
        inner: Members of a group; None: 8, or the largest divisor of n below. Among counts that it
            does not divide, and primes, a ring stands in.

    Source: X. Jia et al., "Highly Scalable Deep Learning Training System with Mixed-Precision",
    2018 (arXiv:1807.11205), hierarchical all-reduce; H. Mikami et al., "Massively Distributed SGD",
    2018 (arXiv:1811.05233), with a reduce-scatter inside (2D-torus all-reduce).
    """

    inner: int | None = None

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind in _KINDS and group_size(self.inner, members) > 0

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        inner = group_size(self.inner, members)
        outer = members // inner
        inside, between = _next(members, 1, inner), _next(members, inner, outer)
        reduced = [
            Step(size=Fraction(1, inner), peer=inside, reduces=True, times=inner - 1),
            Step(size=Fraction(1, members), peer=between, reduces=True, times=outer - 1),
        ]
        if kind is CollectiveKind.REDUCE_SCATTER:
            return reduced
        whole = 1 if kind is CollectiveKind.ALL_GATHER else members
        gathered = [
            Step(size=Fraction(1, whole), peer=between, times=outer - 1),
            Step(size=Fraction(outer, whole), peer=inside, times=inner - 1),
        ]
        return gathered if kind is CollectiveKind.ALL_GATHER else reduced + gathered


_KINDS = (CollectiveKind.ALL_REDUCE, CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER)


def group_size(told: int | None, members: int) -> int:
    """Members of a group among *members*: as told, else 8 or the largest divisor below; 0: none."""
    sizes = range(SERVER, 1, -1) if told is None else (told,)
    return next((size for size in sizes if 1 < size < members and members % size == 0), 0)


def _next(members: int, stride: int, size: int) -> Table:
    """Receivers in rings of *size* members that lie *stride* apart."""
    return Table(
        tuple(
            member + ((at + 1) % size - at) * stride
            for member in range(members)
            for at in (member // stride % size,)
        )
    )
