"""The least that the metrics of a design can be, in every scenario of its study."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from math import isfinite
from operator import is_

import numpy as np

from dse.objectives import OBJECTIVES, Goals
from dse.proof.designs import (
    Flags,
    Floats,
    KnownDesigns,
    Rows,
    check_bounded,
    check_bounded_objectives,
)
from dse.proof.machines import PER_TIME
from dse.proof.one_scenario import in_scenario
from dse.samplers.design import Genomes, GenomeSpace
from dse.space import Design
from dse.study.compile import Study
from simcore import ConfigError, InfeasibleError

_KEPT = 16
"""Tables of bounds that are kept: a study has one per number of network dimensions."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LeastColumns:
    """Least metrics of N designs.

    Attributes:
        columns: By name, (N,) float64; of no meaning where it is not known.
        has_none: (N,) designs whose machine the cost model does not know.
        unknown: (N,) designs that break a rule of the plan, which their evaluation tells.
    """

    columns: Mapping[str, Floats]
    has_none: Flags
    unknown: Flags

    def objectives(self, goals: Goals) -> Floats:
        """(N, M) ``Goals.values`` of each design."""
        if not goals.scenarios:
            found = [OBJECTIVES[name].column(self.columns) for name in goals.objectives]
            return np.stack(found, axis=1)
        each = [scenario.metrics_of(self.columns) for scenario in goals.scenarios]
        weights = [scenario.weight for scenario in goals.scenarios]
        columns = []
        for name, sense in goals.objectives.items():
            rows = np.stack([OBJECTIVES[name].column(own) for own in each], axis=1).tolist()
            columns.append([goals.aggregate.of(row, weights, sense) for row in rows])
        return np.array(columns).T

    def exceed(self, goals: Goals) -> Flags:
        """(N,) whether each design exceeds any limit; one value for all where there is no limit."""
        each = [scenario.metrics_of(self.columns) for scenario in goals.scenarios]
        limits = [(limit, own) for limit in goals.limits for own in each or [self.columns]]
        found = [limit.violations(own) > 0 for limit, own in limits]
        return np.asarray(np.any(found, axis=0), bool)


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
        known = self._each.values()
        times_s = [one.times_s(row) if closer else one.floor_times_s(row) for one in known]
        return self._metrics([one.machine(row[0]) for one in known], [float(s[0]) for s in times_s])

    def worked_out(self) -> Iterator[tuple[str, int, str, bytes]]:
        """Facts of plans that were worked out here since this was last asked.

        Each has the name of a part and a number, that of a scenario, and the packed fact.
        """
        for ending, known in self._each.items():
            for (name, key), fact in known.worked_out().items():
                yield name, key, ending, fact

    def take(self, facts: Iterable[tuple[str, int, str, bytes]]) -> None:
        """Take facts of plans that another process has worked out for the same study."""
        own: dict[str, dict[tuple[str, int], bytes]] = {ending: {} for ending in self._each}
        for name, key, ending, fact in facts:
            own[ending][name, key] = fact
        for ending, known in self._each.items():
            known.take(own[ending])

    def columns(self, rows: Rows, *, closer: bool) -> "LeastColumns":
        """``metrics`` of many designs, (N, blocks)."""
        columns: dict[str, Floats] = {}
        is_open = np.ones(len(rows), bool)  # the first scenario that says no, says which no
        has_none, unknown = ~is_open, ~is_open
        for ending, known in self._each.items():
            own_s = known.times_s(rows) if closer else known.floor_times_s(rows)
            is_sold, own = known.machine_columns(rows)
            has_none |= is_open & ~is_sold
            unknown |= is_open & is_sold & ~np.isfinite(own_s)
            is_open &= is_sold & np.isfinite(own_s)
            for name, column in own.items():
                columns[name + ending] = column * own_s if name in PER_TIME else column
        return LeastColumns(columns=columns, has_none=has_none, unknown=unknown)

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


class _Bounded:
    """A study as far as its bounds go: how it is carried out has no part in them.

    So the end of a study, whose number of workers has been filled in, has the bounds that its
    search has worked out. Parts are compared by identity: equal ones that are read anew have
    bounds of their own, which costs time alone.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        file = study.file
        self._parts = [
            *(getattr(study, one.name) for one in fields(study) if one.name != "file"),
            *(getattr(file, name) for name in type(file).model_fields if name != "execution"),
        ]

    def __hash__(self) -> int:
        return id(self.study.space)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Bounded):
            return NotImplemented
        return all(map(is_, self._parts, other._parts))


def least_metrics(study: Study, dimensions: int) -> LeastMetrics:
    """The bounds of *study*, one for all that ask: to know a new plan takes milliseconds."""
    return _least_metrics(_Bounded(study), dimensions)


@lru_cache(maxsize=_KEPT)
def _least_metrics(asked: _Bounded, dimensions: int) -> LeastMetrics:
    return LeastMetrics(asked.study, dimensions)


def least_objectives(study: Study, designs: Sequence[Design], *, closer: bool) -> Floats | None:
    """Lower bounds of the objectives of many designs.

    Args:
        study: Gives the objectives.
        designs: Of its space, or by hand.
        closer: Ask the bounds of the designs, not only those of their computing.

    Returns:
        (N, M), all to be minimised; minus infinity where nothing is known of a design. None where
        the study, or an objective of it, has no bounds.
    """
    try:
        check_bounded(study)
        check_bounded_objectives(study)
    except ConfigError:
        return None
    space = _genomes(_Bounded(study))
    genomes = [space.genome(design) for design in designs]
    result = np.full((len(designs), len(study.goals.objectives)), -np.inf)
    for count in space.counts:
        own = {n: one for n, one in enumerate(genomes) if one and one.dimensions == count}
        if not own:
            continue
        rows = space.rows_of(Genomes.of([*own.values()]))
        found = least_metrics(study, count).columns(rows, closer=closer)
        if found.columns:
            values = found.objectives(study.goals) * study.goals.signs
            is_known = ~found.has_none & ~found.unknown
            result[np.array([*own])[is_known]] = values[is_known]
    return result


@lru_cache(maxsize=_KEPT)
def _genomes(asked: _Bounded) -> GenomeSpace:
    return GenomeSpace(asked.study.space)
