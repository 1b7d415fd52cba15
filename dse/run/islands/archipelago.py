"""Rounds of islands: the driver hands them out, folds what comes back, and tells the others."""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dse.evaluate import Crew, Evaluation, Limits
from dse.evaluate.workers.crew import Shared
from dse.proof.prove import Reached
from dse.rank.pareto import foremost
from dse.run.ending import Ending
from dse.run.islands.dealing import Dealing
from dse.run.islands.facts import SharedFacts
from dse.run.islands.fleet import Callbacks, Fleet
from dse.run.islands.island import AHEAD, heard_before
from dse.run.islands.messages import Made, News, Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.islands.rows import IslandRows
from dse.run.terms import WAIT_S, Hooks
from dse.study.stretch import COMPLETE, FAILED, PRUNED, Stretch
from dse.study.trials import Trial

MOST_TOLD = 64
"""Feasible designs of a round that islands are told of: all, or those of its first fronts."""

_FRONTS = 3
"""Fronts that are told apart where a round has more."""

_FILING_S = 0.02
"""Time for which trials are filed before it is seen which islands wait for an order."""

_REPLAYED = 16
"""Rounds at most that one message asks for, where all outcomes are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Bounds of what islands do.

    Attributes:
        rounds: Their rounds.
        limit: Trials of all of them.
        ending: Tells when they do not improve any more.
        signs: +1 for each minimised objective, by name, -1 for each that is maximised.
        until_s: Value of ``time.monotonic()`` after which nothing more is ordered, or None.
        designs: Number of designs in the space, or None if it is infinite.
        filed: Number from which on no trial is filed: the store holds those of the end.
        proven: Told how far the proofs of islands have come, by number, whose trials up to then
            are all folded; whether that is all that was asked for. None: nothing is proven.
    """

    rounds: Rounds
    limit: int
    ending: Ending
    signs: dict[str, int]
    until_s: float | None = None
    designs: int | None = None
    filed: int = sys.maxsize
    proven: Callable[[Mapping[int, Reached]], bool] | None = None


@dataclass(slots=True, kw_only=True)
class _Course:
    """Progress of one island: the round that it is in, and what it has reported of that."""

    turn: int = 0
    place: int = 0
    is_exhausted: bool = False
    suspect: int = -1
    """Round in which a design may have ended its worker."""


