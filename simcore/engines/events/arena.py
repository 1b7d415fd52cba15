"""An arena under construction."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from simcore.kernels.events.layout import FIRST_RECORD, NEXT_WORD, Ints


@dataclass(slots=True)
class Image:
    """Words of the arena: globals first, then the parts in the order in which they were added.

    Attributes:
        words: The globals.
        parts: Where each part lies, and what is in it.
        later: Write what is too large to exist twice, once the arena is there.
        size: Words so far.
    """

    words: Ints = field(default_factory=lambda: np.zeros(FIRST_RECORD, np.int64))
    parts: list[tuple[int, Ints]] = field(default_factory=list)
    later: list[Callable[[Ints], object]] = field(default_factory=list)
    size: int = FIRST_RECORD

    def add(self, values: ArrayLike) -> int:
        """Append *values* and return where they lie."""
        part = np.ascontiguousarray(values, dtype=np.int64).reshape(-1)
        at = self.size
        self.parts.append((at, part))
        self.size += part.size
        return at

    def reserve(self, words: Ints) -> Ints:
        """Make room for parts of 0 of these lengths; returns where they lie."""
        ends = self.size + np.cumsum(words)
        if ends.size:
            self.size = int(ends[-1])
        return ends - words

    def finished(self, spare_words: int) -> Ints:
        """The arena, with room for *spare_words* more."""
        arena = np.zeros(self.size + spare_words, np.int64)
        arena[:FIRST_RECORD] = self.words
        for at, part in self.parts:
            arena[at : at + part.size] = part
        for write in self.later:
            write(arena)
        arena[NEXT_WORD] = self.size
        return arena
