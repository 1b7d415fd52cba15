"""Lessons of earlier studies beside the trials of a search, and when its sampler is told of them.

A search that is told of a design goes another way, which by chance ends worse as often as better
where it would have found as good ones by itself. So lessons are evaluated first, on top of the
trials, and the sampler goes the way that it would have gone without them: what is found is what
would have been found, and the lessons. Only where these are far ahead of what it has drawn before
it learns is it told of them at once; if not, after the first ``UNTOLD`` trials.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dse.rank.progress import shares_of_volume
from dse.run.terms import Budget, Key, Slot
from dse.space import Design, design_key
from dse.study.trials import Trial

UNTOLD = 200
"""Trials that a sampler makes without being told of lessons, unless these are far ahead."""

LOOKED_AT = 24
"""Trials with whose outcomes lessons are compared: `design` draws as many before it learns."""

_FAR, _REACH = 0.9, 2.0
"""Lessons are far ahead if so much of the hypervolume of both is theirs alone, beneath this factor
times the worst of the front: of one objective, if the best one is 1.87 times as good. Searches of
shipped studies that were told then all ended better (docs/search.md, "Warm starts"); of those where
it was 0.4 to 0.7, three of eight ended worse, and below 0.16 as many as better."""


class Beside:
    """The lessons of one search.

    Attributes:
        slots: Their outcomes, as they come in; empty: there are none, or not yet.
        first: Number of the first of them as a row, unless the sampler is told of them at once.
        begin: Number of the first of them as a row, since it is told; None: it is not.
    """

    def __init__(self, budget: Budget, is_found: Callable[[Key], bool] = lambda key: False) -> None:
        """*budget*: of the search; *is_found*: whether a row has a design's key."""
        lessons, trials = budget.lessons, budget.trials
        self._signs, self._is_found = lessons.signs, is_found
        self.first = min(UNTOLD, trials)
        self._looks = True
        self.slots: Sequence[Slot] = ()
        self.begin: int | None = None

    def take(self, slots: list[Slot], asked: int, stored: Mapping[int, Trial]) -> list[Slot]:
        """Take up lessons in *slots*, as a search does that goes on behind *asked* rows.

        Args:
            slots: Lessons that are no rows yet; they are given their numbers.
            asked: Rows so far.
            stored: Trials of a study that goes on, by number.

        Returns:
            Those that are to be evaluated: a stored study has the others.
        """
        self.first, self.slots = max(self.first, asked), slots
        self._looks = not asked  # what others began was not told of them
        known = self._evaluated_in(stored.values()) if slots else {}
        for number, slot in enumerate(slots, self.first):
            slot.number = number
            found = known.get(design_key(slot.proposal.design))
            slot.trial = None if found is None else replace(found, number=slot.number)
        return [slot for slot in slots if slot.trial is None]

    def _evaluated_in(self, stored: Iterable[Trial]) -> dict[str, Trial]:
        """First stored trials, as far as they have been evaluated, by design."""
        end = self.first + len(self.slots)
        found = (t for t in stored if t.number < end and t.repeats is None and t.state != "pruned")
        return {design_key(trial.design): trial for trial in found}

    def holds(self, slot: Slot) -> bool:
        """True if *slot* is one of these, and no row."""
        return any(slot is one for one in self.slots)

    @property
    def is_waiting(self) -> bool:
        """True if some have no outcome yet."""
        return any(slot.trial is None for slot in self.slots)

    def is_fork(self, asked: int) -> bool:
        """True if it must be seen before proposal *asked* whether the sampler is told of them."""
        is_first = self._looks and LOOKED_AT == asked < self.first
        return self.begin is None and bool(self.slots) and (is_first or asked >= self.first)

    def tell(self, asked: int, rows: Sequence[Trial]) -> bool:
        """Decide if the sampler is told of them before proposal *asked*, the one after *rows*."""
        if asked >= self.first or self._are_far_ahead(rows):
            self.begin = asked
        return self.begin is not None

    def tell_again(self, rows: Sequence[Trial], key_of: Callable[[Design], Key]) -> Sequence[Trial]:
        """See with the *rows* of a search that goes on whether the sampler has been told of them.

        What follows on the last of the rows is seen when the next one is proposed.

        Returns:
            The rows up to the first that a lesson has not had its turn in, though it is stored.
        """
        if len(rows) > LOOKED_AT and self.is_fork(LOOKED_AT):
            self.tell(LOOKED_AT, rows[:LOOKED_AT])
        if self.begin is None and self.slots and len(rows) > self.first:
            self.begin = self.first
        if self.begin is None:
            return rows
        known = {key_of(row.design) for row in rows[: self.begin]}
        for slot, row in zip(self.slots, rows[self.begin :], strict=False):
            is_as_told = (row.repeats is not None) == (slot.key in known)
            if row.design != slot.proposal.design or not is_as_told:
                return rows[: row.number]
        return rows

    def left(self, asked: int) -> Iterator[tuple[int, Slot]]:
        """Lessons that are no rows yet after *asked* rows, with the numbers that are theirs."""
        numbered = enumerate(self.slots, self.first if self.begin is None else self.begin)
        return ((number, slot) for number, slot in numbered if number >= asked)

    def is_turn(self, number: int, design: Design) -> bool:
        """True if row *number* is a lesson, and *design* is that one."""
        place = -1 if self.begin is None else number - self.begin
        return 0 <= place < len(self.slots) and self.slots[place].proposal.design == design

    def outcome(self, design: Design) -> Trial | None:
        """Outcome of *design*, if it is a lesson that has been evaluated."""
        found = (slot.trial for slot in self.slots if slot.proposal.design == design)
        return next(found, None)

    def evaluated(self, asked: int) -> list[Trial]:
        """Outcomes of those that are no rows yet after *asked* rows, and whose designs none has."""
        pairs = [(n, slot) for n, slot in self.left(asked) if not self._is_found(slot.key)]
        return [replace(slot.trial, number=n) for n, slot in pairs if slot.trial is not None]

    def gone(self, asked: int, stored: Mapping[int, Trial]) -> list[int]:
        """Numbers of *stored* trials behind *asked* rows that are lessons under other numbers."""
        if not self.slots:
            return []
        own = {trial.number for trial in self.evaluated(asked)}
        taught = {design_key(slot.proposal.design) for slot in self.slots}
        later = [number for number in stored if number >= asked and number not in own]
        return [number for number in later if design_key(stored[number].design) in taught]

    def _are_far_ahead(self, rows: Sequence[Trial]) -> bool:
        found = self._points(rows)
        taught = self._points(slot.trial for slot in self.slots if slot.trial is not None)
        if not len(taught) or not len(found):
            return bool(len(taught))
        share = shares_of_volume(np.concatenate([found, taught]), [len(found)], reach=_REACH)[0]
        return 1.0 - share >= _FAR

    def _points(self, rows: Iterable[Trial]) -> NDArray[np.float64]:
        """(N, M) objectives of feasible rows, all minimised."""
        found = [row.evaluation.objectives for row in rows if row.is_feasible]
        values = [[sign * one[name] for name, sign in self._signs.items()] for one in found]
        return np.array(values, np.float64).reshape(-1, len(self._signs))
