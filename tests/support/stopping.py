"""A watcher that stops a study."""

from dse.run.watcher import Unwatched
from dse.study.trials import Trial


class Stopping(Unwatched):
    """Ctrl-C after so many rows."""

    def __init__(self, rows: int) -> None:
        self._left = rows

    def folded(self, trial: Trial, duplicates: int) -> None:
        self._left -= 1

    def stopping(self) -> bool:
        return self._left <= 0
