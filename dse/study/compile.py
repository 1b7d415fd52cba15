"""From a study file to a study that is ready to run."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any, Self

from dse.evaluate import EVALUATORS, EXECUTORS, Evaluator, EvaluatorInput, fidelity_named
from dse.objectives import CONSTRAINTS, DEFAULT_CHECKS, MEMORY, OBJECTIVES, Goals, Limit
from dse.samplers.registry import sampler_named
from dse.space import DimensionFacts, RunFacts, Space, build_space, scalars_of
from dse.study.file import LimitFile, StudyFile
from dse.study.levels import levels_of
from dse.study.own_metrics import check_all_given, check_objectives, own_metrics
from dse.study.scenarios import aggregate_of, scenario_goals, scenario_inputs
from simcore import (
    FACTORS,
    ConfigError,
    JobsTemplate,
    Platform,
    RunTemplate,
    ServiceTemplate,
    did_you_mean,
    files_kept,
    is_there,
    load_platform,
    parse_quantity,
    read_yaml,
    shipped_folder,
)

OWN_KEYS: Mapping[type, tuple[str, ...]] = {
    ServiceTemplate: ("prefill", "decode"),
    JobsTemplate: ("jobs",),
}
"""Keys of other files that a run file does not have, by what reads them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """A checked study.

    Attributes:
        file: As written, with overrides.
        folder: Folder that relative paths of the run start from, or empty.
        space: The compiled space.
        goals: Objectives and limits.
        reference: Reference point of the hypervolume, or None for the default.
        levels: Fidelities that designs are judged at, from coarse to fine; empty: there is one.
        fidelity: The one of them that ``evaluator_input`` judges at, or empty.
        files: Texts of the files that the study names, by absolute path: each is read once, and
            its text sent to the workers, so that all that is evaluated is of the same files.
    """

    file: StudyFile
    folder: str
    space: Space
    goals: Goals
    reference: tuple[float, ...] | None
    levels: tuple[str, ...] = ()
    fidelity: str = ""
    files: dict[str, str] = field(default_factory=dict)

    @property
    def evaluator(self) -> type[Evaluator]:
        """Evaluator class."""
        return EVALUATORS[self.file.evaluator]

    @property
    def texts(self) -> tuple[str, ...]:
        """All that names the components of the study: its own text and its files'."""
        return (self.file.model_dump_json(), *self.files.values())

    def judged_at(self, level: str) -> Self:
        """Copy whose designs are judged at another of its levels."""
        return replace(self, fidelity=level)

    @property
    def evaluator_input(self) -> EvaluatorInput:
        """Input of each worker's evaluator."""
        file = self.file
        what = EvaluatorInput(
            name=file.evaluator,
            run=file.run,
            folder=self.folder,
            parameters=self.space.parameters,
            dimensions=self.space.dimensions,
            goals=self.goals,
            cost=None if file.cost is None else file.cost.model_dump(by_alias=True),
            scenarios=scenario_inputs(file),
            calibration=file.calibration,
            physical=file.physical,
            own=own_metrics(file),
            files=self.files,
        )
        return fidelity_named(self.fidelity).judging(what) if self.fidelity else what


def find_study(name: str | Path) -> Path:
    """The study file that *name* means: a path, or the bare name of a shipped study.

    Raises:
        ConfigError: Neither exists; lists the shipped studies.
    """
    path = Path(name)
    if is_there(path) and not path.is_dir():
        return path
    shipped = sorted(file.name for file in shipped_folder("studies").glob("*.yaml"))
    bare = path.name if path.suffix else f"{path.name}.yaml"
    if path.parent == Path() and bare in shipped:
        return shipped_folder("studies") / bare
    rule = f"must be a study file, or one of {', '.join(shipped)}{did_you_mean(bare, shipped)}"
    raise ConfigError("study", rule, got=str(name))


