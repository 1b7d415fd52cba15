"""Many genomes as columns, and each of them as the number by which it is known again."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from simcore import keys_of_designs

Codes = NDArray[np.int16]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Keys = NDArray[np.int64]
"""(N,) numbers above 0 by which designs are known again: 63 bits, hashed."""


class _Places(NamedTuple):
    dimensions: int
    codes: tuple[int, ...]
    reals: tuple[float, ...] = ()


class Genome(_Places):
    """One valid design.

    Attributes:
        dimensions: Number of network dimensions.
        codes: Position of each discrete knob in its list of choices; -1 where it has no meaning.
        reals: Place of each continuous knob in its range, 0 to 1.
    """

    @cached_property
    def key(self) -> int:
        """Number that equal genomes of a space share, and next to certainly no others."""
        return int(Genomes.of([self]).keys()[0])


@dataclass(frozen=True, slots=True, eq=False)
class Genomes:
    """Genomes of one space.

    Attributes:
        dimensions: (N,) int16, numbers of network dimensions.
        codes: (N, knobs) int16, as in ``Genome``.
        reals: (N, ranges) float64.
    """

    dimensions: Codes
    codes: Codes
    reals: Floats

    @classmethod
    def of(cls, genomes: Sequence[Genome]) -> Self:
        """Columns of some genomes, one at least."""
        dimensions, codes, reals = zip(*genomes, strict=True)
        shape = len(genomes), -1
        return cls(
            np.array(dimensions, np.int16),
            np.array(codes, np.int16).reshape(shape),
            np.array(reals, np.float64).reshape(shape),
        )

    @classmethod
    def joined(cls, parts: "Sequence[Genomes]") -> Self:
        """All genomes of *parts*, one part at least, in their order."""
        return cls(
            np.concatenate([part.dimensions for part in parts]),
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.reals for part in parts]),
        )

    def __len__(self) -> int:
        return len(self.dimensions)

    def at(self, rows: slice | NDArray[Any]) -> "Genomes":
        """Some of the genomes, by number or by mask."""
        return Genomes(self.dimensions[rows], self.codes[rows], self.reals[rows])

    def copied(self) -> "Genomes":
        """Columns that may be changed."""
        return Genomes(self.dimensions.copy(), self.codes.copy(), self.reals.copy())

    def with_at(self, rows: NDArray[Any], others: "Genomes") -> "Genomes":
        """The genomes with *others* in place of some of them."""
        result = self.copied()
        result.dimensions[rows], result.codes[rows] = others.dimensions, others.codes
        result.reals[rows] = others.reals
        return result

    def one(self, row: int, key: int | None = None) -> Genome:
        """One of the genomes; *key*: its key, where that is known."""
        reals = tuple(self.reals[row].tolist())
        genome = Genome(int(self.dimensions[row]), tuple(self.codes[row].tolist()), reals)
        if key is not None:
            genome.__dict__["key"] = key
        return genome

    def each(self) -> list[Genome]:
        """The genomes one by one."""
        rows = map(tuple, self.codes.tolist()), map(tuple, self.reals.tolist())
        return list(map(Genome, self.dimensions.tolist(), *rows))

    def keys(self) -> Keys:
        """``Genome.key`` of each."""
        keys = np.empty(len(self), np.int64)
        bits = np.ascontiguousarray(self.reals).view(np.uint64)
        keys_of_designs(self.dimensions, self.codes, bits, keys)
        return keys

    def keys_by(self, knobs: Sequence[int]) -> Keys:
        """Keys of what the numbers of dimensions and some discrete *knobs* are."""
        keys = np.empty(len(self), np.int64)
        none = np.zeros((len(self), 0), np.uint64)
        keys_of_designs(self.dimensions, self.codes[:, knobs], none, keys)
        return keys

    def distinct(self) -> "Genomes":
        """The genomes without those that stand before already."""
        _, first = np.unique(self.keys(), return_index=True)
        return self if len(first) == len(self) else self.at(np.sort(first))

    def without(self, others: "Genomes") -> "Genomes":
        """The genomes that are not among *others*."""
        return self.at(~np.isin(self.keys(), others.keys()))


def keyed(genomes: Sequence[Genome]) -> Keys:
    """Keys of all *genomes*, which know theirs from now on; one by one takes far longer."""
    if not genomes:
        return np.zeros(0, np.int64)
    keys = Genomes.of(genomes).keys()
    for genome, key in zip(genomes, keys.tolist(), strict=True):
        genome.__dict__["key"] = key
    return keys
