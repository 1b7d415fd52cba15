"""The levels that a study file names: at which fidelities designs are judged."""

from dse.evaluate import EVALUATORS, FIDELITIES, fidelity_named
from dse.evaluate.base import BOUND
from dse.study.file import StudyFile
from simcore import ConfigError

_AT = "search.fidelity"


def levels_of(file: StudyFile) -> tuple[str, ...]:
    """The fidelities that give values, from coarse to fine; empty: the run's alone.

    Raises:
        ConfigError: An unknown one, another order, or a contradiction to the rest of the file.
    """
    names = file.search.fidelity
    for index, name in enumerate(names):
        try:
            fidelity_named(name)
        except ConfigError as error:
            raise error.under(f"{_AT}[{index}]") from None
    known = list(dict.fromkeys((*FIDELITIES, *names)))  # those from outside are the finest
    places = [known.index(name) for name in names]
    if places != sorted(set(places)):
        rule = f"must go from coarse to fine, each once: {', '.join(known)}"
        raise ConfigError(_AT, rule, got=list(names))
    levels = tuple(name for name in names if name != BOUND)
    if names:
        _check_agrees(file, levels)
    return levels


def _check_agrees(file: StudyFile, levels: tuple[str, ...]) -> None:
    if not levels:
        raise ConfigError(_AT, "must name a network backend beside bound", got=[BOUND])
    if not EVALUATORS[file.evaluator].has_levels:
        able = " or ".join(name for name, one in EVALUATORS.items() if one.has_levels)
        raise ConfigError(_AT, f"needs the evaluator {able}", got=file.evaluator)
    if BOUND in file.search.fidelity and not file.search.screening:
        raise ConfigError("search.screening", f"must be true, as {_AT} has bound", got=False)
    first = fidelity_named(levels[0])
    given = {"run": file.run, **{f"scenarios.{one.name}.run": one.run for one in file.scenarios}}
    for place, run in given.items():
        if run.get("backend", first.backend) != first.backend:
            rule = f"must be left out, or be the first backend of {_AT} ({first.backend})"
            raise ConfigError(f"{place}.backend", rule, got=run["backend"])
        system = run.get("system")
        end = system.get("phase_end") if isinstance(system, dict) else None
        if first.phase_end and end not in (None, first.phase_end):
            rule = f"must be left out, or that of the first level of {_AT}, {first.phase_end}"
            rule += "; phases_together is the level before congestion_unaware"
            raise ConfigError(f"{place}.system.phase_end", rule, got=end)