def load_study_file(
    name: str | Path,
    overrides: Mapping[str, Any] | None = None,
    files: Mapping[str, str] | None = None,
) -> Study:
    """Read, override and compile a study file.

    Args:
        name: A path, or the bare name of a shipped study.
        overrides: Values by ``part.key`` (``search.trials``) that replace the file's; None stays
            out of the way.
        files: Texts of files that the study names, by absolute path, in place of the files.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    path = find_study(name)
    texts = dict(files or {})
    with files_kept({}):  # the study itself is no file that it names
        data = read_yaml(path)
    try:
        if not isinstance(data, dict):
            raise ConfigError("", "must be a table of keys and values", got=data)
        with files_kept(texts):
            folder = str(path.parent.resolve())
            study = compile_study(_overridden(data, overrides or {}), folder=folder)
        return replace(study, files=texts)
    except ConfigError as error:
        raise error.in_file(path) from None


def compile_study(data: Mapping[str, Any], *, folder: str = "") -> Study:
    """Check the content of a study file and compile its space.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    if "run" not in data and {"workload", "platform"} <= set(data):
        rule = "must be a study: this is a run file, which python -m simcore simulate reads"
        raise ConfigError("", rule, got=sorted(map(str, data)))
    file = StudyFile.from_file_data(dict(data), at="")
    if file.evaluator not in EVALUATORS:
        raise EVALUATORS.unknown(file.evaluator, at="evaluator")
    sampler = sampler_named(file.search.sampler)
    evaluator = EVALUATORS[file.evaluator]
    if evaluator.template is RunTemplate:
        _check_is_run(file)
    check_objectives(file)
    if file.execution.executor not in EXECUTORS:
        rule = f"must be one of {', '.join(EXECUTORS)}"
        rule += did_you_mean(file.execution.executor, EXECUTORS)
        raise ConfigError("execution.executor", rule, got=file.execution.executor)
    folder = file.folder or folder
    goals = Goals(
        objectives=dict(file.objectives),
        limits=tuple(_limits(file)),
        scenarios=scenario_goals(file),
        aggregate=aggregate_of(file),
    )
    check_all_given(file, goals)
    if goals.needs_costs and file.cost is None and not evaluator.prices_itself:
        raise ConfigError("cost", "this key is required for objectives in USD or W", got=None)
    given = file.search.sampler_arguments or file.search.encoding
    sampler.check(file.search.sampler, len(goals.objectives), given)
    levels = levels_of(file)
    return Study(
        file=file,
        folder=folder,
        space=build_space(file.space, _setting(file, folder)),
        goals=goals,
        reference=_reference(file),
        levels=levels,
        fidelity=levels[0] if levels else "",
    )


def _check_is_run(file: StudyFile) -> None:
    """See whether the study's ``run`` is a run file's content.

    Raises:
        ConfigError: It has keys of another file; names the evaluators that read it.
    """
    for template, keys in OWN_KEYS.items():
        if not file.run.keys().isdisjoint(keys):
            able = [name for name, one in EVALUATORS.items() if one.template is template]
            rule = f"must be {' or '.join(able)}, for a run with {' and '.join(keys)}"
            raise ConfigError("evaluator", rule, got=file.evaluator)


