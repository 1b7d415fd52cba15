"""From the ``metrics`` of a study file to the code that gives them, and to objectives of them."""

from dse.evaluate import EVALUATORS, OWN
from dse.evaluate.base import OwnMetrics
from dse.evaluate.own.programs import files_digest, is_file_of_import_path
from dse.objectives import OBJECTIVES, UNITS, Goals, metric_objective, needed_metrics
from dse.study.file import LimitFile, MetricsFile, StudyFile
from simcore import ConfigError, did_you_mean

_RESERVED = frozenset(name for one in OBJECTIVES for name in OBJECTIVES[one].metrics)
"""Metrics of the shipped evaluators, which nothing beside them may give."""


def own_metrics(file: StudyFile) -> tuple[OwnMetrics, ...]:
    """The user's code that a study names."""
    return tuple(
        OwnMetrics(
            name=f"metrics.{name}",
            gives=one.gives,
            function=one.function,
            command=one.command,
            expression=one.expression,
            timeout_s=one.timeout_s,
            memory_bytes=int(one.memory_bytes or 0),
        )
        for name, one in file.metrics.items()
    )


def check_objectives(file: StudyFile) -> None:
    """See whether each metric of a user's has one source and a unit, and each objective is one.

    Raises:
        ConfigError: One has not; says where, and what would be right.
    """
    known = set() if file.evaluator == OWN else set(_RESERVED)
    for name, one in file.metrics.items():
        _check_code(one, f"metrics.{name}")
        for index, metric in enumerate(one.gives):
            _check_metric(metric, known, f"metrics.{name}.gives[{index}]")
            known.add(metric)
    if file.evaluator == OWN and not file.metrics:
        rule = "must hold functions or commands, for the evaluator own gives no metrics itself"
        raise ConfigError("metrics", rule, got=None)
    given = _given(file)
    asked = {f"objectives.{name}": name for name in file.objectives}
    for index, item in enumerate(file.constraints):
        if isinstance(item, LimitFile):
            asked[f"constraints[{index}].objective"] = item.objective
    for at, name in asked.items():
        known_names = [*OBJECTIVES, *given]
        if name not in known_names:
            rule = f"an objective must be one of {', '.join(known_names)}"
            raise ConfigError(at, rule + did_you_mean(name, known_names), got=name)


def check_all_given(file: StudyFile, goals: Goals) -> None:
    """See whether a study whose code gives all metrics gives those that it asks for.

    Raises:
        ConfigError: One is missing.
    """
    missing = needed_metrics(goals) - set(_given(file))
    if file.evaluator == OWN and missing:
        rule = f"must give {', '.join(sorted(missing))}, which objectives or limits are made of"
        raise ConfigError("metrics", rule, got=_given(file))


def command_digests(file: StudyFile) -> dict[str, str]:
    """Hashes of the programs of a study's commands, and of the files that they name.

    Raises:
        ConfigError: A file is not there, or others may write to it.
    """
    found = {}
    for name, one in file.metrics.items():
        if not one.command:
            continue
        named = [text for text in one.command[1:] if is_file_of_import_path(text)]
        try:
            found[f"metrics.{name}"] = files_digest([one.command[0], *named, *one.files])
        except ConfigError as error:
            raise error.under(f"metrics.{name}") from None
    return found


def _given(file: StudyFile) -> list[str]:
    """Metrics that the user's code gives, its evaluator included."""
    metrics = [name for one in file.metrics.values() for name in one.gives]
    return [*EVALUATORS[file.evaluator].gives_of(file.run), *metrics]


def _check_code(one: MetricsFile, at: str) -> None:
    given = [text for text in (one.function, *one.command[:1], one.expression) if text]
    if len(given) != 1:
        raise ConfigError(at, "must hold one of function, command and expression", got=given)
    if one.expression and len(one.gives) != 1:
        raise ConfigError(f"{at}.gives", "must be one name, of an expression", got=list(one.gives))
    if one.files and not one.command:
        raise ConfigError(f"{at}.files", "belongs to a command", got=list(one.files))


def _check_metric(metric: str, known: set[str], at: str) -> None:
    if not metric.isidentifier() or metric_objective(metric) is None:
        rule = f"must be a word that ends in its unit: {', '.join(UNITS)}"
        raise ConfigError(at, rule, got=metric)
    if metric in known or metric in list(OBJECTIVES):
        raise ConfigError(at, "must be a name that nothing else has", got=metric)
