"""Groups of designs that cannot be told apart, and how optimistic the best prediction is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, hypot, log

from dse.evaluate import Evaluator, build_evaluator
from dse.evaluate.siblings import Siblings
from dse.fidelity.compare import front_fidelity
from dse.objectives import OBJECTIVES, SIMULATED, Objective
from dse.rank.alike import are_alike, groups_of_equals, optimism
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import plain_sum

SHARE = 0.8
"""Share of measured pairs, and of measured times, that errors and bands are told for."""

_BANDED = ("iteration_time", "time_per_output_token")
"""Metrics that have a band, without their unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Equals:
    """Designs whose simulated values cannot be told apart from the best of them.

    Attributes:
        trials: Their numbers, the best first.
        spread: Part by which the worst of them is predicted to be worse.
    """

    trials: tuple[int, ...]
    spread: float


class Discernment:
    """Knows what can be told apart among some designs of a study.

    Attributes:
        study: Gives the objectives.
        rows: Feasible designs of one level.
        simulated: Name of the objective that is compared; None: none of them is simulated.
    """

    def __init__(self, study: Study, rows: Sequence[Trial], evaluator: Evaluator | None = None):
        """*evaluator*: of the level that *rows* were judged at; made if left out."""
        self.study, self.rows = study, list(rows)
        level = front_fidelity(study, rows)
        self._evaluator = evaluator or build_evaluator(study.judged_at(level).evaluator_input)
        self.simulated = next(filter(_is_simulated, study.goals.objectives), None)
        self._siblings: dict[int, Siblings] = {}

    @cached_property
    def values(self) -> list[float]:
        """The simulated objective of each row, to be made small."""
        if self.simulated is None:
            return [1.0] * len(self.rows)
        sign = self.study.goals.signs_by_name[self.simulated]
        return [row.evaluation.objectives[self.simulated] ** sign for row in self.rows]

    @cached_property
    def groups(self) -> list[Equals]:
        """Groups of rows that cannot be told apart; none where nothing is simulated."""
        if self.simulated is None or min(self.values, default=0.0) <= 0:
            return []
        return [
            Equals(
                trials=tuple(self.rows[at].number for at in group),
                spread=max(self.values[at] for at in group) / self.values[group[0]] - 1,
            )
            for group in groups_of_equals(self.values, self.tolerance)
        ]

    def alike(self, one: int, two: int) -> bool:
        """True if the simulated values of two rows, by their positions, cannot be told apart."""
        return are_alike(self.values, one, two, self.tolerance)

    def tolerance(self, one: int, two: int) -> float:
        """Size of ln(value / value) up to which two rows are not told apart.

        Designs of one model on one accelerator share most of what makes predictions wrong; others
        share nothing that is known, and their bands count in full.
        """
        first, second = self._of(one), self._of(two)
        if first.family == second.family:
            return max(first.log_ratio, second.log_ratio)
        return hypot(self._half_band(one), self._half_band(two))

    @property
    def reason(self) -> str:
        """Evidence for how well siblings compare, in words; empty: values are exact."""
        return self._of(0).reason if self.rows and self.simulated is not None else ""

    def optimism(self) -> float:
        """Part by which the best simulated value is likely to be too good."""
        if not self.groups or not self._of(0).log_ratio:
            return 0.0
        return optimism(len(self.groups[0].trials), self._of(0).log_ratio, SHARE)

    def _of(self, at: int) -> Siblings:
        if at not in self._siblings:
            self._siblings[at] = self._evaluator.siblings(self.rows[at].design)
        return self._siblings[at]

    def _half_band(self, at: int) -> float:
        metrics = self.rows[at].evaluation.metrics
        for name in _BANDED:
            low, high = (metrics.get(f"{name}_{end}_s", 0.0) for end in ("low", "high"))
            if low and high:
                return log(high / low) / 2
        return self._of(at).log_ratio


def _is_simulated(name: str) -> bool:
    """True if an objective is a simulated figure, or has one as a factor."""
    return bool(SIMULATED & set(OBJECTIVES[name].metrics))


def costs_alike(objective: Objective, one: Mapping[str, float], two: Mapping[str, float]) -> bool:
    """True if the prices' band leaves open which of two machines costs more.

    The price of a part that both have moves both costs; in doubt is what they do not share. So the
    band counts for the sum of the differences, part by part.

    Args:
        objective: A cost of a machine.
        one: Metrics of a design.
        two: Those of another one.
    """
    here, there = objective.value(one), objective.value(two)
    metric = objective.metrics[-1].removesuffix("_usd")
    prefix = metric.removesuffix("_cost")
    parts = {name for name in one if name.startswith(f"{prefix}_") and name.endswith("_usd")}
    parts -= {f"{metric}_usd", f"{metric}_low_usd", f"{metric}_high_usd"}
    apart = plain_sum(abs(one[name] - two.get(name, 0.0)) for name in sorted(parts))
    differing = apart or abs(here - there)
    return abs(here - there) < max(_part(metric, one), _part(metric, two)) * differing


def _part(metric: str, metrics: Mapping[str, float]) -> float:
    """Half of the band of a cost, as a part of it; 0 where it has none."""
    low, high = metrics.get(f"{metric}_low_usd", 0.0), metrics.get(f"{metric}_high_usd", 0.0)
    return exp(log(high / low) / 2) - 1 if 0 < low < high else 0.0
