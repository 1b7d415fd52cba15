"""The search loop: ask, evaluate, tell, in an order that no worker can change."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from dse.evaluate import Answer, Task
from dse.proof.screening import NoScreen
from dse.run.ending import Ending
from dse.run.lessons.beside import Beside
from dse.run.lessons.evaluated import LessonEvaluations
from dse.run.terms import WAIT_S, Budget, Evaluations, Hooks, Key, Slot, key_of, outcome_of
from dse.samplers.base import Proposal, Proposer
from dse.samplers.design.archive import KeyTable
from dse.samplers.design.columns.genomes import Keys
from dse.space import Design
from dse.study.kept import KeptTrials
from dse.study.trials import Trial
from simcore import no_collection


class Search:
    """One search; the state of a study while it runs.

    Attributes:
        trials: The rows so far, in ask order.
        duplicates: Proposals of a known design.
    """

    def __init__(
        self,
        proposer: Proposer[Any],
        dispatcher: Evaluations,
        budget: Budget,
        hooks: Hooks,
        known: Iterable[Trial] = (),
        screen: NoScreen | None = None,
    ) -> None:
        """*known*: stored trials; *screen*: answers for designs that need no simulation."""
        self._proposer, self._dispatcher = proposer, dispatcher
        self._budget, self._hooks = budget, hooks
        self._screen = screen or NoScreen()
        self._stored = {trial.number: trial for trial in known}
        self._is_resumed = bool(self._stored)
        self._elsewhere = KeyTable()  # designs that others have found
        self._slots: deque[Slot] = deque()
        self._by_key = KeyTable()  # numbers of the first rows with these designs
        self._designs = 0
        self._by_number: dict[int, Slot] = {}
        self.trials = KeptTrials()
        self.duplicates = 0
        self._asked = 0
        self._is_exhausted = False
        self._beside = Beside(budget, lambda key: self._by_key.get(key) >= 0)
        self._lessons = LessonEvaluations(self._beside, dispatcher, hooks, self._stored, self._file)
        self._ending = Ending.of(budget, proposer)

    @property
    def is_whole(self) -> bool:
        """True if no design was left to propose, but for those that cannot be feasible."""
        return self._knows_all or (self._is_exhausted and self._proposer.is_complete)

    @property
    def _knows_all(self) -> bool:
        """True if every design of the space has been proposed."""
        designs = self._budget.designs
        return designs is not None and self._designs >= designs

    def run(self, *, settles: bool = True) -> None:
        """Search until the budget is spent, the space is exhausted or someone says stop.

        Args:
            settles: Whether the sampler is told all outcomes then; if not, ``settle`` tells it the
                last ones, so that they can be seen before (``waiting``).
        """
        with no_collection():
            self._begin_lessons()
            self._recall()
            self._lessons.keep(self._asked)
        self._run(settles=settles)
        self._lessons.keep(self._asked)

    def _run(self, *, settles: bool) -> None:
        while True:
            while self._may_open() and self._may_ask():
                if not self._ask():
                    break
            if not self._slots:
                return
            if not settles and self._hooks.stopping():
                for slot in self._slots:
                    if not self._await(slot):
                        break
                return
            if not self._await(self._slots[0]):
                return
            self._fold(self._slots.popleft())

    def _begin_lessons(self) -> None:
        """Have those lessons evaluated that nobody knows yet."""
        slots = [Slot.of(one, self._key(one)) for one in self._budget.lessons.designs]
        new = [slot for slot in slots if self._is_unknown(slot.key)]
        self._by_number |= {slot.number: slot for slot in self._lessons.begin(new, self._asked)}

    def add_lessons(self, rows: Sequence[Trial]) -> None:
        """Evaluate the lessons that are none of *rows*, which others have made."""
        for row in rows:
            self._know(self._key(row.design), row.number)
        self._asked = len(rows)
        self._begin_lessons()
        if self._lessons.wait():
            self._lessons.keep(self._asked)

    @property
    def lessons(self) -> Sequence[Trial]:
        """Outcomes of lessons that are no rows yet, under the numbers that they will have."""
        return self._lessons.outcomes(self._asked)

    def _hears_lessons(self) -> bool:
        """Tell the sampler of the lessons if it is time; False: someone says stop before."""
        beside, rows = self._beside, list[Trial]()
        if not beside.is_fork(self._asked):
            return True
        if not self._lessons.wait():
            return False
        if self._asked < beside.first:
            if not all(map(self._await, self._slots)):
                return False
            rows = self.finished()[: self._asked]
        if beside.tell(self._asked, rows):
            for _, slot in beside.left(self._asked):
                self._proposer.enqueue(slot.proposal.design)
        self._lessons.keep(self._asked)
        return True

    def settle(self) -> None:
        """Tell the sampler the oldest results that are there."""
        while self._slots and self._slots[0].trial is not None:
            self._fold(self._slots.popleft())

    def waiting(self) -> Iterator[tuple[Trial, int, int]]:
        """The oldest results that the sampler is not told yet, with what ``Hooks.keyed`` gets."""
        for slot in self._slots:
            if slot.trial is None:
                return
            yield slot.trial, slot.key, slot.genome_key

    def finished(self) -> list[Trial]:
        """All trials that have an outcome, in ask order, those not yet told included."""
        rows = [*self.trials, *(slot.trial for slot in self._slots if slot.trial is not None)]
        return [*rows, *self.lessons]

    def _may_open(self) -> bool:
        return self._budget.may_open(self._asked, len(self.trials))

    def _may_ask(self) -> bool:
        budget = self._budget
        if self._is_exhausted or self._asked >= budget.rows or self._hooks.stopping():
            return False
        if self._knows_all:
            return False
        return budget.until_s is None or time.monotonic() < budget.until_s

    @property
    def asked(self) -> int:
        """Number of proposals so far."""
        return self._asked

    @property
    def is_exhausted(self) -> bool:
        """True if the sampler has had nothing to propose, and all else is done."""
        return self._is_exhausted and not self._slots

    def expect(self, trials: Iterable[Trial]) -> None:
        """Outcomes of trials to come: where those designs are asked for, none is evaluated."""
        self._stored |= {trial.number: trial for trial in trials}

    def hear(self, trials: Sequence[Trial], known: Keys) -> None:
        """Learn from what others have found, whose designs are not proposed again.

        Args:
            trials: Feasible ones.
            known: (N, 2) of all designs of theirs, whatever became of them: as ``Hooks.keyed``.
        """
        keys, genomes = np.ascontiguousarray(known.T)
        self._elsewhere.put(keys, np.zeros(keys.size, np.int32))
        self._proposer.know(genomes[genomes > 0])
        self._screen.hear(trials)
        outcomes = [outcome_of(trial.evaluation) for trial in trials]
        self._proposer.hear([trial.design for trial in trials], outcomes)

    def is_elsewhere(self, design: Design) -> bool:
        """True if it is known that others have found *design*."""
        return self._elsewhere.get(self._key(design)) >= 0

    def take_up(self, trials: Sequence[Trial]) -> bool:
        """Go on with the end behind *trials*, of which all are told to everybody but the sampler.

        Returns:
            False if the sampler cannot do that.
        """
        told = [(trial.design, outcome_of(trial.evaluation)) for trial in trials]
        if self._proposer.recall([one for one, _ in told], [found for _, found in told]) is None:
            return False
        self._screen.recall(trials)
        for trial in trials:
            self._know(self._key(trial.design), trial.number)
            self.duplicates += trial.repeats is not None
            self.trials.append(trial)
        self._asked = self._ending.first = len(trials)
        self._is_resumed = False
        return True

    def _recall(self) -> None:
        """Go on behind the stored trials that follow each other, if the sampler can do that.

        Those of the last window are open: the next one is proposed after the first is told.
        What is told at once is told to each listener in one go: many rows come back fast.
        """
        if not self._is_resumed:
            return
        numbers = takewhile(self._stored.__contains__, range(self._budget.rows))
        rows: Sequence[Trial] = [self._stored[number] for number in numbers]
        rows = rows[: self._ending.first_of(rows)]  # what is open at the end is asked for again
        if not self._lessons.wait():
            return
        rows = self._beside.tell_again(rows, self._key)
        told = self._budget.told_before(len(rows))
        outcomes = [outcome_of(row.evaluation) for row in rows[:told]]
        designs = [row.design for row in rows]
        proposals = self._proposer.recall(designs, outcomes) if told else None
        if proposals is None:
            self._beside.begin = None
            return
        self._screen.recall(rows[:told])
        for row in rows[:told]:
            self._know(self._key(row.design), row.number)
            self.duplicates += row.repeats is not None
            self.trials.append(row)
            self._hooks.folded(row, self.duplicates)
        for row, proposal in zip(rows[told:], proposals, strict=True):
            slot = Slot(number=row.number, key=self._key(row.design), proposal=proposal, trial=row)
            self._know(slot.key, row.number)
            self.duplicates += row.repeats is not None
            self._slots.append(slot)
        self._asked = len(rows)
        for _, slot in self._beside.left(len(rows)) if self._beside.begin is not None else ():
            self._proposer.enqueue(slot.proposal.design)

    def _ask(self) -> bool:
        """One new row: a new design, or a repeat where these count or no new one is found.

        Returns:
            False if there is none, as yet or for good.
        """
        if not self._hears_lessons():
            return False
        proposal, must_wait = self._proposed()
        if must_wait:
            return False
        key = 0 if proposal is None else self._key(proposal.design)
        if proposal and not self._may_repeat(proposal.design) and not self._is_unknown(key):
            varied = self._proposer.vary(proposal, self._is_new)
            if varied is None and self._proposer.is_complete:
                self._proposer.withdraw(proposal)
                proposal = None
            proposal = varied or proposal
            key = 0 if proposal is None else self._key(proposal.design)
        if proposal is None:
            self._is_exhausted = True
            return False
        slot = Slot(number=self._asked, key=key, proposal=proposal)
        twin = self._by_key.get(key)
        if twin < 0:
            self._start(slot)
        else:
            self._repeat(slot, self._trial(twin))
        self._asked += 1
        return True

    def _proposed(self) -> tuple[Proposal[Any] | None, bool]:
        """The next proposal, and whether outcomes have to be awaited before there is one."""
        ending, opened = self._ending, len(self._slots)
        has_begun = ending.first is not None
        if not ending.begins(self.trials, self._asked):
            return self._proposer.ask(), False
        if not has_begun:
            self._hooks.ending(self._asked)
        trim = self._proposer.trim(self._is_new)
        if trim is not None:
            return trim, False
        if ending.only_trims:
            return self._last(opened)
        if not ending.may_open(self._asked, opened):
            return None, True
        return self._proposer.free_step(self._is_new) or self._proposer.ask(), False

    def _last(self, opened: int) -> tuple[Proposal[Any] | None, bool]:
        """Proposal after the trims of a search that ends by itself, and whether to wait for one."""
        step = self._proposer.free_step(self._is_new)
        if step is not None or opened:
            return step, step is None
        return (None if self._ending.is_over(self.trials) else self._proposer.ask()), False

    def _may_repeat(self, design: Design) -> bool:
        """True if the next row may be of a known *design*; a lesson that was found has its row."""
        return self._budget.repeats or self._beside.is_turn(self._asked, design)

    def _is_new(self, design: Design) -> bool:
        return self._is_unknown(self._key(design))

    def _is_unknown(self, key: Key) -> bool:
        return self._by_key.get(key) < 0 and self._elsewhere.get(key) < 0

    def _key(self, design: Design) -> Key:
        """Number above 0 shared by equal designs, in whatever process."""
        return key_of(self._screen.canonical(design))

    def _know(self, key: Key, number: int) -> None:
        self._designs += self._by_key.note(key, number)

    def _start(self, slot: Slot) -> None:
        self._slots.append(slot)
        self._know(slot.key, slot.number)
        self._by_number[slot.number] = slot
        stored = self._stored.get(slot.number)
        if stored is not None and self._key(stored.design) == slot.key:
            slot.trial = stored
            return
        verdict = self._screen.verdict(slot.proposal.design, slot.proposal.genome)
        lesson = self._beside.outcome(slot.proposal.design)
        if verdict is None and lesson is not None:
            slot.trial = replace(lesson, number=self._by_number.pop(slot.number).number)
            self._hooks.finished(slot.trial)
        elif verdict is None:
            self._dispatcher.submit([Task(number=slot.number, design=slot.proposal.design)])
        else:
            self._file(Answer(number=slot.number, evaluation=verdict, worker=""))

    def _repeat(self, slot: Slot, twin: Trial | None) -> None:
        """A row that only refers to an earlier one, whose outcome is *twin* if it is there."""
        self.duplicates += 1
        self._slots.append(slot)
        if twin is not None:
            slot.trial = twin.repeated_as(slot.number)

    def _trial(self, number: int) -> Trial | None:
        """The outcome of a row, if it is there."""
        told = len(self.trials)
        return self.trials[number] if number < told else self._slots[number - told].trial

    def _await(self, slot: Slot) -> bool:
        """Wait for the outcome of *slot*, the first that has none; False: not any longer."""
        while slot.trial is None:
            if self._hooks.pausing():
                return False
            self._collect(slot)
        return True

    def _collect(self, head: Slot) -> None:
        twin = self._trial(self._by_key.get(head.key))
        if twin is not None:
            head.trial = twin.repeated_as(head.number)
            return
        for answer in self._dispatcher.finished(WAIT_S):
            self._file(answer)

    def _file(self, answer: Answer) -> None:
        slot = self._by_number.pop(answer.number)
        slot.trial = Trial(
            number=slot.number,
            design=slot.proposal.design,
            evaluation=answer.evaluation,
            worker=answer.worker,
            provenance=self._hooks.provenance,
        )
        if not self._beside.holds(slot):
            self._hooks.finished(slot.trial)

    def _fold(self, slot: Slot) -> None:
        """Tell the sampler the oldest result."""
        trial = slot.trial
        assert trial is not None
        if trial.state == "failed":
            self._proposer.tell_nothing(slot.proposal)
        else:
            outcome = outcome_of(trial.evaluation)
            self._proposer.tell(slot.proposal, outcome.objectives, outcome.violation)
        self._hooks.keyed(slot.key, slot.genome_key)
        self._conclude(trial)

    def _conclude(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._screen.learn(trial)
        self._hooks.folded(trial, self.duplicates)
