"""The `design` search as a sampler for anyone's own Optuna study."""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from threading import RLock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from dse.objectives import Goals, Sense
from dse.samplers.base import Outcome, Proposal, ProposerInput
from dse.samplers.design import Settings
from dse.samplers.design_proposer import DesignProposer
from dse.samplers.look import GeneView, suggested
from dse.samplers.proposed import ProposedSampler
from dse.samplers.storage import TrialStorage
from dse.space import Check, Design, Space
from dse.space.encoding import Style

if TYPE_CHECKING:
    from optuna.storages import BaseStorage
    from optuna.study import Study
    from optuna.trial import Trial

FEW, PART = 32, 4
"""Trials of others that are told one by one, or this part of those that are known, if that is more:
where there are more, to begin anew with all of them takes less time than the lessons between."""


class DesignSampler(BaseSampler):
    """Samples the designs of one space, in a study that asks for ``sampler.design(trial)``.

    Objectives of either direction; constraints as Optuna knows them. It learns from all finished
    trials of a study: those that other samplers or processes have proposed, those that were added,
    and those of a study that was loaded. Any number of trials may be open at once, and several
    studies may use one sampler, since of each study it knows that one's trials alone.
    """

    def __init__(
        self,
        space: Space,
        *,
        seed: int = 0,
        style: Style = "index",
        settings: Settings | None = None,
        admits: Callable[[Design], bool] | None = None,
    ) -> None:
        """A sampler that has seen nothing yet.

        Args:
            space: What to search: ``dse.check_study(FILE).space``.
            seed: The same one gives the same study on one worker. Processes that share a study
                need one each.
            style: How the parameters of the study say what a design is.
            settings: Of the search; ``LOCAL`` for a descent from the best known designs.
            admits: Whether a design may be feasible, as far as can be told at once.
        """
        self._space, self._seed, self._settings = space, seed, settings
        self._view = GeneView(space, style)
        names = frozenset(space.parameters)
        self._checks = [] if admits is None else [Check(holds=admits, deciding=names)]
        self._begin()

    def _begin(self) -> None:
        self._lock = RLock()  # ``study.optimize(n_jobs=...)`` asks from several threads
        self._searches: WeakKeyDictionary[BaseStorage, dict[int, _StudySearch]]
        self._searches = WeakKeyDictionary()

    def __getstate__(self) -> dict[str, Any]:
        """All but what is known of studies, which is learned anew from their trials."""
        return {k: v for k, v in self.__dict__.items() if k not in ("_lock", "_searches")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._begin()

    def design(self, trial: "Trial") -> Design:
        """The design that a trial of the study stands for; asks for all its parameters."""
        for name, drawn_from in self._view.distributions.items():
            suggested(trial, name, drawn_from)
        return self._view.design(trial.params)

    def infer_relative_search_space(
        self, study: "Study", trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._view.distributions

    def before_trial(self, study: "Study", trial: FrozenTrial) -> None:
        """Learn from what has finished since the last trial."""
        with self._lock:
            self._search(study).catch_up(study, trial.number)

    def sample_relative(
        self, study: "Study", trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Parameters of a design; none if they are given, or if there is none left to propose."""
        if self._view.distributions.keys() <= trial.system_attrs.get("fixed_params", {}).keys():
            return {}
        with self._lock:
            return self._search(study).sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: "Study",
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        with self._lock:
            own = self._search(study)
            return own.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        with self._lock:
            self._search(study).after_trial(study, trial, state, values)

    def _search(self, study: "Study") -> "_StudySearch":
        """The search of one study, whose directions decide what is better."""
        searches = self._searches.setdefault(study._storage, {})
        if study._study_id not in searches:
            senses: dict[str, Sense] = {"MINIMIZE": "minimise", "MAXIMIZE": "maximise"}
            wanted = [senses[direction.name] for direction in study.directions]
            what = ProposerInput(
                space=self._space,
                goals=_Directions(
                    objectives={f"value {place}": sense for place, sense in enumerate(wanted)}
                ),
                seed=self._seed,
                checks=self._checks,
            )
            searches[study._study_id] = _StudySearch(self._view, what, self._settings)
        return searches[study._study_id]


class _StudySearch(ProposedSampler):
    """The search of one study, which has learned of each of its trials once."""

    proposer: DesignProposer

    def __init__(self, view: GeneView, what: ProposerInput, settings: Settings | None) -> None:
        super().__init__(view, None, tuple(what.goals.objectives), what.seed)
        self._what, self._settings = what, settings
        self.proposer = DesignProposer(what, settings)
        self._met = 0  # trials from this number on are new
        self._unseen: set[int] = set()  # numbers below it of trials that are not learned yet

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        self._meet(trial.number + 1)
        self._unseen.discard(trial.number)
        proposal, other = self.given(trial.number), self.of_others(trial)
        if proposal is not None and other is not None and proposal.genome != other.genome:
            self.drop(trial.number)  # whoever asked has made another design of it
        super().after_trial(study, trial, state, values)

    def of_others(self, trial: FrozenTrial) -> Proposal[Any] | None:
        design = self.meant(trial)
        return None if design is None else self.proposer.known(design)

    def meant(self, trial: FrozenTrial) -> Design | None:
        """The design of *trial*; None where its parameters have other ranges: of another space."""
        own, its = self._view.distributions, trial.distributions
        is_alike = all(its.get(name) == drawn_from for name, drawn_from in own.items())
        return self._view.design(trial.params) if is_alike else None

    def catch_up(self, study: "Study", number: int) -> None:
        """Learn from the trials before *number* that have finished unseen.

        Designs of those that are still open elsewhere are not proposed again.
        """
        is_new = not self._met
        self._meet(number)
        if not self._unseen or isinstance(study._storage, TrialStorage):
            return  # searches of our own tell of all trials
        trials = study.get_trials(deepcopy=False)
        latest = takewhile(lambda one: one.number >= min(self._unseen), reversed(trials))
        found = [one for one in reversed(list(latest)) if one.number in self._unseen]
        finished = [one for one in found if one.state.is_finished()]
        if finished and (is_new or len(finished) > max(FEW, self._met // PART)):
            self._begin_anew(trials)
        else:
            for trial in finished:
                self.after_trial(study, trial, trial.state, trial.values)
        others = (one for one in found if not one.state.is_finished())
        self._know(one for one in others if self.given(one.number) is None)

    def _meet(self, end: int) -> None:
        """Wait for the outcomes of all trials before number *end*."""
        if self._met < end:
            self._unseen.update(range(self._met, end))
            self._met = end

    def _begin_anew(self, trials: Sequence[FrozenTrial]) -> None:
        """Be as if all finished ones of *trials* had been proposed here."""
        done = [one for one in trials if one.state.is_finished()]
        self._meet(max(one.number for one in done) + 1)
        self._unseen.difference_update(one.number for one in done)
        for one in done:
            self._asked.pop(one.number, None)
        told = [(design, one) for one in done if (design := self.meant(one)) is not None]
        asked = dict(self._asked)
        designs = [*(design for design, _ in told), *(one.design for one in asked.values())]
        self.proposer = DesignProposer(self._what, self._settings)
        opened = self.proposer.recall(designs, [self._told(one) for _, one in told])
        assert opened is not None, "parameters mean designs of the space"
        self._asked = dict(zip(asked, opened, strict=True))

    def _told(self, trial: FrozenTrial) -> Outcome:
        if trial.state == TrialState.FAIL:
            return Outcome(objectives={}, violation=0.0)
        return self.outcome(trial, trial.values)

    def _know(self, trials: Iterator[FrozenTrial]) -> None:
        found = (self.of_others(trial) for trial in trials)
        keys = [one.genome.key for one in found if one is not None and one.genome is not None]
        self.proposer.know(np.array(keys, np.int64))


class _Directions(Goals):
    """Goals of somebody's own study, whose objectives have no names of ours."""

    def __post_init__(self) -> None:
        """Take any names."""
