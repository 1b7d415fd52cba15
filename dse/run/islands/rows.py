"""Trials of islands in few bytes each: kept as they come, told in the order of their numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design.archive import KeyTable
from dse.study.kept import KeptTrials
from dse.study.stretch import Flags, Outcomes, Stretch, outcome_type
from dse.study.trials import Trial

Ints = NDArray[np.int64]

_FIRST = 1 << 10
"""Trials of a new table; it is made twice as large where it does not suffice."""

_AT_ONCE = 1 << 12
"""Trials that an iteration makes at once."""


class IslandRows(Sequence[Trial]):
    """Rows of a study by islands, in the order of their numbers, up to the first that is missing.

    Those behind it are there as well, under their numbers (``trial``), and become rows with
    ``fold``. A row is made when somebody looks at it.
    """

    def __init__(self, objectives: int) -> None:
        """*objectives*: their number."""
        fields = [("place", np.int64), ("repeats", np.int64)]
        kind = np.dtype(fields + outcome_type(objectives).descr)
        self._outcomes = [name for name, *_ in outcome_type(objectives).descr]
        self._table: NDArray[Any] = np.zeros(0, kind)
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
        is_new = self._table["place"][at] < 0
        if not is_new.any():
            return
        places = np.arange(len(self._kept), len(self._kept) + len(trials))
        self._kept.take(trials)
        if not is_new.all():
            at, places = np.array(numbers)[is_new], places[is_new]
            outcomes = outcomes[is_new]
        self._table["place"][at], self._table["repeats"][at] = places, -1
        for name in self._outcomes:
            self._table[name][at] = outcomes[name]
        self._end = max(self._end, numbers[-1] + 1)

    def adopt(self, trial: Trial) -> None:
        """Take up one more row as it is stored."""
        self._reach(self._count + 1)
        self._table["place"][self._count] = len(self._kept)
        self._table["repeats"][self._count] = -1 if trial.repeats is None else trial.repeats
        self._kept.append(trial)
        self.duplicates += trial.repeats is not None
        self._count = self._end = self._count + 1

    def are_there(self, numbers: Sequence[int]) -> Flags:
        """(N,) True of *numbers*, rising, whose trials have come, whether they are rows or not."""
        if not len(numbers) or numbers[0] >= self._end:
            return np.zeros(len(numbers), bool)
        self._reach(numbers[-1] + 1)
        return np.asarray(self._table["place"][_index(numbers)] >= 0)

    def trial(self, number: int) -> Trial:
        """The trial with this number, which has come, whether it is a row or not."""
        return next(self._made(np.array([number])))

    def later(self, limit: int) -> list[Trial]:
        """Trials that have come and wait for those before them, below *limit*, as they came."""
        waiting = np.flatnonzero(self._table["place"][self._count : limit] >= 0)
        return list(self._made(self._count + waiting))

    def fold(self, limit: int) -> Stretch | None:
        """Turn the next trials, below *limit*, into rows; None: the first of them is missing.

        Of equal designs all but the first one are repeats.
        """
        first, limit = self._count, min(limit, self._end)
        if first >= limit or self._table["place"][first] < 0:
            return None
        missing = np.flatnonzero(self._table["place"][first:limit] < 0)
        self._count = end = first + int(missing[0]) if missing.size else limit
        numbers, keys = np.arange(first, end, dtype=np.int32), self._table["key"][first:end].copy()
        is_new = self._firsts.find(keys) < 0
        self._firsts.put(keys[is_new][::-1], numbers[is_new][::-1])  # of equal ones the first stays
        firsts = self._firsts.find(keys)
        self._table["repeats"][first:end] = np.where(firsts == numbers, -1, firsts)
        self.duplicates += int(np.count_nonzero(firsts != numbers))
        return self.stretch(first, end)

    def stretch(self, first: int, end: int) -> Stretch:
        """Rows from *first* up to *end*."""
        part = self._table[first:end]
        later = np.count_nonzero(self._table["repeats"][first : self._count] >= 0)
        return Stretch(
            outcomes=part,
            repeats=part["repeats"],
            duplicates=self.duplicates - int(later),
            rows=lambda places: self._made(first + places),
            evaluated_by=lambda places: self._kept.workers(part["place"][places]),
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
        places, repeats = self._table["place"][numbers], self._table["repeats"][numbers]
        every = zip(numbers.tolist(), places.tolist(), repeats.tolist(), strict=True)
        for number, place, first in every:
            trial = self._kept.trial(place, number)
            if first >= 0:
                evaluation = replace(trial.evaluation, duration_s=0.0)
                trial = replace(trial, evaluation=evaluation, worker="", repeats=first)
            yield trial

    def _reach(self, count: int) -> None:
        """Make room for *count* trials."""
        if count > len(self._table):
            size = max(_FIRST, 1 << (count - 1).bit_length())
            larger = np.empty(size, self._table.dtype)
            larger[: len(self._table)] = self._table
            larger["place"][len(self._table) :] = -1  # others are written before they are read
            self._table = larger


def _index(numbers: Sequence[int]) -> slice | Ints:
    """Index of *numbers* into an array."""
    if isinstance(numbers, range):
        return slice(numbers.start, numbers.stop, numbers.step)
    return np.array(numbers)
