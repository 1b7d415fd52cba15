"""A study's search by islands, and its end by one search that has heard of everything."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dse.evaluate import Crew, Dispatcher, Limits
from dse.proof.prove import Reached
from dse.proof.screening import Facts
from dse.run.asked import check_islands
from dse.run.ending import Ending
from dse.run.islands.archipelago import Archipelago, Bounds
from dse.run.islands.rounds import Rounds
from dse.run.search import Search
from dse.run.terms import Budget, Hooks
from dse.samplers.base import Proposer
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import ConfigError

AT = "search.islands"
"""Key of the study file."""


def island_rounds(study: Study, proposer: Proposer[Any]) -> Rounds | None:
    """Rounds of the islands of *study*; None: one search does it all.

    That is so without being asked for where the trials suffice for all designs.

    Raises:
        ConfigError: Its search cannot be one of islands.
    """
    search = study.file.search
    if search.islands == 1:
        return None
    check_islands(study)
    if proposer.is_complete and search.sampler != "design":
        rule = f"must be 1 with the sampler {search.sampler}, which takes all designs in turn"
        raise ConfigError(AT, rule, got=search.islands)
    if proposer.is_complete:
        return None
    return Rounds(islands=search.islands, length=search.window, grows=proposer.in_lessons)


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """Means of a search by islands.

    Attributes:
        signs: +1 for each minimised objective, by name, -1 for each that is maximised.
        trims: Whether the sampler knows what designs of the front may do without.
        crew: Workers that islands can live on.
        dispatcher: Of the same workers; it has not made use of them yet.
        limits: Of one evaluation.
        waiting: Called in between.
        happened: Called with the kind and the text of what happened on the machines.
        forget: Called with a number from which on no trial counts.
        take: Called with facts of plans that islands have worked out.
        first_of_end: Number of the first proposal of the end, where that is known; None: it is not.
        proven: Told how far the proofs of islands have come; whether that is all that was asked
            for. None: the study proves nothing.
    """

    signs: dict[str, int]
    trims: bool
    crew: Crew
    dispatcher: Dispatcher
    limits: Limits
    waiting: Callable[[], None]
    happened: Callable[[str, str], None]
    forget: Callable[[int], None]
    take: Callable[[Facts], None]
    first_of_end: int | None
    proven: Callable[[Mapping[int, Reached]], bool] | None = None


class IslandSearch:
    """Islands up to the end of a study, then one search; as ``Search`` from outside."""

    def __init__(
        self,
        last: Search,
        rounds: Rounds,
        budget: Budget,
        hooks: Hooks,
        known: Sequence[Trial],
        means: Means,
    ) -> None:
        """*last*: the search that takes up what islands have found; others as of ``Search``."""
        self._last, self._hooks, self._means = last, hooks, means
        ending = Ending(
            trials=budget.trials,
            window=budget.window,
            trims=means.trims,
            starts=budget.starts,
            signs=dict(budget.signs),
        )
        self._known = {trial.number: trial for trial in known}
        bounds = Bounds(
            rounds=rounds,
            limit=ending.latest_first,
            ending=ending,
            signs=means.signs,
            until_s=budget.until_s,
            designs=budget.designs,
            filed=means.first_of_end or sys.maxsize,
            proven=means.proven,
        )
        of_islands = (trial for trial in known if trial.number < bounds.limit)
        self._islands = Archipelago(bounds, hooks, of_islands)
        self._is_last = False

    @property
    def trials(self) -> Sequence[Trial]:
        """The rows so far, in the order of their numbers."""
        return self._last.trials if self._is_last else self._islands.trials

    @property
    def duplicates(self) -> int:
        """Rows whose design an earlier one has."""
        return self._last.duplicates if self._is_last else self._islands.duplicates

    @property
    def is_whole(self) -> bool:
        """True if no design was left to propose; see ``Search``."""
        return self._last.is_whole if self._is_last else self._islands.knows_all

    def run(self) -> None:
        """Search until the budget is spent, the space is exhausted or someone says stop."""
        means, islands = self._means, self._islands
        rows = self._rows_before_end()
        if rows is None:
            ready = islands.run(means.crew, means.limits, means.waiting, means.happened)
            means.dispatcher.take_over(ready)
            if not islands.is_done:
                return
            self._make_room_for_end()
            islands.conclude_proof()
            if islands.is_proven:
                self._last.add_lessons(islands.trials)
                return
        else:
            islands.adopt(rows)
        for facts in islands.facts:
            means.take(facts.value())
        if self._last.take_up(islands.trials):
            self._is_last = True
            if rows is None:
                self._hooks.ending(len(islands.trials))
            self._last.run()
        else:
            self._last.add_lessons(islands.trials)

    def finished(self) -> list[Trial]:
        """All trials that have an outcome, in the order of their numbers."""
        if self._is_last:
            return self._last.finished()
        return [*self._islands.finished(), *self._last.lessons]

    def _make_room_for_end(self) -> None:
        """Leave nothing of islands in the store behind the last trial that counts."""
        count, first = len(self._islands.trials), self._means.first_of_end or sys.maxsize
        if self._islands.is_short and first != count:
            self._means.forget(count)
        for trial in self._islands.trials[first:]:  # the end began earlier when it was stored
            self._hooks.finished(trial)

    def _rows_before_end(self) -> list[Trial] | None:
        """All rows before the end, where it is known where that begins, and they are stored."""
        first = self._means.first_of_end
        if not first or self._means.proven is not None:  # islands prove anew: no store keeps that
            return None
        rows = [self._known.get(number) for number in range(first)]
        found = [row for row in rows if row is not None]
        return found if len(found) == first else None
