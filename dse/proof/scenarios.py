"""Certain facts about designs that are judged in several scenarios, as if they were of one.

Branch and bound knows a design by one time, and a machine by what its objectives come to at that
time. With scenarios s, weights w, amounts a of a machine and bounds b of times, the value of an
objective of power p is the aggregate of ``a_s t_s^p``, which does not fall where a time rises. Its
bound is ``a T^p``, with T and a as follows.

* p = 0: a is the aggregate of all ``a_s``, exactly.
* All scenarios mean the same run, but for its prices and the share of its links that can be used:
  T = b of this run, a likewise.
* Else T is the aggregate of all b by n, and a is n times the least ``a_s``. Of sums and means n is
  the aggregate of ones: ``sum w b^p >= n (sum w b / n)^p`` (Jensen). Of the worst and of quantiles
  n is the largest weight: ``w b^p >= n (w b / n)^p`` where n is at least w.

A design that breaks a rule or lacks memory in one scenario is infeasible: its T is infinite.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from dse.proof.designs import KnownDesigns, Rows, Ways
from dse.proof.one_scenario import in_scenario
from dse.study.compile import Study

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Price = tuple[tuple[float, int], ...]


class ScenarioDesigns:
    """Bounds, memory and prices of the designs with one number of dimensions, in all scenarios."""

    def __init__(self, study: Study, dimensions: int) -> None:
        """Prepare the tables.

        The study must be one that ``check_provable`` passes, with scenarios.
        """
        inputs = study.evaluator_input.scenarios
        self._is_one_run = all(one.run == inputs[0].run for one in inputs)
        each = [KnownDesigns(in_scenario(study, one), dimensions) for one in inputs]
        self._priced, self._timed = each, each[:1] if self._is_one_run else each
        self._aggregate = study.goals.aggregate
        self._weights = [one.weight for one in study.goals.scenarios]
        adds_up = self._aggregate.kind in ("sum", "mean")
        self._norm = self._of([1.0] * len(each)) if adds_up else max(self._weights)

    @property
    def bounded_blocks(self) -> frozenset[int]:
        """Numbers of the blocks that the bounds depend on."""
        return frozenset().union(*(one.bounded_blocks for one in self._timed))

    @property
    def algorithms(self) -> tuple[tuple[int, int], ...]:
        """Block and column of each knob that chooses algorithms of collectives and no more."""
        return self._timed[0].algorithms

    def times_s(self, rows: Rows, ways: Ways | None = None) -> Floats:
        """Lower bounds of the times T; infinite where a design cannot be built or used.

        Args:
            rows: (N, blocks) row of each block.
            ways: By block, rows of it: bound those designs that take the *algorithms* of any.
        """
        return self._joined(rows, lambda one, own: one.times_s(own, ways))

    def plan_times_s(self, rows: Rows) -> Floats:
        """Bounds on computing alone, whether or not the memory has room."""
        return self._joined(rows, KnownDesigns.plan_times_s)

    def compute_times_s(self, rows: Rows) -> Floats:
        """``times_s`` with a network that takes no time, whatever the machine's knobs."""
        return self._joined(rows, KnownDesigns.compute_times_s)

    def fit(self, rows: Rows) -> Flags:
        """(N,) whether each design fits into the memory in all scenarios, where that is asked."""
        fitting: Flags = np.logical_and.reduce([one.fit(rows) for one in self._timed])
        return fitting

    def prices(self, row: Sequence[int]) -> Price | None:
        """Per objective its amount and power, see above; None where a scenario knows no price."""
        each = [one.prices(row) for one in self._priced]
        known = [prices for prices in each if prices is not None]
        if len(known) < len(each):
            return None
        return tuple(self.price(own) for own in zip(*known, strict=True))

    def price(self, each: Sequence[tuple[float, int]]) -> tuple[float, int]:
        """Price of one objective: amount and power, of those in each scenario."""
        amounts, power = [amount for amount, _ in each], each[0][1]
        if power == 0 or self._is_one_run:
            return self._of(amounts), power
        return self._norm * min(amounts), power

    def _joined(self, rows: Rows, times_s: Callable[[KnownDesigns, Rows], Floats]) -> Floats:
        """(N,) T of designs, of the times in each scenario."""
        each: Floats = np.stack([times_s(one, rows) for one in self._timed])
        if self._is_one_run:
            each = each[0]
            return each
        joined = np.full(each.shape[1], np.inf)
        able = np.isfinite(each).all(axis=0)
        joined[able] = [self._of(own) / self._norm for own in each[:, able].T.tolist()]
        return joined

    def _of(self, values: Sequence[float]) -> float:
        """Aggregate of the values of all scenarios."""
        return self._aggregate.of(values, self._weights, "minimise")


Known = KnownDesigns | ScenarioDesigns


def known_designs(study: Study, dimensions: int) -> Known:
    """Facts about the designs of *study* with one number of dimensions, in all its scenarios."""
    if study.goals.scenarios:
        return ScenarioDesigns(study, dimensions)
    return KnownDesigns(study, dimensions)
