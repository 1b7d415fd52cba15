"""Asks an Optuna study for designs and tells it what became of them."""

import logging
from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.trial import TrialState

from dse.samplers.base import Look, Outcome, Proposal, Proposer, ProposerInput
from dse.samplers.design.columns.genomes import Keys
from dse.samplers.look import GeneView, KnobView, View, suggested
from dse.samplers.proposed import ProposedSampler
from dse.samplers.storage import STUDY_ID, Belief, TrialStorage
from dse.space import Design
from simcore import ConfigError

FEASIBILITY = "constraints:violation"
"""The one constraint that samplers see, as trials hold it: the sum of what exceeds."""


METRIC_NAMES = "study:metric_names"
"""Key under which Optuna keeps the names of objectives."""


_BEYOND = 1e30
"""Value, to be minimised, of designs without values until others have some."""


_PROPOSE = (
    "cannot propose a design of this space; choose another encoding (index, weights, steps) or "
    "another sampler"
)
_LEARN = "cannot be told of a trial; give it other arguments, or choose another sampler"


class StudyProposer(Proposer[int]):
    """A real ``optuna.Study``; a handle is the number of a trial, which is that of the row.

    Attributes:
        study: The study, over ``ProposerInput.storage``.
    """

    asks_study = True

    def __init__(self, what: ProposerInput, view: View, sampler: BaseSampler) -> None:
        # samplers warn of each parameter of each trial that they draw by itself at the start
        logging.getLogger("optuna").setLevel(logging.ERROR)
        self._names, self._signs = list(what.goals.objectives), what.goals.signs
        self._view, self._storage = view, what.storage or TrialStorage()
        self.study: optuna.Study = optuna.create_study(
            directions=["minimize" if sign > 0 else "maximize" for sign in self._signs],
            sampler=sampler,
            storage=self._storage,
        )
        self._storage.set_study_system_attr(STUDY_ID, METRIC_NAMES, self._names)

    def _asked(self) -> Proposal[int] | None:
        """The next trial of the study, with all its parameters; None if the sampler has none."""
        trial = self.study.ask()
        number, distributions = trial.number, self._view.distributions
        params = self._storage.get_trial(trial._trial_id).system_attrs.get("fixed_params")
        if params is None and not (params := trial.relative_params):
            if isinstance(self.study.sampler, ProposedSampler):
                self._storage.forget(number)
                return None
        elif params.keys() <= distributions.keys() and len(params) >= self._needed(params):
            self._storage.set_trial_params(trial._trial_id, params, distributions)
            return Proposal(design=self._view.design(params), handle=number)
        drawn = {name: suggested(trial, name, one) for name, one in distributions.items()}
        return Proposal(design=self._view.design(drawn), handle=number)

    @abstractmethod
    def _needed(self, params: Mapping[str, Any]) -> int:
        """Number of parameters that a trial must have."""

    def propose(self, design: Design, instead: Proposal[int] | None = None) -> Proposal[int]:
        params = self._view.params(design)
        assert params is not None, "what is proposed is a design of the space"
        if instead is None:
            self.study.enqueue_trial(dict(params))
            found = self._asked()
            assert found is not None
            return found
        return self._overwritten(instead, params, design)

    def _overwritten(
        self, proposal: Proposal[int], params: Mapping[str, Any], design: Design
    ) -> Proposal[int]:
        """An open trial that stands for another design from now on."""
        trial_id = self._id(proposal.handle)
        self._storage.set_trial_params(trial_id, params, self._view.distributions)
        return Proposal(design=design, handle=proposal.handle)

    def _id(self, number: int) -> int:
        return self._storage.get_trial_id_from_study_id_trial_number(STUDY_ID, number)

    def tell(
        self, proposal: Proposal[int], objectives: Mapping[str, float], violation: float
    ) -> None:
        self._storage.set_trial_system_attr(self._id(proposal.handle), FEASIBILITY, violation)
        self._finish(proposal.handle, [objectives[name] for name in self._names if objectives])

    def _finish(self, number: int, values: Sequence[float]) -> None:
        if values:
            self.study.tell(number, values)
        else:
            self.study.tell(number, state=TrialState.PRUNED)

    def tell_nothing(self, proposal: Proposal[int]) -> None:
        self.study.tell(proposal.handle, state=TrialState.FAIL)


