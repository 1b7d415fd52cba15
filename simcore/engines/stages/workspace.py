"""Memory in which runs keep their tables."""

from mmap import mmap

import numpy as np

from simcore.engines.events.input import Ints

_USUAL_WORDS, _PAGE_WORDS = 3 * 2**20, 512
"""Room for the runs of most programs: 24 MB."""


class Workspace:
    """Keeps memory from run to run: to get it anew, page by page, takes longer than many a run.

    Args:
        limit_bytes: Largest array that is kept.
    """

    def __init__(self, limit_bytes: int = 2**29) -> None:
        self._limit_bytes, self._words = limit_bytes, np.empty(0, np.int64)

    def prepare(self) -> None:
        """Get beforehand the pages that most runs use, by a word in each."""
        self.words(_USUAL_WORDS)[::_PAGE_WORDS] = 0

    def words(self, count: int) -> Ints:
        """(count,) int64 of anything; the same memory at every call."""
        if 8 * count > self._limit_bytes:
            return _fresh(count)
        if count > self._words.size:
            self._words = _fresh(count)
        return self._words[:count]


def _fresh(count: int) -> Ints:
    """New memory in small pages: NumPy asks for large ones, which take long to clear."""
    return np.frombuffer(mmap(-1, 8 * count), np.int64)
