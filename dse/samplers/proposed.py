"""Whatever proposes designs, as a sampler of Optuna."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import FrozenTrial, TrialState

from dse.samplers.base import Outcome, Proposal, Proposer
from dse.samplers.look import View
from dse.space import Design
from simcore import plain_sum

if TYPE_CHECKING:
    from optuna.study import Study


class ProposedSampler(BaseSampler):
    """Samples all parameters of a trial at once: those of the design that is proposed for it.

    Parameters that an objective asks for beside these are drawn uniformly.

    Attributes:
        proposer: What proposes; it is told of the trials that it proposed.
        find: How the next proposal is found; ``proposer.ask`` by default.
    """

    def __init__(
        self, view: View, proposer: Proposer[Any] | None, names: Sequence[str], seed: int = 0
    ) -> None:
        """*names*: of the objectives, in the order of the values of a trial."""
        self._view, self._names = view, tuple(names)
        self.proposer = proposer
        self.find: Callable[[], Proposal[Any] | None] | None = None
        self._others = RandomSampler(seed=seed)
        self._asked: dict[int, Proposal[Any]] = {}

    def infer_relative_search_space(
        self, study: "Study", trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._view.distributions

    def sample_relative(
        self, study: "Study", trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Parameters of a design; none if there is none left to propose."""
        assert self.proposer is not None
        proposal = (self.find or self.proposer.ask)()
        return {} if proposal is None else dict(self.take(trial.number, proposal))

    def take(self, number: int, proposal: Proposal[Any]) -> Mapping[str, Any]:
        """Parameters of trial *number*, for which *proposal* was made."""
        self._asked[number] = proposal
        params = self._view.params(proposal.design)
        assert params is not None, "proposals are designs of the space"
        return params

    def given(self, number: int) -> Proposal[Any] | None:
        """The proposal for trial *number*, if it was made here."""
        return self._asked.get(number)

    def drop(self, number: int) -> None:
        """Have nothing to do any more with trial *number*, which becomes another design."""
        proposal = self._asked.pop(number, None)
        if proposal is not None and self.proposer is not None:
            self.proposer.tell_nothing(proposal)

    def sample_independent(
        self,
        study: "Study",
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        return self._others.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        proposal = self._asked.pop(trial.number, None)
        if proposal is None:
            proposal = self.of_others(trial)
        if proposal is None or self.proposer is None:
            return
        if state == TrialState.FAIL:
            self.proposer.tell_nothing(proposal)
            return
        outcome = self.outcome(trial, values)
        self.proposer.tell(proposal, outcome.objectives, outcome.violation)

    def outcome(self, trial: FrozenTrial, values: Sequence[float] | None) -> Outcome:
        """Outcome of a trial that did not fail, as proposers are told it."""
        excess = plain_sum(max(0.0, value) for value in trial.constraints.values())
        objectives = dict(zip(self._names, values, strict=True)) if values is not None else {}
        return Outcome(objectives=objectives, violation=excess)

    def of_others(self, trial: FrozenTrial) -> Proposal[Any] | None:
        """Proposal for a trial that was not proposed here; None: nothing is learned of it."""
        return None

    def meant(self, trial: FrozenTrial) -> Design | None:
        """The design that *trial* stands for, if it has all parameters."""
        if not self._view.distributions.keys() <= trial.params.keys():
            return None
        return self._view.design(trial.params)
