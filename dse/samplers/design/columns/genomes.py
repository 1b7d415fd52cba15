"""Many genomes as columns, and each of them as the bytes by which it is known again."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int16]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_SHORTS = 4
"""16-bit words of a float64."""


class Genome(NamedTuple):
    """One valid design.

    Attributes:
        dimensions: Number of network dimensions.
        codes: Position of each discrete knob in its list of choices; -1 where it has no meaning.
        reals: Place of each continuous knob in its range, 0 to 1.
    """

    dimensions: int
    codes: tuple[int, ...]
    reals: tuple[float, ...] = ()

    @property
    def key(self) -> bytes:
        """Bytes that equal genomes of a space share, and no others."""
        packed = array("h", (self.dimensions, *self.codes)).tobytes()
        return packed + array("d", self.reals).tobytes() if self.reals else packed


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
        return cls.unpacked([genome.key for genome in genomes], len(genomes[0].reals))

    @classmethod
    def unpacked(cls, keys: Sequence[bytes], ranges: int) -> Self:
        """The genomes with those keys, one at least; *ranges*: continuous knobs of the space."""
        words = np.frombuffer(b"".join(keys), np.int16).reshape(len(keys), -1)
        end = words.shape[1] - _SHORTS * ranges
        reals = np.ascontiguousarray(words[:, end:]).view(np.float64)
        return cls(words[:, 0], words[:, 1:end], reals.reshape(len(keys), ranges))

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

    def with_at(self, rows: NDArray[Any], others: "Genomes") -> "Genomes":
        """The genomes with *others* in place of some of them."""
        result = Genomes(self.dimensions.copy(), self.codes.copy(), self.reals.copy())
        result.dimensions[rows], result.codes[rows] = others.dimensions, others.codes
        result.reals[rows] = others.reals
        return result

    def one(self, row: int) -> Genome:
        """One of the genomes."""
        reals = tuple(self.reals[row].tolist())
        return Genome(int(self.dimensions[row]), tuple(self.codes[row].tolist()), reals)

    def each(self) -> list[Genome]:
        """The genomes one by one."""
        rows = map(tuple, self.codes.tolist()), map(tuple, self.reals.tolist())
        return list(map(Genome, self.dimensions.tolist(), *rows))

    def keys(self) -> list[bytes]:
        """``Genome.key`` of each."""
        words = (self.dimensions[:, None], self.codes, self.reals.view(np.int16))
        return row_bytes(np.concatenate(words, axis=1) if self.reals.size else _ints(*words[:2]))

    def distinct(self) -> "Genomes":
        """The genomes without those that stand before already."""
        first = dict(zip(reversed(self.keys()), reversed(range(len(self))), strict=True))
        return self if len(first) == len(self) else self.at(np.array(sorted(first.values())))

    def without(self, others: "Genomes") -> "Genomes":
        """The genomes that are not among *others*."""
        held = set(others.keys())
        return self.at(np.array([key not in held for key in self.keys()], bool))


def _ints(dimensions: Codes, codes: Codes) -> Codes:
    return np.concatenate([dimensions, codes], axis=1)


def row_bytes(columns: NDArray[Any]) -> list[bytes]:
    """The bytes of each row of a table with one column at least."""
    rows = np.ascontiguousarray(columns)
    found: list[bytes] = rows.view(f"V{rows.itemsize * rows.shape[1]}")[:, 0].tolist()
    return found
