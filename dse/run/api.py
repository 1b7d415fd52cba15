"""Runs studies: searches a space, or enumerates it."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dse.evaluate import build_evaluator
from dse.evaluate.base import BOUND
from dse.proof.designs import check_bounded
from dse.run.asked import check_search
from dse.study.compile import Study, load_study_file
from simcore import ConfigError, files_kept, rare_collection

if TYPE_CHECKING:  # a check runs nothing
    from dse.results.result import StudyResult
    from dse.run.runner import Runner
    from dse.run.watcher import Watcher

MAX_ENUMERATED = 200_000
"""Most designs that ``enumerate_study`` takes on."""


def check_study(name: str | Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study and see whether its evaluator understands every knob and value.

    Args:
        name: A path, or the bare name of a shipped study.
        overrides: Values by ``part.key`` that replace the file's.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    return _checked(name, overrides, is_searched=False)


def check_searched(name: str | Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study as ``check_study`` does, and see whether it can be searched as it asks for.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    return _checked(name, overrides, is_searched=True)


def _checked(name: str | Path, overrides: Mapping[str, Any] | None, *, is_searched: bool) -> Study:
    study = load_study_file(name, overrides)
    try:
        for level in study.levels or ("",):
            what = study.judged_at(level).evaluator_input
            evaluator = build_evaluator(replace(what, tied=study.space.tied))
            evaluator.check()
        if BOUND in study.file.search.fidelity:
            check_bounded(study)
        evaluator.check_example(next(study.space.designs()))
        if is_searched:
            check_search(study)
    except ConfigError as error:
        raise error.in_file(name) from None
    return study


def run_study(  # noqa: PLR0913 - all but the first by name, with defaults
    name: str | Path,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    accept_changes: bool = False,
    watcher: "Watcher | None" = None,
    timeout_s: float | None = None,
    **overrides: Any,
) -> "StudyResult":
    """Search the space of a study.

    Args:
        name: A path, or the bare name of a shipped study.
        out: Folder for the results; nothing is written if left out.
        resume: Go on with the study in *out*.
        retry_failed: Evaluate designs again that failed there.
        accept_changes: Go on though a named file, the code or a package is another one than
            before; the rows that follow are marked.
        watcher: Told about every trial.
        timeout_s: Time after which nothing more is proposed.
        **overrides: ``trials``, ``seed``, ``sampler``, ``islands``, ``workers``, ``executor``,
            ``address``, ``evaluator``: in place of the file's.

    Raises:
        ConfigError: What is wrong with the study, its folder or the executor.
        SimulationError: Several designs failed alike, one after the other.
        StoreError: Results cannot be written any more.
    """
    study = check_searched(name, places_of(overrides))
    runner = _runner(
        study,
        out=out,
        resume=resume,
        watcher=watcher,
        retry_failed=retry_failed,
        accept_changes=accept_changes,
    )
    with files_kept(study.files), rare_collection():
        return runner.search(timeout_s)


def enumerate_study(
    name: str | Path,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    retry_failed: bool = False,
    accept_changes: bool = False,
    watcher: "Watcher | None" = None,
    **overrides: Any,
) -> "StudyResult":
    """Evaluate every design of a study's space; arguments as of ``run_study``.

    Raises:
        ConfigError: As ``run_study``, or the space is too large; says how large.
    """
    study = check_study(name, places_of(overrides))
    counts = study.space.counts
    if counts.continuous:
        rule = "every knob must have a list of values to be enumerated"
        raise ConfigError("space", rule, got=f"{counts.continuous} with a range")
    if counts.searched > MAX_ENUMERATED:
        rule = f"at most {MAX_ENUMERATED:,} designs can be enumerated"
        raise ConfigError("space", rule, got=counts.searched)
    runner = _runner(
        study,
        out=out,
        resume=resume,
        watcher=watcher,
        retry_failed=retry_failed,
        accept_changes=accept_changes,
    )
    with files_kept(study.files), rare_collection():
        return runner.enumerate()


def _runner(study: Study, **how: Any) -> "Runner":
    from dse.run.runner import Runner

    return Runner(study, **how)


_OVERRIDES = {
    "trials": "search.trials",
    "sampler": "search.sampler",
    "sampler_arguments": "search.sampler_arguments",
    "encoding": "search.encoding",
    "population": "search.population",
    "window": "search.window",
    "islands": "search.islands",
    "repeats": "search.repeats",
    "screening": "search.screening",
    "gap": "search.gap",
    "hypervolume_gap": "search.hypervolume_gap",
    "learn_from": "search.learn_from",
    "fidelity": "search.fidelity",
    "promote": "search.promote",
    "controls": "search.controls",
    "settle": "search.settle",
    "seed": "seed",
    "evaluator": "evaluator",
    "workers": "execution.workers",
    "executor": "execution.executor",
    "address": "execution.address",
    "timeout": "execution.timeout",
    "memory": "execution.memory",
    "cache": "execution.cache",
}


def places_of(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Values by their places in a study's file, of the arguments of ``run_study`` that are given.

    Raises:
        ConfigError: It has no such argument.
    """
    for name in overrides:
        if name not in _OVERRIDES:
            rule = f"the arguments are {', '.join(_OVERRIDES)}"
            raise ConfigError("run_study", rule, got=name)
    return {_OVERRIDES[name]: value for name, value in overrides.items() if value is not None}
