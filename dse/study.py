"""Runs studies: searches a space, or enumerates it."""

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from dse.config import Study, load_study_file
from dse.evaluate import Dispatcher, Task, build_evaluator, start_crew
from dse.evaluate.run_check import RunChecker
from dse.report import report_page
from dse.result import StudyResult
from dse.samplers import ProposerInput, build_proposer
from dse.search import Budget, Hooks, Search
from dse.start import starting_designs
from dse.store import REPORT, StudyFolder
from dse.summary import study_front, study_summary
from dse.trials import Trial
from simcore import ConfigError

MAX_ENUMERATED = 200_000
"""Most designs that ``enumerate_study`` takes on."""

_ENUMERATE_AHEAD = 4096


class Watcher(Protocol):
    """Who wants to see a study run."""

    def started(self, study: Study, known: int, total: int) -> None:
        """Workers are up; *known* of *total* trials are there already."""

    def folded(self, trial: Trial, duplicates: int) -> None:
        """One more row, in ask order."""

    def stopping(self) -> bool:
        """Whether to propose nothing more."""


class Unwatched:
    """Nobody looks, nobody stops."""

    def started(self, study: Study, known: int, total: int) -> None:
        """Nothing to do."""

    def folded(self, trial: Trial, duplicates: int) -> None:
        """Nothing to do."""

    def stopping(self) -> bool:
        """Never."""
        return False


def check_study(name: str | Path, overrides: Mapping[str, Any] | None = None) -> Study:
    """Read a study and see whether its evaluator understands every knob and value.

    Args:
        name: A path, or the bare name of a shipped study.
        overrides: Values by ``part.key`` that replace the file's.

    Raises:
        ConfigError: What is wrong, where, and what would be right.
    """
    study = load_study_file(name, overrides)
    try:
        what = study.evaluator_input
        build_evaluator(what).check()
        if what.run:
            RunChecker(what).check_npus(next(study.space.designs()))
    except ConfigError as error:
        if ".yaml" in error.at:
            raise
        raise ConfigError(f"{name}: {error.at}", error.rule, got=error.got) from None
    return study


def run_study(
    name: str | Path,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    timeout_s: float | None = None,
    **overrides: Any,
) -> StudyResult:
    """Search the space of a study.

    Args:
        name: A path, or the bare name of a shipped study.
        out: Folder for the results; nothing is written if left out.
        resume: Go on with the study in *out*.
        watcher: Told about every trial.
        timeout_s: Time after which nothing more is proposed.
        **overrides: ``trials``, ``seed``, ``sampler``, ``workers``, ``executor``, ``address``,
            ``evaluator``: in place of the file's.

    Raises:
        ConfigError: What is wrong with the study, its folder or the executor.
        SimulationError: All of the first evaluations failed.
    """
    study = check_study(name, _places(overrides))
    return Runner(study, out=out, resume=resume, watcher=watcher).search(timeout_s)


def enumerate_study(
    name: str | Path,
    *,
    out: Path | str | None = None,
    resume: bool = False,
    watcher: Watcher | None = None,
    **overrides: Any,
) -> StudyResult:
    """Evaluate every design of a study's space; arguments as of ``run_study``.

    Raises:
        ConfigError: As ``run_study``, or the space is too large; says how large.
    """
    study = check_study(name, _places(overrides))
    counts = study.space.counts
    if counts.continuous:
        rule = "every knob must have a list of values to be enumerated"
        raise ConfigError("space", rule, got=f"{counts.continuous} with a range")
    if counts.searched > MAX_ENUMERATED:
        rule = f"at most {MAX_ENUMERATED:,} designs can be enumerated"
        raise ConfigError("space", rule, got=counts.searched)
    return Runner(study, out=out, resume=resume, watcher=watcher).enumerate()


_OVERRIDES = {
    "trials": "search.trials",
    "sampler": "search.sampler",
    "population": "search.population",
    "window": "search.window",
    "variations": "search.variations",
    "seed": "seed",
    "evaluator": "evaluator",
    "workers": "execution.workers",
    "executor": "execution.executor",
    "address": "execution.address",
}


def _places(overrides: Mapping[str, Any]) -> dict[str, Any]:
    for name in overrides:
        if name not in _OVERRIDES:
            rule = f"the arguments are {', '.join(_OVERRIDES)}"
            raise ConfigError("run_study", rule, got=name)
    return {_OVERRIDES[name]: value for name, value in overrides.items() if value is not None}


