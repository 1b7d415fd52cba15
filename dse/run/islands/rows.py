"""Trials of islands in few bytes each: kept as they come, told in the order of their numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import overload

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.archive import KeyTable
from dse.study.kept import KeptTrials
from dse.study.stretch import Flags, Outcomes, Stretch, outcome_type
from dse.study.trials import Trial

Ints = NDArray[np.int64]

_FIRST, _GROWTH = 1 << 10, 8
"""Trials of a new table; how many times as large one is made that does not suffice."""

_AT_ONCE = 1 << 12
"""Trials that an iteration makes at once."""


class IslandRows(Sequence[Trial]):
    """Rows of a study by islands, in the order of their numbers, up to the first that is missing.

    Those behind it are there as well, under their numbers (``trial``), and become rows with
    ``fold``. A row is made when somebody looks at it.
    """

    def __init__(self, objectives: int) -> None:
        """*objectives*: their number."""
        self._table: Outcomes = np.empty(0, outcome_type(objectives))
        self._raw = np.dtype((np.void, self._table.itemsize))  # copied without a look at fields
        # places in what is kept and one more; 0: there is none
        self._ends, self._repeats = np.zeros(0, np.int64), np.empty(0, np.int64)
        self._kept = KeptTrials()
        self._firsts = KeyTable()  # numbers of the first rows with these designs
        self._count = self._end = 0
        self.duplicates = 0

    def add(self, numbers: Sequence[int], trials: KeptTrials, outcomes: Outcomes) -> None:
        """Keep *trials* under their *numbers*, but for those that are there."""
        if not len(trials):
            return
        self._reach(numbers[-1] + 1)
        at = _index(numbers)
        is_new = self._ends[at] == 0
        if not is_new.any():
            return
        ends = np.arange(len(self._kept), len(self._kept) + len(trials)) + 1
        self._kept.take(trials)
        if not is_new.all():
            at, ends = np.array(numbers)[is_new], ends[is_new]
            outcomes = outcomes[is_new]
        self._ends[at], self._repeats[at] = ends, -1
        self._table.view(self._raw)[at] = outcomes.view(self._raw)
        self._end = max(self._end, numbers[-1] + 1)

    def adopt(self, trial: Trial) -> None:
        """Take up one more row as it is stored."""
        self._reach(self._count + 1)
        self._ends[self._count] = len(self._kept) + 1
        self._repeats[self._count] = -1 if trial.repeats is None else trial.repeats
        self._kept.append(trial)
        self.duplicates += trial.repeats is not None
        self._count = self._end = self._count + 1

    def are_there(self, numbers: Sequence[int]) -> Flags:
        """(N,) True of *numbers*, rising, whose trials have come, whether they are rows or not."""
        if not len(numbers) or numbers[0] >= self._end:
            return np.zeros(len(numbers), bool)
        self._reach(numbers[-1] + 1)
        return np.asarray(self._ends[_index(numbers)] > 0)

    def trial(self, number: int) -> Trial:
        """The trial with this number, which has come, whether it is a row or not."""
        return next(self._made(np.array([number])))

    def later(self, limit: int) -> list[Trial]:
        """Trials that have come and wait for those before them, below *limit*, as they came."""
        waiting = np.flatnonzero(self._ends[self._count : limit])
        return list(self._made(self._count + waiting))

    def fold(self, limit: int) -> Stretch | None:
        """Turn the next trials, below *limit*, into rows; None: the first of them is missing.

        Of equal designs all but the first one are repeats.
        """
        first, limit = self._count, min(limit, self._end)
        if first >= limit or self._ends[first] == 0:
            return None
        missing = np.flatnonzero(self._ends[first:limit] == 0)
        self._count = end = first + int(missing[0]) if missing.size else limit
        numbers, keys = np.arange(first, end, dtype=np.int32), self._table["key"][first:end].copy()
        firsts = self._firsts.find(keys)
        is_new = firsts < 0
        firsts[is_new] = numbers[is_new]
        # of equal ones the first stays
        added = self._firsts.put(keys[is_new][::-1], numbers[is_new][::-1])
        if added < np.count_nonzero(is_new):
            firsts = self._firsts.find(keys)
        self._repeats[first:end] = np.where(firsts == numbers, -1, firsts)
        self.duplicates += int(np.count_nonzero(firsts != numbers))
        return self.stretch(first, end)

    def stretch(self, first: int, end: int) -> Stretch:
        """Rows from *first* up to *end*."""
        ends = self._ends[first:end]
        later = np.count_nonzero(self._repeats[first : self._count] >= 0)
        return Stretch(
            outcomes=self._table[first:end],
            repeats=self._repeats[first:end],
            duplicates=self.duplicates - int(later),
            rows=lambda chosen: self._made(first + chosen),
            evaluated_by=lambda chosen: self._kept.workers(ends[chosen] - 1),
        )

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Trial]:
        for first in range(0, self._count, _AT_ONCE):
            yield from self._made(np.arange(first, min(first + _AT_ONCE, self._count)))

    @overload
    def __getitem__(self, at: int) -> Trial: ...
    @overload
    def __getitem__(self, at: slice) -> list[Trial]: ...
    def __getitem__(self, at: int | slice) -> Trial | list[Trial]:
        if isinstance(at, slice):
            return list(self._made(np.arange(*at.indices(self._count))))
        return next(self._made(np.array([range(self._count)[at]])))

    def _made(self, numbers: Ints) -> Iterator[Trial]:
        """The trials with *numbers*, made one after the other."""
        places, repeats = self._ends[numbers] - 1, self._repeats[numbers]
        every = zip(numbers.tolist(), places.tolist(), repeats.tolist(), strict=True)
        for number, place, first in every:
            trial = self._kept.trial(place, number)
            if first >= 0:
                evaluation = replace(trial.evaluation, duration_s=0.0)
                trial = replace(trial, evaluation=evaluation, worker="", repeats=first)
            yield trial

    def _reach(self, count: int) -> None:
        """Make room for *count* trials."""
        held = len(self._table)
        if count > held:
            size = max(_FIRST, count, _GROWTH * held)  # what is not used takes no memory
            table = np.empty(size, self._table.dtype)
            ends, repeats = np.zeros(size, np.int64), np.empty(size, np.int64)
            table[:held], ends[:held], repeats[:held] = self._table, self._ends, self._repeats
            self._table, self._ends, self._repeats = table, ends, repeats


def _index(numbers: Sequence[int]) -> slice | Ints:
    """Index of *numbers* into an array."""
    if isinstance(numbers, range):
        return slice(numbers.start, numbers.stop, numbers.step)
    return np.array(numbers)
