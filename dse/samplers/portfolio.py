"""Several samplers of one Optuna study, each asked the oftener the better its designs have been."""

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.trial import FrozenTrial, TrialState

from dse.rank.pareto import Front
from simcore import plain_sum

if TYPE_CHECKING:
    from optuna.study import Study

_KEPT = 0.97
"""Weight of what is known about a sampler when more becomes known."""

_LEAST = 0.1
"""Share of the trials that is dealt evenly, so that nobody is given up for good."""


class PortfolioSampler(BaseSampler):
    """Deals trials to samplers by the share of their trials that made progress lately.

    Progress is a feasible design that no design before was at least as good as in everything. All
    samplers see all trials of the study, so that they learn from each other.
    """

    def __init__(self, members: Sequence[BaseSampler], *, seed: int = 0) -> None:
        """*members*: two or more; *seed*: the same one gives the same study on one worker."""
        self._members, self._seed = list(members), seed
        self._gain, self._used = [1.0] * len(self._members), [1.0] * len(self._members)
        self._dealt: dict[int, int] = {}
        self._front: Front[int] = Front()

    def infer_relative_search_space(
        self, study: "Study", trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._of(trial).infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: "Study", trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._of(trial).sample_relative(study, trial, search_space)

    def sample_independent(
        self,
        study: "Study",
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        member = self._of(trial)
        return member.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: "Study", trial: FrozenTrial) -> None:
        self._of(trial).before_trial(study, trial)

    def after_trial(
        self,
        study: "Study",
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        for member in self._members:
            member.after_trial(study, trial, state, values)
        at = self._dealt.pop(trial.number, None)
        is_progress = state == TrialState.COMPLETE and self._is_progress(study, trial, values or ())
        if at is not None:
            self._used[at] = _KEPT * self._used[at] + 1.0
            self._gain[at] = _KEPT * self._gain[at] + is_progress

    def _of(self, trial: FrozenTrial) -> BaseSampler:
        """The sampler that *trial* is dealt to."""
        if trial.number not in self._dealt:
            random = Random(self._seed << 40 | trial.number)
            rates = [gain / used for gain, used in zip(self._gain, self._used, strict=True)]
            evenly = _LEAST * plain_sum(rates) / len(rates)
            shares = [(1.0 - _LEAST) * rate + evenly for rate in rates]
            self._dealt[trial.number] = random.choices(range(len(shares)), shares)[0]
        return self._members[self._dealt[trial.number]]

    def _is_progress(self, study: "Study", trial: FrozenTrial, values: Sequence[float]) -> bool:
        signs = [1 if direction.name == "MINIMIZE" else -1 for direction in study.directions]
        point = tuple(sign * value for sign, value in zip(signs, values, strict=True))
        if any(value > 0 for value in trial.constraints.values()):
            return False
        return self._front.add(trial.number, point)