class OwnProposer(StudyProposer):
    """A study whose sampler hands on what one of our own searches proposes."""

    def __init__(self, what: ProposerInput, own: Proposer[Any]) -> None:
        view = KnobView(what.space)
        self._own = own
        self._sampler = ProposedSampler(view, own, list(what.goals.objectives), what.seed)
        super().__init__(what, view, self._sampler)
        self.is_complete, self.trims = own.is_complete, own.trims
        self.in_lessons = own.in_lessons

    def _needed(self, params: Mapping[str, Any]) -> int:
        return 1  # a design has the knobs that have a meaning in it

    def ask(self) -> Proposal[int] | None:
        return self._found(self._own.ask)

    def trim(self, is_new: Callable[[Design], bool]) -> Proposal[int] | None:
        return self._if_any(self._own.trim(is_new))

    def free_step(self, is_new: Callable[[Design], bool]) -> Proposal[int] | None:
        return self._if_any(self._own.free_step(is_new))

    def _if_any(self, own: Proposal[Any] | None) -> Proposal[int] | None:
        """A trial for what was found; where nothing is left, as happens often, none is begun."""
        return None if own is None else self._found(lambda: own)

    def _found(self, find: Callable[[], Proposal[Any] | None]) -> Proposal[int] | None:
        self._sampler.find = find
        found = self._asked()
        own = None if found is None else self._sampler.given(found.handle)
        if found is None or own is None:
            return found
        return Proposal(design=found.design, handle=found.handle, genome=own.genome)

    def enqueue(self, design: Design) -> None:
        self._own.enqueue(design)

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        self._own.hear(designs, outcomes)

    def know(self, keys: Keys) -> None:
        self._own.know(keys)

    def recall(
        self, designs: Sequence[Design], outcomes: Sequence[Outcome]
    ) -> list[Proposal[int]] | None:
        proposals = self._own.recall(designs, outcomes)
        if proposals is None:
            return None
        self._storage.recall(len(outcomes))
        result = []
        for proposal in proposals:
            trial_id = self._storage.create_new_trial(STUDY_ID)
            number = self._storage.get_trial_number_from_id(trial_id)
            params = self._sampler.take(number, proposal)
            self._storage.set_trial_params(trial_id, params, self._view.distributions)
            result.append(Proposal(design=proposal.design, handle=number))
        return result

    def vary(
        self, proposal: Proposal[int], is_new: Callable[[Design], bool]
    ) -> Proposal[int] | None:
        own = self._sampler.given(proposal.handle)
        varied = None if own is None else self._own.vary(own, is_new)
        if varied is None:
            return None
        params = self._sampler.take(proposal.handle, varied)
        found = self._overwritten(proposal, params, varied.design)
        return Proposal(design=found.design, handle=found.handle, genome=varied.genome)

    def withdraw(self, proposal: Proposal[int]) -> None:
        self._storage.forget(proposal.handle)

    def propose(self, design: Design, instead: Proposal[int] | None = None) -> Proposal[int]:
        if instead is not None:
            self._sampler.drop(instead.handle)
        return super().propose(design, instead)