def _overridden(data: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(data)
    for path, value in overrides.items():
        if value is None:
            continue
        part, _, key = path.partition(".")
        if not key:
            result[part] = value
            continue
        inner = result.get(part) or {}
        if isinstance(inner, dict):
            result[part] = {**inner, key: value}
    return result


def _limits(file: StudyFile) -> list[Limit]:
    if file.memory_margin and MEMORY not in file.constraints:
        rule = f"needs constraints: [{MEMORY}], which it makes stricter"
        raise ConfigError("memory_margin", rule, got=file.memory_margin)
    limits = [CONSTRAINTS[name] for name in DEFAULT_CHECKS if _is_on(name, file)]
    for index, item in enumerate(file.constraints):
        at = f"constraints[{index}]"
        if isinstance(item, str):
            if item not in CONSTRAINTS:
                raise CONSTRAINTS.unknown(item, at=at)
            if item not in DEFAULT_CHECKS:
                limits.append(_named_limit(item, file))
        else:
            limits.append(_limit(item, at))
    return limits


def _named_limit(name: str, file: StudyFile) -> Limit:
    """The constraint *name*; that of memory leaves what the study wants left."""
    limit = CONSTRAINTS[name]
    return replace(limit, bound=1.0 - file.memory_margin) if name == MEMORY else limit


def _is_on(name: str, file: StudyFile) -> bool:
    """True if a check that needs not be asked for holds in a study."""
    if name in file.constraints and name in file.unchecked:
        raise ConfigError("unchecked", "must not hold what constraints asks for", got=name)
    counts = EVALUATORS[file.evaluator].counts_traffic
    if name in file.constraints and not counts:
        rule = f"{file.evaluator} counts no traffic; leave this out"
        raise ConfigError("constraints", rule, got=name)
    return name not in file.unchecked and counts


def _limit(item: LimitFile, at: str) -> Limit:
    if item.objective not in OBJECTIVES:
        raise OBJECTIVES.unknown(item.objective, at=f"{at}.objective")
    given = [key for key in ("at_most", "at_least") if getattr(item, key) is not None]
    if len(given) != 1:
        raise ConfigError(at, "must hold exactly one of at_most and at_least", got=given)
    key = given[0]
    bound = _amount(getattr(item, key), OBJECTIVES[item.objective].unit, at=f"{at}.{key}")
    if not bound > 0:
        raise ConfigError(f"{at}.{key}", "must be above 0", got=bound)
    return Limit(
        name=f"{item.objective}_{key}",
        metric=OBJECTIVES[item.objective],
        bound=bound,
        sense="at_most" if key == "at_most" else "at_least",
    )


def _amount(value: str | float, unit: str, *, at: str) -> float:
    """A quantity in *unit*; a bare number only where the unit is a product or there is none."""
    if unit not in FACTORS:
        if isinstance(value, str):
            raise ConfigError(at, f"must be a number ({unit or 'a ratio'})", got=value)
        return value
    if not isinstance(value, str):
        raise ConfigError(at, f"must have a unit, such as '{value:g} {unit}'", got=value)
    try:
        amount = parse_quantity(value, unit)
    except ValueError as error:
        raise ConfigError(at, str(error), got=value) from None
    if not math.isfinite(amount):
        raise ConfigError(at, "must be a finite number", got=value)
    return amount


def _reference(file: StudyFile) -> tuple[float, ...] | None:
    if file.reference_point is None:
        return None
    given = file.reference_point
    if set(given) != set(file.objectives):
        rule = f"must have one line for each of {', '.join(file.objectives)}"
        raise ConfigError("reference_point", rule, got=list(given))
    point = []
    for name in file.objectives:
        value = _amount(given[name], OBJECTIVES[name].unit, at=f"reference_point.{name}")
        if not 0 < value < math.inf:
            raise ConfigError(f"reference_point.{name}", "must be above 0", got=given[name])
        point.append(value)
    return tuple(point)


def _setting(file: StudyFile, folder: str) -> RunFacts:
    """Facts of the run that the space depends on."""
    platform = file.run.get("platform")
    fixed = scalars_of(file.run)
    if isinstance(platform, str):
        if any(product.dimensions is not None for product in file.space.products):
            rule = "must hold its dimensions in place, for a space that varies their number"
            raise ConfigError("run.platform", rule, got=platform)
        beside = Path(folder) if folder else None
        machine = load_platform(platform, at="run.platform", beside=beside)
        facts = _facts_of(machine)
        npus = prod(one.npus for one in facts)
        return RunFacts(dimensions=len(facts), npus=npus, fixed=fixed, machine=facts)
    listed = platform.get("dimensions") if isinstance(platform, dict) else None
    if not isinstance(listed, list):
        facts = _levels(file, folder)
        return RunFacts(dimensions=len(facts), npus=None, fixed=fixed, machine=facts)
    tables = [item if isinstance(item, dict) else {} for item in listed]
    facts = tuple(map(_told_facts, tables))
    known = prod(one.npus for one in facts) if all(one.npus for one in facts) else None
    return RunFacts(dimensions=len(listed), npus=known, fixed=fixed, machine=facts)


def _facts_of(machine: Platform) -> tuple[DimensionFacts, ...]:
    return tuple(
        DimensionFacts(topology=one.topology, npus=one.npus, network=one.takes_schedules)
        for one in machine.dimensions
    )


def _told_facts(table: Mapping[str, Any]) -> DimensionFacts:
    """Facts of a dimension that the run tells in place, as far as they are told."""
    topology, npus = table.get("topology"), table.get("npus")
    return DimensionFacts(
        topology=topology if isinstance(topology, str) else "",
        npus=npus if isinstance(npus, int) else 0,
    )


def _levels(file: StudyFile, folder: str) -> tuple[DimensionFacts, ...]:
    """Levels of a machine that is one network, where an algorithm of each is asked for.

    Raises:
        ConfigError: A knob changes the network, so that its levels are not known.
    """
    asked = [name for name in file.space.axes if re.match(r"system\.\w+\[", name)]
    if not asked or not isinstance(file.run.get("platform"), dict):
        return ()
    changed = [name for name in file.space.axes if name.startswith("platform.network.")]
    shaped = [name for name in changed if not name.endswith((".bandwidth", ".latency", ".rule"))]
    if shaped:
        rule = f"must be one name for all levels where {shaped[0]} changes them"
        raise ConfigError(f"space.axes.{asked[0]}", rule, got=asked[0])
    beside = Path(folder) if folder else None
    return _facts_of(load_platform(file.run["platform"], at="run.platform", beside=beside))
