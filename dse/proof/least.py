"""The least that the metrics of a design can be, in every scenario of its study."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import isfinite

import numpy as np

from dse.proof.designs import KnownDesigns, Rows, in_scenario
from dse.proof.machines import PER_TIME
from dse.study.compile import Study
from simcore import InfeasibleError

_KEPT = 16
"""Tables of bounds that are kept: a study has one per number of network dimensions."""


class LeastMetrics:
    """Bounds of the designs with one number of network dimensions; metrics named as measured.

    Sums, means, the worst and quantiles of values do not fall where a value rises, so an objective
    of these metrics is a bound of the objective. A scenario in which links can be used in part is
    bounded as if they could be used whole.
    """

    def __init__(self, study: Study, dimensions: int) -> None:
        """Prepare the tables.

        The study must be one that ``check_bounded`` passes.
        """
        scenarios = study.evaluator_input.scenarios
        self._each = {
            f"@{one.name}": KnownDesigns(in_scenario(study, one), dimensions) for one in scenarios
        } or {"": KnownDesigns(study, dimensions)}

    def metrics(self, row: Rows, *, closer: bool) -> Mapping[str, float] | InfeasibleError | None:
        """The metrics of a design with the shortest iteration that it could have.

        Args:
            row: (1, blocks) row of each block.
            closer: Ask the bound of the design, not only that of its computing.

        Returns:
            None where the design breaks a rule of the plan, which its evaluation tells; an error
            where the cost model knows no such machine.
        """
        return self.each(row, closer=closer)[0]

    def each(
        self, rows: Rows, *, closer: bool
    ) -> list[Mapping[str, float] | InfeasibleError | None]:
        """``metrics`` of each of the designs, (N, blocks)."""
        known = self._each.values()
        times_s = [one.times_s(rows) if closer else one.floor_times_s(rows) for one in known]
        machines = [one.machines(rows) for one in known]
        columns = zip(*machines, strict=True), np.transpose(times_s).tolist()
        return [self._metrics(*row) for row in zip(*columns, strict=True)]

    def _metrics(
        self, machines: Sequence[Mapping[str, float] | InfeasibleError], times_s: Sequence[float]
    ) -> Mapping[str, float] | InfeasibleError | None:
        """Metrics of one design, of its machine and its time in each scenario."""
        found: dict[str, float] = {}
        for ending, machine, time_s in zip(self._each, machines, times_s, strict=True):
            if isinstance(machine, InfeasibleError):
                return machine
            if not isfinite(time_s):
                return None
            for name, value in machine.items():
                found[name + ending] = value * time_s if name in PER_TIME else value
        return found


@lru_cache(maxsize=_KEPT)
def least_metrics(study: Study, dimensions: int) -> LeastMetrics:
    """The bounds of *study*, one for all that ask: to know a new plan takes milliseconds."""
    return LeastMetrics(study, dimensions)
