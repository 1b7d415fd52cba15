"""Memory in which runs keep their tables."""

import mmap
from contextlib import suppress

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
        self._limit_bytes, self._has_large_pages = limit_bytes, False
        self._words = np.empty(0, np.int64)

    def prepare(self) -> None:
        """Get beforehand the pages that most runs use, by a word in each."""
        self.words(_USUAL_WORDS)[::_PAGE_WORDS] = 0

    def take_large_pages(self) -> None:
        """Ask for large pages when more memory is needed, where the system has them.

        A single run uses little of each, which takes long to clear. Many runs, of programs that lie
        in other places each, use all of them in the end, and find their way with fewer entries of
        the table of pages.
        """
        self._has_large_pages = True

    def words(self, count: int) -> Ints:
        """(count,) int64 of anything; the same memory at every call."""
        if 8 * count > self._limit_bytes:
            return self._fresh(count)
        if count > self._words.size:
            self._words = self._fresh(count)
        return self._words[:count]

    def _fresh(self, count: int) -> Ints:
        """New memory, in small pages unless large ones are asked for; NumPy asks for large ones."""
        memory = mmap.mmap(-1, 8 * count)
        if self._has_large_pages and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a system without them
                memory.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(memory, np.int64)
