"""Certain facts about many designs of a study before any of them is simulated.

Designs are rows of the space's blocks, as columns of integers. Times are lower bounds; memory and
costs are exact.
"""

from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simcore
from dse.evaluate import EVALUATORS
from dse.evaluate.designs.assign import backends_of, moved_path, trimmed_run
from dse.evaluate.designs.checks import checks_of
from dse.evaluate.money import CostMeter
from dse.objectives import OBJECTIVES
from dse.proof.listed.checks import check_listed, is_listed
from dse.proof.machines import MACHINES_KEPT, OF_MACHINE, PER_TIME, machines_of
from dse.proof.one_scenario import in_scenario
from dse.proof.ranges import with_cells
from dse.space import Design, file_value, slot_of
from dse.study.compile import Study
from simcore import BACKENDS, ConfigError, InfeasibleError, RunTemplate

Rows = NDArray[np.int32]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

Ways = Mapping[int, NDArray[np.int64]]
"""By block, numbers of rows that differ in algorithms alone, among other things that are set."""

PLAN = ("stack", "workload.", "plan.", "compute", "platform.npu")
"""Starts of the paths that the work of an accelerator depends on."""


class KnownDesigns:
    """Bounds, memory and prices of the designs with one number of network dimensions."""

    def __init__(self, study: Study, dimensions: int) -> None:
        """Prepare the tables.

        The study must be one that ``check_bounded`` passes.
        """
        self._space, self._dimensions = study.space, dimensions
        self._objectives = [OBJECTIVES[name] for name in study.goals.objectives]
        self._machines = machines_of(study)
        what = study.evaluator_input
        paths = paths_of_knobs(study, study.space.dimensions[dimensions])
        beside = Path(what.folder) if what.folder else None
        template = RunTemplate.from_table(run_with_lists(study, dimensions, paths), beside=beside)
        parameters = study.space.parameters
        self._places = [
            (path, block, column)
            for block, part in enumerate(study.space.blocks)
            for column, knob in enumerate(part.names)
            for path in paths.get(knob, ())
        ]
        choices = {
            path: tuple(file_value(choice, parameters[knob].unit)
                        for choice in parameters[knob].choices)
            for knob, own in paths.items() for path in own
        }  # fmt: skip
        tables = [block.tables[dimensions] for block in study.space.blocks]
        self._columns = [
            (path, block, tables[block][:, column].astype(np.int64))
            for path, block, column in self._places
        ]
        self._bounds = simcore.DesignBounds(template, choices, checks_of(what).memo)
        self._margin = what.goals.memory_margin
        limits = {limit.name for limit in what.goals.limits}
        self._within_capacity = "links_within_capacity" in limits
        self._knobs_of_machine = [
            (block, column)
            for block, part in enumerate(study.space.blocks)
            for column, knob in enumerate(part.names)
            if knob in self._machines.knobs
        ]
        self._known: dict[int, Mapping[str, float] | InfeasibleError] = {}
        self._knobs_of_npu = sorted(
            {(block, column) for path, block, column in self._places if _is_of_npu(path)}
        )
        self._memories: dict[tuple[int, ...], float] = {}

    @property
    def bounded_blocks(self) -> frozenset[int]:
        """Numbers of the blocks that the bounds depend on."""
        return frozenset(block for path, block, _ in self._places if path in self._bounds.paths)

    @property
    def algorithms(self) -> tuple[tuple[int, int], ...]:
        """Block and column of each knob that chooses algorithms of collectives and no more."""
        chosen = self._bounds.algorithms
        places = {True: set[tuple[int, int]](), False: set[tuple[int, int]]()}
        for path, block, column in self._places:
            places[path in chosen].add((block, column))
        return tuple(sorted(places[True] - places[False]))

    def times_s(self, rows: Rows, ways: Ways | None = None) -> Floats:
        """Lower bounds of the iteration times; infinite where a design cannot be built or used.

        Args:
            rows: (N, blocks) row of each block.
            ways: By block, rows of it: bound those designs that take the *algorithms* of any.
        """
        codes = self._codes(rows)
        tables = [block.tables[self._dimensions] for block in self._space.blocks]
        chosen = {
            path: np.unique(tables[block][(ways or {})[block], column]).tolist()
            for path, block, column in self._places
            if block in (ways or {}) and path in self._bounds.algorithms
        }
        times_s = self._bounds.times_s(codes, within_capacity=self._within_capacity, ways=chosen)
        return self._usable(times_s, rows, codes)

    def floor_times_s(self, rows: Rows) -> Floats:
        """Bounds on computing alone, known sooner than ``times_s``, whatever the network."""
        codes = self._codes(rows)
        return self._usable(self._bounds.floor_times_s(codes), rows, codes)

    def plan_times_s(self, rows: Rows) -> Floats:
        """``floor_times_s``, whether or not the memory has room."""
        return self._bounds.floor_times_s(self._codes(rows))

    def fit(self, rows: Rows) -> Flags:
        """(N,) whether each design fits into the memory, where that is asked for."""
        return np.isfinite(self._usable(np.zeros(len(rows)), rows, self._codes(rows)))

    def compute_times_s(self, rows: Rows) -> Floats:
        """``times_s`` with a network that takes no time, whatever the machine's knobs."""
        return self._bounds.compute_times_s(self._codes(rows))

    def prices(self, row: Sequence[int]) -> tuple[tuple[float, int], ...] | None:
        """Per objective its amount on this machine for a second, and the power of time in it.

        None where the cost model knows no such machine.
        """
        metrics = self.machine(row)
        if isinstance(metrics, InfeasibleError):
            return None
        return tuple(
            (objective.value(metrics), sum(name in PER_TIME for name in objective.metrics))
            for objective in self._objectives
        )

    def worked_out(self) -> dict[tuple[str, int], bytes]:
        """Facts of plans that were worked out here since this was last asked, packed."""
        return self._bounds.worked_out()

    def take(self, facts: Mapping[tuple[str, int], bytes]) -> None:
        """Take facts of plans that another process has worked out for the same study."""
        self._bounds.take(facts)

    def machine(self, row: Sequence[int]) -> Mapping[str, float] | InfeasibleError:
        """Metrics of a design's machine, with an iteration of one second; or why it has none."""
        return self.machines(np.array([row], np.int32))[0]

    def machines(self, rows: Rows) -> list[Mapping[str, float] | InfeasibleError]:
        """``machine`` of each design."""
        found, which = self._distinct_machines(rows)
        return [found[place] for place in which.tolist()]

    def machine_columns(self, rows: Rows) -> tuple[Flags, dict[str, Floats]]:
        """True where the cost model knows a design's machine, and ``machines`` as columns."""
        found, which = self._distinct_machines(rows)
        sold = [one for one in found if not isinstance(one, InfeasibleError)]
        is_sold = np.array([not isinstance(one, InfeasibleError) for one in found], bool)
        columns = {}
        for name in sold[0] if sold else ():
            column = np.full(len(found), np.nan)
            column[is_sold] = [one[name] for one in sold]
            columns[name] = column[which]
        return is_sold[which], columns

    def _distinct_machines(
        self, rows: Rows
    ) -> tuple[list[Mapping[str, float] | InfeasibleError], NDArray[np.intp]]:
        """``machines``, each once, and the place among these of each design's."""
        tables = [block.tables[self._dimensions] for block in self._space.blocks]
        codes = [tables[b][rows[:, b], column] for b, column in self._knobs_of_machine]
        codes = codes or [np.zeros(len(rows), np.int16)]
        keys, none = np.empty(len(rows), np.int64), np.zeros((len(rows), 0), np.uint64)
        columns = np.stack(codes, axis=1).astype(np.int16)
        simcore.keys_of_designs(np.zeros(len(rows), np.int16), columns, none, keys)
        distinct, first, which = np.unique(keys, return_index=True, return_inverse=True)
        if len(self._known) >= MACHINES_KEPT:
            self._known.clear()
        for key, at in zip(distinct.tolist(), first.tolist(), strict=True):
            if key not in self._known:
                self._known[key] = self._machines.metrics(self._design(rows[at].tolist()))
        return [self._known[key] for key in distinct.tolist()], which

    def _usable(self, times_s: Floats, rows: Rows, codes: dict[str, NDArray[np.int64]]) -> Floats:
        if self._margin is not None and rows.shape[0]:
            room = self._memory_bytes(rows) * (1.0 - self._margin)
            times_s[self._bounds.footprint_bytes(codes) > room] = inf
        return times_s

    def _memory_bytes(self, rows: Rows) -> Floats:
        """(N,) memory of each design's accelerator; one value for all where it is the same."""
        tables = [block.tables[self._dimensions] for block in self._space.blocks]
        knobs = [tables[b][rows[:, b], column] for b, column in self._knobs_of_npu]
        if all((knob == knob[0]).all() for knob in knobs):
            return np.array([self._memory_of(rows[0], tuple([int(knob[0]) for knob in knobs]))])
        keys, first, which = np.unique(
            np.stack(knobs, axis=1), axis=0, return_index=True, return_inverse=True
        )
        each = zip(keys.tolist(), first.tolist(), strict=True)
        found = [self._memory_of(rows[at], tuple(key)) for key, at in each]
        return np.array(found)[which.reshape(-1)]

    def _memory_of(self, row: Rows, key: tuple[int, ...]) -> float:
        """Memory of the accelerator of a design, (blocks,), whose knobs are chosen by *key*."""
        if key not in self._memories:
            run = self._machines.run(self._design(row.tolist()))
            self._memories[key] = run.platform.npu.memory_bytes
        return self._memories[key]

    def _design(self, row: Sequence[int]) -> Design:
        return self._space.design(self._dimensions, list(row))

    def _codes(self, rows: Rows) -> dict[str, NDArray[np.int64]]:
        of_block = np.ascontiguousarray(rows.T)
        return {path: column[of_block[block]] for path, block, column in self._columns}