class OptunaProposer(StudyProposer):
    """A study with a sampler of Optuna's, which sees genes: always valid, not always new."""

    def __init__(
        self, what: ProposerInput, look: Look, sampler: BaseSampler, *, believes: bool = False
    ) -> None:
        """A study that a sampler proposes in.

        Args:
            what: As of any proposer.
            look: How the sampler sees the space.
            sampler: What proposes.
            believes: Whether open trials are shown to it as finished with middling values: for a
                sampler that would otherwise think through what each of them may come to.
        """
        genes = GeneView(what.space, look.style, keeps_words=look.keeps_words)
        super().__init__(what, genes, sampler)
        self._storage.keeps_finished = True
        self._look, self._believes = look, believes
        self._told: list[tuple[float, ...]] = []  # values and violations
        self._worst: list[float] | None = None
        self._told_blindly: list[int] = []  # ids of trials told before any design had values
        self._first: deque[Design] = deque()

    def _needed(self, params: Mapping[str, Any]) -> int:
        return len(self._view.distributions)

    def ask(self) -> Proposal[int]:
        if self._first:
            return self.propose(self._first.popleft())
        self._storage.belief = self._belief()
        try:
            with self._blamed(_PROPOSE):
                found = self._asked()
        finally:
            self._storage.belief = None
        assert found is not None
        return found

    def _belief(self) -> Belief | None:
        """Outcome to show open trials with: the median of all that are told, for no more trials."""
        if not self._believes or not self._told:
            return None
        *values, violation = np.median(np.array(self._told), axis=0).tolist()
        limits = {FEASIBILITY: violation} if self._look.knows_limits else {}
        return Belief(values=values, attrs=limits, most=len(self._told))

    @contextmanager
    def _blamed(self, rule: str) -> Iterator[None]:
        """Errors are those of the sampler, which is code from elsewhere.

        Raises:
            ConfigError: It raises anything, or would end the process.
        """
        try:
            yield
        except (Exception, SystemExit) as error:
            name = type(self.study.sampler).__name__
            got = f"{name}, which raised {type(error).__name__}: {error}"
            raise ConfigError("search.sampler", rule, got=got) from error

    def _finish(self, number: int, values: Sequence[float]) -> None:
        with self._blamed(_LEARN):
            super()._finish(number, values)

    def tell_nothing(self, proposal: Proposal[int]) -> None:
        with self._blamed(_LEARN):
            super().tell_nothing(proposal)

    def can_say(self, design: Design) -> bool:
        """True if the sampler's parameters can mean *design*."""
        return self._view.params(design) is not None

    def enqueue(self, design: Design) -> None:
        if self.can_say(design):
            self._first.append(design)

    def hear(self, designs: Sequence[Design], outcomes: Sequence[Outcome]) -> None:
        for design, outcome in zip(designs, outcomes, strict=True):
            if self.can_say(design):
                proposal = self.propose(design)
                self.tell(proposal, outcome.objectives, outcome.violation)
                self._storage.put_aside(proposal.handle)

    def turn_down(self, proposal: Proposal[int], violation: float) -> None:
        """Tell the sampler of a design that costs no trial: its number is free again."""
        if violation > 0:
            self.tell(proposal, {}, violation)
        else:
            self.tell_nothing(proposal)
        self._storage.put_aside(proposal.handle)

    def vary(
        self, proposal: Proposal[int], is_new: Callable[[Design], bool]
    ) -> Proposal[int] | None:
        """None: what is in the way is mended by whoever knows more (``ScreenedProposer``)."""
        return None

    def tell(
        self, proposal: Proposal[int], objectives: Mapping[str, float], violation: float
    ) -> None:
        """The outcome; a design that was not evaluated takes the worst values seen so far."""
        if self._look.knows_limits:
            self._storage.set_trial_system_attr(self._id(proposal.handle), FEASIBILITY, violation)
        elif violation > 0:
            objectives = {}
        if not objectives and self._worst is None:
            self._told_blindly.append(self._id(proposal.handle))
        values = self._told_values(objectives)
        if objectives:
            self._told.append((*values, violation))
        self._finish(proposal.handle, values)

    def _told_values(self, objectives: Mapping[str, float]) -> Sequence[float]:
        if not objectives:
            return self._worst or [sign * _BEYOND for sign in self._signs]
        values = [objectives[name] for name in self._names]
        for trial_id in self._told_blindly:
            # samplers that scale values would take all those to come for the same one
            self._storage.correct_values(trial_id, values)
        self._told_blindly.clear()
        worst = self._worst or values
        pairs = zip(self._signs, worst, values, strict=True)
        self._worst = [max(a, b) if sign > 0 else min(a, b) for sign, a, b in pairs]
        return values
