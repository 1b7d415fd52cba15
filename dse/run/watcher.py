"""Watchers of a study while it runs, which may stop it."""

from typing import Protocol

from dse.study.compile import Study
from dse.study.trials import Trial


class Watcher(Protocol):
    """Watcher of a running study."""

    def started(self, study: Study, known: int, total: int) -> None:
        """Workers are up; *known* of *total* trials are there already."""
        return

    def folded(self, trial: Trial, duplicates: int) -> None:
        """One more row, in ask order."""
        return

    def stopping(self) -> bool:
        """True if proposing must stop."""
        return False


class Unwatched(Watcher):
    """Nobody looks, nobody stops."""
