"""An arena under construction."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from simcore.kernels.engine.layout import FIRST_RECORD, NEXT_WORD, Ints


@dataclass(slots=True)
class Image:
    """Words of the arena: globals first, then the parts in the order in which they were added."""

    words: Ints = field(default_factory=lambda: np.zeros(FIRST_RECORD, np.int64))
    parts: list[Ints] = field(default_factory=list)
    size: int = FIRST_RECORD

    def add(self, values: ArrayLike) -> int:
        """Append *values* and return where they lie."""
        part = np.ascontiguousarray(values, dtype=np.int64).reshape(-1)
        at = self.size
        self.parts.append(part)
        self.size += part.size
        return at

    def finished(self, spare_words: int) -> Ints:
        """The arena, with room for *spare_words* more."""
        arena = np.zeros(self.size + spare_words, np.int64)
        arena[:FIRST_RECORD] = self.words
        at = FIRST_RECORD
        for part in self.parts:
            arena[at : at + part.size] = part
            at += part.size
        arena[NEXT_WORD] = self.size
        return arena
