"""Memory that runs use one after the other."""

import numpy as np

from simcore.system.engine_input import Ints


class Workspace:
    """Keeps memory from run to run: to get it anew, page by page, takes longer than many a run.

    Args:
        limit_bytes: Largest array that is kept.
    """

    def __init__(self, limit_bytes: int = 2**28) -> None:
        self._limit, self._words = limit_bytes // 8, np.empty(0, np.int64)

    def words(self, count: int) -> Ints:
        """(count,) int64 of anything; the same memory at every call."""
        if count > self._limit:
            return np.empty(count, np.int64)
        if count > self._words.size:
            self._words = np.empty(count, np.int64)
        return self._words[:count]
