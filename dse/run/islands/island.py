"""One island: a search of its own, which proposes some designs at once and hears of others."""

import pickle
import sys
import time
from array import array
from collections.abc import Sequence
from dataclasses import replace

from dse.evaluate import Evaluation, Evaluator
from dse.evaluate.workers.crew import Shared
from dse.proof.parts.part import Part
from dse.proof.proposer import ProvingProposer
from dse.proof.prove import Prover, Reached
from dse.proof.provers import prover_of
from dse.proof.screening import StudyScreen
from dse.run.gap import proven_share
from dse.run.islands.messages import Made, News, Order, Report
from dse.run.islands.rounds import Rounds
from dse.run.lessons.beside import UNTOLD
from dse.run.proposing import study_proposer
from dse.run.search import Search
from dse.run.terms import Budget, Evaluations, Hooks
from dse.space import Design
from dse.store.packed import pack_rows
from dse.store.rows import row_of
from dse.study.compile import Study
from dse.study.kept import KeptTrials
from dse.study.stretch import outcomes_of
from dse.study.trials import Trial

AHEAD = 2
"""Rounds by which an island may be ahead of the slowest one.

So it goes on while others, which take longer for a round now and then, finish theirs, and news
travel. With one round, two workers made trials of a millisecond 6 % slower.
"""


def heard_before(turn: int) -> int:
    """The round that an island hears of before it begins *turn*; negative: there is none."""
    return turn - 1 - AHEAD


