"""The trials of a store as they come in, each read once."""

from pathlib import Path

from dse.store.errors import STORE
from dse.store.reader import StoreReader, reading
from dse.store.rows import Total, end_of, trials_of
from dse.store.unpacked import Unpacked
from dse.study.trials import Trial


class StoreFollower:
    """Keeps the trials of a store that another process writes.

    Attributes:
        trials: By number; there are gaps while earlier ones are under way.
        refined: Designs that were judged again, in the order of judging.
        last_s: Unix time at which the last trial came in; 0: none has.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / STORE
        self.trials: dict[int, Trial] = {}
        self.refined: list[Trial] = []
        self.last_s = 0.0
        self._checksums: list[int] = []  # of the trials before the first gap
        self._behind: list[int] = []  # numbers of those after it
        self._totals = (Total(), Total())
        self._unpacked = Unpacked()

    def follow(self) -> bool:
        """Take in what has come since; all anew where rows have changed or gone.

        Returns:
            True if there is something new.

        Raises:
            ConfigError: There is no store, or it is damaged.
        """
        with reading(self._path, self._unpacked) as store:
            totals = store.total(), store.total("refined")
            if totals == self._totals:
                return False
            self._take(store)
            if totals[1] != self._totals[1]:
                self.refined = list(trials_of(store.refined_rows()))
            self._totals = totals
        return True

    def _take(self, store: StoreReader) -> None:
        known = len(self._checksums)
        rows = store.rows_from(known)
        if Total(known, sum(self._checksums)).plus(rows) != store.total():
            self._checksums, self._behind, self.trials = [], [], {}
            rows = store.rows_from(0)
        for number in self._behind:
            del self.trials[number]
        self._behind = []
        for row, trial in zip(rows, trials_of(rows), strict=True):
            self.trials[trial.number] = trial
            self.last_s = max(self.last_s, end_of(row))
            if len(self._checksums) == trial.number:
                self._checksums.append(row[0])
            else:
                self._behind.append(trial.number)

    @property
    def state(self) -> str:
        """Word that changes with every trial that comes in."""
        return "-".join(f"{total.rows}.{total.checksums:x}" for total in self._totals)