def _is_of_npu(path: str) -> bool:
    """True if the accelerator may depend on the value at *path*."""
    return not path.startswith(("workload.", "plan.", "system.", "platform.dimensions"))


def check_bounded(study: Study) -> None:
    """See whether the times of the study's designs have bounds.

    Raises:
        ConfigError: They have none; says why.
    """
    backends = backends_of(study.evaluator_input)
    if not study.evaluator.has_bounds or not all(name in BACKENDS for name in backends):
        able = ", ".join(name for name, one in EVALUATORS.items() if one.has_bounds)
        rule = f"bounds are known for the {able} alone, whose times are sums of known parts"
        got = f"{study.file.evaluator} with {', '.join(sorted(backends))}"
        raise ConfigError("evaluator", rule, got=got)
    platform = study.file.run.get("platform")
    if isinstance(platform, Mapping) and _has_network(platform):
        rule = "bounds are known for networks that are dimensions, and of no graph"
        raise ConfigError("run.platform.network", rule, got="a network")
    if study.file.calibration:
        rule = "bounds are those of simulated times, which a calibration moves: leave it out"
        raise ConfigError("calibration", rule, got=study.file.calibration)
    if study.space.continuous:
        knob = study.space.continuous[0].name
        raise ConfigError(
            f"space.axes.{knob}", "bounds need a ladder in place of a range", got=knob
        )


