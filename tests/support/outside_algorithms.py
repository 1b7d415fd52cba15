"""Collective algorithms as a user would add them: steps, and nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from simcore.collectives import CollectiveAlgorithm, Exchange, Offset, Step, Table
from simcore.terms import CollectiveKind


@dataclass(frozen=True)
class Relay(CollectiveAlgorithm):
    """All-to-all in ceil(log2 n) steps, of about half the buffer each, among any n members."""

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind is CollectiveKind.ALL_TO_ALL and members >= 2

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        return [
            Step(
                size=Fraction(sum(block >> k & 1 for block in range(members)), members),
                peer=Offset(1 << k),
            )
            for k in range((members - 1).bit_length())
        ]


@dataclass(frozen=True)
class SumsOfPairs(CollectiveAlgorithm):
    """All-reduce of the whole buffer with the member 1, 2, 4, ... away, each time reduced."""

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind is CollectiveKind.ALL_REDUCE and members & (members - 1) == 0

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        masks = [1 << level for level in range(members.bit_length() - 1)]
        return [Step(size=Fraction(1), peer=Exchange(mask), reduces=True) for mask in masks]


@dataclass(frozen=True)
class Backwards(CollectiveAlgorithm):
    """A ring that runs the other way, its receivers named one by one."""

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER) and members > 1

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        gathers = kind is CollectiveKind.ALL_GATHER
        table = Table(tuple((member - 1) % members for member in range(members)))
        size = Fraction(1, 1 if gathers else members)
        return [Step(size=size, peer=table, reduces=not gathers, times=members - 1)]


@dataclass(frozen=True)
class Couples(CollectiveAlgorithm):
    """All-to-all in n - 1 exchanges, with the member whose number differs in some bits."""

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind is CollectiveKind.ALL_TO_ALL and members & (members - 1) == 0

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        size = Fraction(1, members)
        return [Step(size=size, peer=Exchange(mask)) for mask in range(1, members)]


@dataclass(frozen=True)
class Zigzag(CollectiveAlgorithm):
    """A ring over the even members upwards and the odd ones downwards: some are farther apart."""

    def runs(self, kind: CollectiveKind, members: int) -> bool:
        return kind in (CollectiveKind.ALL_GATHER, CollectiveKind.REDUCE_SCATTER) and members > 1

    def steps(self, kind: CollectiveKind, members: int) -> Sequence[Step]:
        order = [*range(0, members, 2), *reversed(range(1, members, 2))]
        after = dict(zip(order, [*order[1:], order[0]], strict=True))
        gathers = kind is CollectiveKind.ALL_GATHER
        table = Table(tuple(after[member] for member in range(members)))
        size = Fraction(1, 1 if gathers else members)
        return [Step(size=size, peer=table, reduces=not gathers, times=members - 1)]


OUTSIDE: dict[str, CollectiveAlgorithm] = {
    "relay": Relay(),
    "sums_of_pairs": SumsOfPairs(),
    "backwards": Backwards(),
    "couples": Couples(),
    "zigzag": Zigzag(),
}