class Island:
    """A search whose proposals know its own, but for the latest few, and the older ones of others.

    What it proposes depends on the study, its number, and the news and outcomes that it was told.
    """

    def __init__(  # noqa: PLR0913 - what a host has, and what the study begins with
        self,
        study: Study,
        number: int,
        rounds: Rounds,
        starts: Sequence[Design],
        evaluator: Evaluator,
        evaluations: Evaluations,
        lessons: Sequence[Design] = (),
    ) -> None:
        """*starts*: designs that the study starts with, of which the island takes its share.

        So it does of *lessons*, which wait for so many trials of all islands as are not to be worse
        for them.
        """
        self._rounds = rounds = rounds.anew()  # settled order by order, as it comes to them
        self._number, self._objectives = number, tuple(study.goals.objectives)
        self._lessons = lessons[number :: rounds.islands]
        screen = StudyScreen(study, evaluator, lambda own: rounds.number(number, own))
        screen.worked_out()  # what is worked out from now on is handed on
        proposer = study_proposer(study, evaluator, screen, trials=None, island=number)
        self._screen, self._sampler = screen, proposer
        self._prover = self._part_of_proof(study, evaluator)
        if self._prover is not None:
            proposer = ProvingProposer(proposer, self._prover)
        for design in starts[number :: rounds.islands]:
            proposer.enqueue(design)
        budget = Budget(
            trials=sys.maxsize,
            window=rounds.length,
            proposed=lambda told: rounds.proposed(number, told),
            repeats=study.file.search.repeats,
        )
        hooks = Hooks(
            finished=lambda trial: None,
            folded=self._told,
            stopping=lambda: self._search.asked >= self._goal,
            pausing=self._is_late,
            keyed=self._keyed,
        )
        self._search = Search(proposer, evaluations, budget, hooks, screen=screen)
        self._rows, self._known = list[Trial](), array("q")  # that are not reported yet
        self._ahead = 0  # rows that were reported before the sampler was told
        self._failure: Exception | None = None  # while it learned between two orders
        self._turn, self._until_s, self._goal = -1, 0.0, 0

    @property
    def trims(self) -> bool:
        """True if its sampler knows what designs of the front may do without."""
        return self._sampler.trims

    def _part_of_proof(self, study: Study, evaluator: Evaluator) -> Prover | None:
        """The part of the study's proof that the island works on; None: nothing is proven."""
        gap = proven_share(study)
        if gap is None:
            return None
        return prover_of(
            study,
            evaluator,
            gap,
            part=Part(number=self._number, of=self._rounds.islands),
            is_elsewhere=lambda design: self._search.is_elsewhere(design),
        )

    def settle(self) -> None:
        """Learn from what is reported, as the next order would begin; it tells what fails."""
        try:
            self._search.settle()
        except Exception as error:  # of a sampler from outside, or of a lack of memory
            self._failure = error

    def go_on(self, order: Order, until_s: float) -> Report:
        """Do what is ordered until it is done, or until ``time.monotonic()`` is *until_s*.

        One trial is made in any case.
        """
        if self._failure is not None:
            raise self._failure
        self._rounds.settle(order.turn, order.shares)
        base = self._rounds.first(self._number, order.turn)
        for facts in order.facts:
            self._screen.take(facts.value())
        self._search.settle()
        if order.turn > self._turn:
            self._begin(order, base)
        self._goal, self._until_s = base + order.share, until_s
        self._search.run(settles=False)  # what was found is reported before anybody learns from it
        return self._report(order, base)

    def _begin(self, order: Order, base: int) -> None:
        """Hear the news, and what is known of the round."""
        self._turn = order.turn
        if self._rounds.begin(order.turn) >= UNTOLD:
            for design in self._lessons:
                self._sampler.enqueue(design)
            self._lessons = ()
        if order.news is not None:
            news: News = order.news.value()
            trials = self._of_others(news)
            self._search.hear(trials, news.known)
            if self._prover is not None:
                for trial in trials:
                    self._prover.learn(trial.design, trial.evaluation)
                for design in news.failed:
                    self._prover.learn(design, Evaluation(state="failed"))
        self._search.expect(
            replace(trial, number=base + place, repeats=None)
            for place, trial in order.stored.items()
        )

    def _of_others(self, news: News) -> list[Trial]:
        """Trials that are none of this island's."""
        own = set(self._rounds.numbers(self._number, news.turn))
        return [one for one in news.trials if one.number not in own]

    def _told(self, trial: Trial, duplicates: int) -> None:
        if self._prover is not None:
            self._prover.learn(trial.design, trial.evaluation)
        if self._ahead:
            self._ahead -= 1
        else:
            self._rows.append(trial)

    def _keyed(self, key: int, genome: int) -> None:
        if not self._ahead:
            self._known.extend((key, genome))

    def _report(self, order: Order, base: int) -> Report:
        rows, self._rows = self._rows, []
        known, self._known = self._known, array("q")
        first = len(self._search.trials) - len(rows)
        for trial, key, genome in self._search.waiting():
            rows.append(trial)
            known.extend((key, genome))
            self._ahead += 1
        made = self._made(order, rows, known)
        facts = self._screen.worked_out()  # what nobody wants is not kept either
        is_over = first - base + len(rows) >= order.share
        return Report(
            island=self._number,
            turn=order.turn,
            first=first - base,
            count=len(rows),
            new=len(made.rows),
            made=Shared(pickle.dumps(made)),
            facts=facts if order.wants_facts else {},
            reached=self._reached() if is_over else None,
            is_exhausted=self._search.is_exhausted,
        )

    def _made(self, order: Order, rows: Sequence[Trial], known: Sequence[int]) -> Made:
        """The latest *rows* of the island's own search, under their numbers in the study."""
        base = self._rounds.first(self._number, order.turn)
        numbers = self._rounds.numbers(self._number, order.turn)
        trials, new = KeptTrials(), list[Trial]()
        for row in rows:
            place = row.number - base
            stored, number = order.stored.get(place), numbers[place]
            if stored is not None and stored.design == row.design:
                trials.append(replace(stored, repeats=None))
            else:
                own = replace(row, number=number, repeats=None, provenance=order.provenance)
                new.append(own)
                trials.append(own)
        return Made(
            trials=trials,
            outcomes=outcomes_of(rows, known, self._objectives),
            rows=pack_rows([row_of("trial", trial) for trial in new], trials.named()),
        )

    def _reached(self) -> Reached | None:
        """State of the proof, which knows all that is reported."""
        if self._prover is None:
            return None
        for trial, _, _ in self._search.waiting():
            self._prover.learn(trial.design, trial.evaluation)
        return self._prover.reached()

    def _is_late(self) -> bool:
        has_news = bool(self._rows) or any(True for _ in self._search.waiting())
        return has_news and time.monotonic() >= self._until_s