def _has_network(platform: Mapping[str, object]) -> bool:
    listed = platform.get("dimensions")
    return platform.get("network") is not None or (
        isinstance(listed, list | tuple)
        and any(isinstance(one, Mapping) and "network" in one for one in listed)
    )


def check_provable(study: Study) -> None:
    """See whether a gap can be proven for the objectives of the study.

    Raises:
        ConfigError: The designs or an objective have no bounds, in one of its scenarios at least.
    """
    if is_listed(study):
        check_listed(study)
        return
    study = with_cells(study)
    check_comparable(study)
    for scenario in study.evaluator_input.scenarios:
        try:
            check_comparable(in_scenario(study, scenario))
        except ConfigError as error:
            raise error.under(f"scenarios.{scenario.name}") from None


def why_unproven(study: Study) -> str:
    """Obstacle to proving a gap from bounds for *study*; empty: none."""
    return objection(check_provable, study)


def check_visits_all(study: Study, is_complete: bool) -> None:
    """See whether a study without bounds proves its gap by visiting every design.

    Args:
        study: Asks for a gap.
        is_complete: Whether its sampler leaves out no design that may be feasible.

    Raises:
        ConfigError: Not every design is visited; says why there are no bounds.
    """
    if not is_complete:
        check_provable(study)
    designs = study.space.counts.searched
    if study.file.search.exhausted < designs:
        rule = f"must reach all {designs:,} designs for a gap, as nothing bounds them"
        got = f"{study.file.search.exhausted:,} ({why_unproven(study)})"
        raise ConfigError("search.trials", rule, got=got)