class Runner:
    """One run of one study."""

    def __init__(
        self,
        study: Study,
        *,
        out: Path | str | None,
        resume: bool,
        watcher: Watcher | None,
    ) -> None:
        self._study = _with_workers(study)
        self._folder = StudyFolder(Path(out)) if out is not None else None
        self._resume = resume
        self._watcher = watcher or Unwatched()
        self._start_s = time.monotonic()

    def search(self, timeout_s: float | None) -> StudyResult:
        """Propose, evaluate and tell until the budget is spent."""
        study, file = self._study, self._study.file
        known = self._known()
        evaluator = build_evaluator(study.evaluator_input)
        proposer = build_proposer(
            file.search.sampler,
            ProposerInput(
                space=study.space,
                goals=study.goals,
                seed=file.seed,
                population=file.search.population,
                admits=evaluator.admits,
                deciding=frozenset(filter(evaluator.decides, study.space.parameters)),
                trials=file.search.trials,
            ),
        )
        for design in starting_designs(study):
            proposer.enqueue(design)
        counts = study.space.counts
        budget = Budget(
            trials=file.search.trials,
            window=file.search.window,
            variations=file.search.variations,
            designs=None if counts.continuous else counts.searched,
            until_s=None if timeout_s is None else self._start_s + timeout_s,
        )
        hooks = Hooks(finished=self._finished, folded=self._folded, stopping=self._watcher.stopping)
        with self._dispatcher() as dispatcher:
            self._open(known)
            self._watcher.started(study, len(known), budget.trials)
            search = Search(proposer, dispatcher, budget, hooks, known, evaluator.canonical)
            try:
                search.run()
            finally:
                result = self._end(search.finished(), search.duplicates)
        return result

    def enumerate(self) -> StudyResult:
        """Evaluate every design."""
        study = self._study
        known = self._known()
        rows = {trial.number: trial for trial in known}
        designs = (
            Task(number=number, design=design)
            for number, design in enumerate(study.space.designs())
            if number not in rows
        )
        with self._dispatcher() as dispatcher:
            self._open(known)
            self._watcher.started(study, len(rows), study.space.counts.searched)
            try:
                for trial in self._evaluated(dispatcher, designs):
                    rows[trial.number] = trial
                    self._finished(trial)
                    self._watcher.folded(trial, 0)
            finally:
                result = self._end([rows[number] for number in sorted(rows)], 0)
        return result

    def _evaluated(self, dispatcher: Dispatcher, tasks: Iterator[Task]) -> Iterator[Trial]:
        under_way: dict[int, Task] = {}
        while True:
            room = _ENUMERATE_AHEAD - len(under_way)
            more = [] if self._watcher.stopping() else list(islice(tasks, room))
            under_way |= {task.number: task for task in more}
            dispatcher.submit(more)
            if not under_way:
                return
            for answer in dispatcher.finished(0.25):
                task = under_way.pop(answer.number)
                yield Trial(
                    number=task.number,
                    design=task.design,
                    evaluation=answer.evaluation,
                    worker=answer.worker,
                )

    def _known(self) -> list[Trial]:
        if self._folder is None:
            return []
        return self._folder.known_trials(self._study, resume=self._resume)

    def _open(self, known: list[Trial]) -> None:
        """Start to write, once the workers have started."""
        if self._folder is not None:
            self._folder.open(self._study, known)

    def _dispatcher(self) -> Dispatcher:
        execution = self._study.file.execution
        crew = start_crew(
            execution.executor,
            self._study.evaluator_input,
            workers=execution.workers or 1,
            address=execution.address,
        )
        return Dispatcher(crew, timeout_s=execution.timeout_s)

    def _finished(self, trial: Trial) -> None:
        if self._folder is not None:
            self._folder.add(trial)

    def _folded(self, trial: Trial, duplicates: int) -> None:
        if trial.repeats is not None:
            self._finished(trial)
        self._watcher.folded(trial, duplicates)

    def _end(self, rows: list[Trial], duplicates: int) -> StudyResult:
        """Front, summary and files, whatever has been done so far."""
        quality = study_front(self._study, rows)
        wall_s = time.monotonic() - self._start_s
        summary = study_summary(self._study, rows, quality, duplicates=duplicates, wall_s=wall_s)
        result = StudyResult(
            study=self._study,
            rows=rows,
            front=quality.front,
            summary=summary,
            folder=None if self._folder is None else self._folder.path,
        )
        if self._folder is not None:
            self._folder.close()
            self._folder.write_tables(result.trials, quality.front, summary)
            self._folder.write_text(REPORT, report_page(result))
        return result


def _with_workers(study: Study) -> Study:
    """The study with its number of workers filled in."""
    execution = study.file.execution
    if execution.executor == "serial":
        workers = 1
    else:
        workers = execution.workers or len(os.sched_getaffinity(0))
    filled = execution.model_copy(update={"workers": workers})
    return replace(study, file=study.file.model_copy(update={"execution": filled}))