class Archipelago:
    """Islands of one study, from its first trial to the first one of its end.

    Attributes:
        trials: The rows so far, in the order of their numbers.
    """

    def __init__(self, bounds: Bounds, hooks: Hooks, known: Iterable[Trial]) -> None:
        """*known*: stored trials."""
        self._bounds, self._hooks, self._rounds = bounds, hooks, bounds.rounds.anew()
        self._limit = bounds.limit
        self._known = {trial.number: trial for trial in known}
        self._courses = [_Course() for _ in range(self._rounds.islands)]
        self._facts = SharedFacts(self._rounds.islands)
        self._dealing = Dealing(self._rounds)
        self._reports: deque[Report] = deque()  # not filed yet
        self._news: list[Shared] = []
        self._reached: dict[tuple[int, int], Reached] = {}
        self._is_proven = False
        self._crew: Crew | None = None
        self.trials = IslandRows(len(bounds.signs))

    @property
    def duplicates(self) -> int:
        """Rows whose design an earlier one has."""
        return self.trials.duplicates

    @property
    def is_done(self) -> bool:
        """True if all trials that islands make are there."""
        return len(self.trials) >= self._limit

    @property
    def is_short(self) -> bool:
        """True if an island had no design left to propose, so that later trials do not count."""
        return any(course.is_exhausted for course in self._courses)

    @property
    def is_proven(self) -> bool:
        """True if all that was to be proven is."""
        return self._is_proven

    @property
    def facts(self) -> Sequence[Shared]:
        """Facts of plans that islands have worked out."""
        return self._facts.all

    @property
    def knows_all(self) -> bool:
        """True if every design of the space has been proposed."""
        designs = self._bounds.designs
        return designs is not None and len(self.trials) - self.duplicates >= designs

    def finished(self) -> list[Trial]:
        """All trials that have an outcome, in the order of their numbers."""
        return [*self.trials, *self.trials.later(self._limit)]

    def adopt(self, trials: Sequence[Trial]) -> None:
        """Take up all rows of the islands as they are stored."""
        for trial in trials:
            self.trials.adopt(trial)
            self._hooks.folded(trial, self.duplicates)

    def run(
        self,
        crew: Crew,
        limits: Limits,
        waiting: Callable[[], None],
        happened: Callable[[str, str], None],
    ) -> dict[int, str]:
        """Let the islands live on *crew* until they are done or someone says stop.

        Returns:
            The machines of the workers that are ready, none of which has anything to do.
        """
        self._crew = crew
        calls = Callbacks(
            orders=self._orders,
            reported=self._reported,
            moved=self._moved,
            waiting=waiting,
            happened=happened,
        )
        fleet = Fleet(crew, self._rounds.islands, limits, calls)
        while True:
            if not self._is_stopping and not self.is_done:
                fleet.send()
            elif not fleet.is_busy and not self._reports:
                return fleet.ready
            fleet.receive(0.0 if self._reports else WAIT_S)
            if not self._is_stopping:
                fleet.send()  # islands go on while their trials are filed
            if self._file_some():
                fleet.wake()

    def conclude_proof(self) -> None:
        """Take up what islands have proven in the last round, of which not all is asked for."""
        last = {own: self._reached[turn, own] for turn, own in sorted(self._reached)}
        if self.is_done and not self.is_short:  # no trial counts that an island missed
            self._is_proven |= self._suffices(last)

    @property
    def _is_stopping(self) -> bool:
        until_s = self._bounds.until_s
        return self._hooks.stopping() or (until_s is not None and time.monotonic() >= until_s)

    def _orders(self, island: int) -> list[Order]:
        """The next rounds of an island: one, or several whose outcomes are all known."""
        course = self._courses[island]
        orders: list[Order] = []
        for turn in range(course.turn, course.turn + _REPLAYED):
            share = self._rounds.share(island, turn, self._limit)
            told = heard_before(turn)
            done = course.place if turn == course.turn else 0
            if course.is_exhausted or done >= share or told >= len(self._news):
                break
            stored = self._stored(island, turn, share)
            order = Order(
                island=island,
                turn=turn,
                share=share,
                shares=self._rounds.shares(turn),
                begins=turn == course.place == 0,
                news=self._news[told] if told >= 0 else None,
                stored=stored,
                facts=() if orders else self._facts.untold(island),
                wants_facts=self._facts.are_wanted(island),
                provenance=self._hooks.provenance,
                is_guarded=course.suspect == turn and len(stored) < share,  # a replay runs none
            )
            orders.append(order)
            if not order.is_replay:
                break
        return orders

    def _stored(self, island: int, turn: int, share: int) -> dict[int, Trial]:
        """Outcomes of an island's round that are known, by place."""
        numbers = self._rounds.numbers(island, turn)[:share]
        there = np.flatnonzero(self.trials.are_there(numbers)).tolist()
        found = {place: self.trials.trial(numbers[place]) for place in there}
        if self._known:
            found |= {place: self._known[n] for place, n in enumerate(numbers) if n in self._known}
        return found

    def _reported(self, report: Report) -> None:
        self._advance(report)
        self._facts.add(report)
        if report.reached is not None and report.turn >= len(self._news):
            self._reached[report.turn, report.island] = report.reached
        self._reports.append(report)

    def _moved(self, island: int, suspect: int | None) -> None:
        """An island begins anew, on another worker; what was suspected before may be known now."""
        while self._reports:  # so that nothing is evaluated twice
            self._file_next()
        course = self._courses[island]
        course.suspect = course.suspect if suspect is None else suspect
        course.turn = course.place = 0
        self._facts.forget(island)

    def _file_some(self) -> bool:
        """File what has come in, for a short while, and fold it; whether there are news."""
        end_s = time.monotonic() + _FILING_S
        while self._reports and time.monotonic() < end_s:
            self._file_next()
        return self._fold()

    def _file_next(self) -> None:
        """File what an island has done; of what was known before, only that it was done again."""
        report = self._reports.popleft()
        if report.made is None or not report.count:
            return
        made: Made = report.made.value()
        end = report.first + report.count
        numbers = self._rounds.numbers(report.island, report.turn)[report.first : end]
        there = self.trials.are_there(numbers)
        rows = made.rows
        if there.any() or numbers[-1] >= self._bounds.filed:
            every = zip(numbers, there.tolist(), strict=True)
            rows = rows.only(
                {n for n, is_there in every if not is_there and n < self._bounds.filed}
            )
        if len(rows):
            self._hooks.filed(rows)
        if self._known:
            for number in numbers:
                self._known.pop(number, None)
        self.trials.add(numbers, made.trials, made.outcomes)

    def _advance(self, report: Report) -> None:
        """Note how far an island has come."""
        course, island = self._courses[report.island], report.island
        course.place += report.count
        if report.is_exhausted:
            course.is_exhausted = True
            own = self._rounds.first(report.island, report.turn) + course.place
            gap = self._rounds.number(island, own)
            self._limit = min(self._limit, gap)
        elif course.place >= self._rounds.share(island, course.turn, self._bounds.limit):
            course.turn, course.place = course.turn + 1, 0

    def _fold(self) -> bool:
        """Take up what has come in, in the order of numbers, and tell of each round that is whole.

        What an island finds anew that another one has found is a repeat, as told in its row.

        Returns:
            Whether there are news.
        """
        before = len(self._news)
        while True:
            end = self._rounds.begin(len(self._news) + 1)
            stretch = self.trials.fold(min(end, self._limit))
            if stretch is None:
                return len(self._news) > before
            self._hooks.all_folded(stretch)
            if len(self.trials) == end:
                self._conclude()

    def _conclude(self) -> None:
        """See whether the end is due, or nothing left to find, and tell islands of the round."""
        count, ending, turn = len(self.trials), self._bounds.ending, len(self._news)
        self._is_proven |= self._is_enough(turn)
        is_settled = bool(ending.signs) and ending.begins(self.trials, count)
        if self.knows_all or self._is_proven or is_settled:
            # these rounds after it have begun, or may have: they are the last
            last = turn + AHEAD
            self._limit = min(self._limit, self._rounds.begin(last + 1))
        stretch = self.trials.stretch(count - self._rounds.size(turn), count)
        self._dealing.conclude(turn, ~stretch.is_new | stretch.of(PRUNED))
        news = News(
            turn=turn,
            trials=[_alone(trial) for trial in _told(stretch, self._bounds.signs)],
            known=np.stack([stretch.outcomes["key"], stretch.outcomes["genome"]], axis=1),
            failed=[trial.design for trial in stretch.some(stretch.of(FAILED))],
        )
        assert self._crew is not None, "there are workers"
        self._news.append(self._crew.share(news))

    def _is_enough(self, turn: int) -> bool:
        """True if what islands have proven at the end of a round is all that was asked for."""
        islands = range(self._rounds.islands)
        reached = {own: self._reached.pop((turn, own), None) for own in islands}
        return self._suffices({own: of_it for own, of_it in reached.items() if of_it is not None})

    def _suffices(self, reached: Mapping[int, Reached]) -> bool:
        proven = self._bounds.proven
        return proven is not None and bool(reached) and proven(reached)


def _told(rows: Stretch, signs: Mapping[str, int]) -> Iterator[Trial]:
    """Feasible designs of a round; where there are many, the best of them."""
    found = np.flatnonzero(rows.is_new & rows.of(COMPLETE))
    if found.size > MOST_TOLD:
        points = rows.outcomes["objectives"][found] * np.array(list(signs.values()), np.float64)
        found = np.sort(found[foremost(points, MOST_TOLD, _FRONTS)])
    return rows.rows(found)


def _alone(trial: Trial) -> Trial:
    """Objectives and limits alone, which is what islands need."""
    found = trial.evaluation
    alone = Evaluation(
        state=found.state, objectives=found.objectives, constraints=found.constraints
    )
    return replace(trial, evaluation=alone, worker="")