def check_comparable(study: Study) -> None:
    """See whether the objectives of the study's designs have bounds along ladders too.

    Raises:
        ConfigError: The designs have no bounds, or an objective has none.
    """
    check_bounded(study)
    check_bounded_objectives(study)
    if machines_of(study).costs_rise:
        return
    meter = CostMeter.of(study.evaluator_input)
    if meter is not None and not meter.rises:
        rule = "power of parts falls with some faster ones, so a gap needs another cost model"
        raise ConfigError("cost.model", rule, got=study.file.cost and study.file.cost.model)
    rule = "a gap needs costs that rise with bandwidth, as machine_costs must say (rise=True)"
    raise ConfigError("evaluator", rule, got=study.file.evaluator)


def check_bounded_objectives(study: Study) -> None:
    """See whether objectives follow from times and prices, and are sought as low as can be.

    Raises:
        ConfigError: One does not, or is not.
    """
    for name, sense in study.goals.objectives.items():
        metrics = set(OBJECTIVES[name].metrics)
        if sense != "minimise" or metrics - PER_TIME - OF_MACHINE:
            rule = "bounds are known for objectives of time and cost that are minimised"
            raise ConfigError(f"objectives.{name}", rule, got=sense)
        if metrics - machines_of(study).known:
            rule = "bounds of costs need an evaluator that tells them beforehand (machine_costs)"
            raise ConfigError(f"objectives.{name}", rule, got=study.file.evaluator)


def why_blind(study: Study) -> str:
    """Obstacle to comparing the designs of *study* with their bounds; empty: none."""
    if not study.file.search.screening:
        return "search.screening is false"
    return objection(check_bounded, study) or objection(check_bounded_objectives, study)


def objection(check: Callable[[Study], None], study: Study) -> str:
    """Message of *check* where it refuses *study*; empty: it does not."""
    try:
        check(study)
    except ConfigError as error:
        return str(error)
    return ""


def plan_knobs(study: Study) -> tuple[str, ...]:
    """Names of the knobs that the plan, the model and the accelerator depend on."""
    return tuple(
        name
        for name, parameter in study.space.parameters.items()
        if any(path.startswith(PLAN) for path in parameter.targets or (name,))
    )


def paths_of_knobs(study: Study, kept: Sequence[int]) -> dict[str, tuple[str, ...]]:
    """Per knob that has a meaning, its paths in the run with the dimensions *kept*."""
    position = {slot: index for index, slot in enumerate(kept)}
    result = {}
    for name, parameter in study.space.parameters.items():
        paths = parameter.targets or (name,)
        own = [path for path in paths if slot_of(path) is None or slot_of(path) in position]
        if own:
            result[name] = tuple(moved_path(path, position) for path in own)
    return result


def run_with_lists(
    study: Study, dimensions: int, paths: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The run of that many dimensions; lists that knobs set entry by entry have all entries."""
    run = trimmed_run(study.file.run, study.space.dimensions[dimensions])
    system = dict(run.get("system") or {})
    for knob, own in paths.items():
        for path in own:
            stem, bracket, _ = path.removeprefix("system.").partition("[")
            if path.startswith("system.") and bracket and not isinstance(system.get(stem), list):
                spare = system.get(stem, study.space.parameters[knob].choices[0])
                system[stem] = [spare] * dimensions
    return {**run, "system": system} if system else run
