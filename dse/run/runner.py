"""One run of one study: workers, store, search, proof and what is written at the end."""

import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from dse.evaluate import (
    Dispatcher,
    Evaluator,
    Task,
    build_evaluator,
    ray_kept_up,
    start_crew,
)
from dse.fidelity.compare import front_fidelity
from dse.proof.screening import StudyScreen
from dse.provenance import Provenance, next_number, provenance_summary
from dse.reasons.waits import reasons_summary
from dse.results.baseline import baseline_summary
from dse.results.convergence import convergence_summary
from dse.results.result import StudyResult
from dse.results.summary import study_front, study_summary
from dse.run.asked import takes_all
from dse.run.cache import CachedEvaluations, EvaluationCache, can_be_cached
from dse.run.gap import StudyProof, finest_proof, gap_summary, study_proof, with_proof
from dse.run.islands.rounds import Rounds
from dse.run.islands.search import IslandSearch, Means, island_rounds
from dse.run.learned import Learned, learned_designs
from dse.run.proposing import study_proposer
from dse.run.refine import RefineHooks, Refinement, each_evaluated
from dse.run.search import Search
from dse.run.stage import Stage, limits_of, made_of, with_workers
from dse.run.start import starting_designs
from dse.run.terms import Budget, Evaluations, Hooks, Lessons
from dse.run.watcher import Listeners, Unwatched, Watcher, metered, tell_waiting
from dse.samplers.base import Proposer
from dse.space import Design
from dse.store.errors import StoreError
from dse.store.folder import MAX_ROWS, REPORT, StudyFolder
from dse.store.live import LiveStorage
from dse.store.packed import ManyRows
from dse.study.compile import Study
from dse.study.trials import Trial

_ENUMERATE_AHEAD = 4096


class Runner:
    """One run of one study."""

    def __init__(
        self,
        study: Study,
        *,
        out: Path | str | None,
        resume: bool,
        watcher: Watcher | None,
        retry_failed: bool = False,
        accept_changes: bool = False,
    ) -> None:
        self._study = study
        self._folder = StudyFolder(Path(out)) if out is not None else None
        self._resume, self._retries, self._accepts = resume, retry_failed, accept_changes
        self._watcher, self._meter = metered(study, out, watcher or Unwatched())
        self._most_workers = study.file.execution.workers
        self._listeners = Listeners(study, self._watcher, self._finished)
        self._proof: StudyProof | None = None
        self._refinement: Refinement | None = None
        self._is_whole, self._kept = False, MAX_ROWS
        self._starts, self._learned, self._lessons = list[Design](), Learned(), Lessons()
        self._provenances: list[Provenance] = []
        self._evaluator: Evaluator | None = None
        self._start_s = time.monotonic()

    def search(self, timeout_s: float | None) -> StudyResult:
        """Propose, evaluate and tell until the budget is spent."""
        study, file = self._study, self._study.file
        evaluator = self._evaluator = build_evaluator(study.evaluator_input)
        screen, self._storage = StudyScreen(study, evaluator), LiveStorage(study)
        proposer = self._proposer(evaluator, screen)
        counts = study.space.counts
        budget = Budget(
            trials=file.search.most_trials,
            window=file.search.window,
            in_lessons=proposer.in_lessons,
            repeats=file.search.repeats,
            designs=None if counts.continuous else counts.searched,
            until_s=None if timeout_s is None else self._start_s + timeout_s,
            starts=len(self._starts),
            signs=study.goals.signs_by_name if file.search.is_open else {},
            lessons=self._lessons,
        )
        rounds = island_rounds(study, proposer)
        with self._stage(budget.rows, rounds) as stage:
            hooks = self._hooks()
            search: Search | IslandSearch
            search = Search(proposer, stage.evaluations, budget, hooks, stage.known, screen)
            self._storage.rows = search.trials
            if rounds is not None:
                means = self._means(stage, proposer, screen)
                search = IslandSearch(search, rounds, budget, hooks, stage.known, means)
            self._searching = search

            def run() -> None:
                search.run()
                self._is_whole = search.is_whole
                self._refine(search.finished(), stage)

            return self._ended(run, lambda: (search.finished(), search.duplicates))

    def _proposer(self, evaluator: Evaluator, screen: StudyScreen) -> Proposer[Any]:
        """The sampler; beside it a proof, if the study asks for a gap."""
        study = self._study
        self._proof = study_proof(study, evaluator, lambda: self._searching.trials)
        self._listeners.proof = self._proof
        proposer = study_proposer(
            study,
            evaluator,
            screen,
            trials=study.file.search.exhausted if self._proof is None else None,
            storage=self._storage,
        )
        self._learned = learned_designs(study)
        self._starts, lessons = starting_designs(study), self._learned.designs
        is_whole = proposer.is_complete and takes_all(study)  # all are found in any case
        self._lessons = Lessons(() if is_whole else lessons, study.goals.signs_by_name)
        for design in (*self._starts, *(lessons if is_whole else ())):
            proposer.enqueue(design)
        return with_proof(study, self._proof, proposer)

    def enumerate(self) -> StudyResult:
        """Evaluate every design."""
        study = self._study
        with self._stage(study.space.counts.searched) as stage:
            rows = {trial.number: trial for trial in stage.known}
            designs = (
                Task(number=number, design=design)
                for number, design in enumerate(study.space.designs())
                if number not in rows
            )

            def run() -> None:
                given = (stage.evaluations, designs, self._watcher.stopping, self._is_deserted)
                for trial in each_evaluated(*given, lambda: _ENUMERATE_AHEAD, self._provenance):
                    rows[trial.number] = trial
                    self._finished(trial)
                    self._listeners.folded(trial, 0)
                self._is_whole = len(rows) == study.space.counts.searched
                self._refine(in_order(), stage)

            def in_order() -> list[Trial]:
                return [rows[number] for number in sorted(rows)]

            return self._ended(run, lambda: (in_order(), 0))

    def _refine(self, rows: Sequence[Trial], stage: Stage) -> None:
        """Judge the best designs again, once the workers of the first level have gone."""
        if len(self._study.levels) < 2:
            return
        stage.workers.close()
        self._note_last()
        refined = [] if self._folder is None else self._folder.read_refined(self._study)
        if self._retries:
            refined = [row for row in refined if row.state != "failed"]

        def finished(trial: Trial) -> None:
            if self._folder is not None:
                self._folder.writer.add_refined(trial)
            self._watcher.folded(trial, 0)

        def dropped(trial: Trial) -> None:
            if self._folder is not None:
                self._folder.writer.forget_refined(trial)

        hooks = RefineHooks(
            workers=self._workers,
            judging=lambda study, total: self._watcher.started(study, 0, total),
            finished=finished,
            dropped=dropped,
            proving=lambda: finest_proof(self._study),
            stopping=self._watcher.stopping,
            pausing=self._is_deserted,
            provenance=self._provenance,
        )
        self._refinement = Refinement(self._study, refined, hooks)
        self._refinement.run(rows)

    @contextmanager
    def _stage(self, total: int, rounds: Rounds | None = None) -> Iterator[Stage]:
        """Workers that are up, a folder that is open, and the trials that it holds."""
        with ExitStack() as held, ExitStack() as workers:
            known = self._known(held)
            held.enter_context(ray_kept_up())
            first = self._folder.first_of_end(self._study) if self._folder and known else None
            found = self._started(self._study, workers, rounds)
            self._study = with_workers(self._study, found.crew.workers)
            self._open()
            self._watcher.started(self._study, len(known), total)
            yield replace(found, known=known, first_of_end=first)

    @contextmanager
    def _workers(self, study: Study) -> Iterator[Stage]:
        """Workers for designs at a finer level."""
        with ExitStack() as stack:
            yield self._started(study, stack)

    def _started(self, study: Study, stack: ExitStack, rounds: Rounds | None = None) -> Stage:
        """Evaluations of *study*, open until *stack* closes, and their workers."""
        execution, limits = study.file.execution, limits_of(study)
        folder = execution.cache if can_be_cached(study) else None
        crew = start_crew(
            execution.executor,
            made_of(study, rounds, self._starts, self._lessons.designs, folder),
            workers=self._most_workers,
            address=execution.address,
            limits=limits,
            meter=self._meter,
        )
        dispatcher = stack.enter_context(
            Dispatcher(crew, limits=limits, waiting=self._waiting, happened=self._happened)
        )
        evaluations: Evaluations = dispatcher
        self._dispatcher = dispatcher
        if folder is not None:
            cache = EvaluationCache(Path(folder).expanduser(), study)
            stack.callback(cache.close)
            evaluations = CachedEvaluations(dispatcher, cache)
        return Stage(evaluations=evaluations, workers=stack, crew=crew, dispatcher=dispatcher)

    def _hooks(self) -> Hooks:
        return Hooks(
            finished=self._finished,
            folded=self._listeners.folded,
            stopping=self._watcher.stopping,
            pausing=self._is_deserted,
            ending=self._ending,
            filed=self._filed,
            dropped=self._dropped,
            all_folded=self._listeners.all_folded,
            provenance=self._provenance,
        )

    def _means(self, stage: Stage, proposer: Proposer[Any], screen: StudyScreen) -> Means:
        """Means of a search by islands."""
        return Means(
            signs=self._study.goals.signs_by_name,
            trims=proposer.trims,
            crew=stage.crew,
            dispatcher=stage.dispatcher,
            limits=limits_of(self._study),
            waiting=self._waiting,
            happened=self._happened,
            forget=self._forget,
            take=screen.take,
            first_of_end=stage.first_of_end,
            proven=None if self._proof is None else self._proof.take,
        )

    def _forget(self, number: int) -> None:
        """Drop trials that do not count, from *number* on."""
        if self._folder is not None:
            self._folder.writer.forget_from(number)

    def _dropped(self, numbers: Sequence[int]) -> None:
        if self._folder is not None:
            self._folder.writer.forget(numbers)

    def _known(self, stack: ExitStack) -> list[Trial]:
        now = Provenance.of(self._study, self._starts, self._learned.digests)
        self._provenances = [now]
        if self._folder is None:
            return []
        stack.enter_context(self._folder)
        known = self._folder.known_trials(self._study, resume=self._resume)
        self._kept = self._folder.rows_to_keep(self._study)
        known = [trial for trial in known if trial.number < self._kept]
        before = self._folder.read_provenances(to_mend=True)
        number = next_number(before, now, accepts=self._accepts)
        self._provenances = [*before[:number], now]
        if self._retries:
            known = [trial for trial in known if trial.state != "failed"]
        return known

    @property
    def _provenance(self) -> int:
        """Number of that of what is evaluated now."""
        return len(self._provenances) - 1

    def _open(self) -> None:
        """Start to write, once the workers have started."""
        if self._folder is None:
            return
        self._folder.open(
            self._study, self._provenances[-1], number=self._provenance, keep=self._kept
        )
        self._listeners.provenance = self._provenance
        if self._retries:
            self._folder.writer.forget_failures()
        self._happened("started", f"process {os.getpid()} on {socket.gethostname()}")

    def _ending(self, first: int) -> None:
        """Note where the end began: a study that goes on with more trials goes on from there."""
        if self._folder is not None:
            self._folder.note_end(self._study, first)

    def _note_last(self) -> None:
        """Note that what settles the front follows the last proposal, where no end is noted."""
        if self._folder is not None and not self._folder.has_end(self._study):
            self._folder.note_end(self._study, self._study.file.search.most_trials)

    def _is_deserted(self) -> bool:
        """True if the study is to stop, and nobody evaluates what is under way."""
        return self._watcher.stopping() and self._dispatcher.is_deserted

    def _waiting(self) -> None:
        if self._folder is not None:
            self._folder.writer.flush_if_due()

    def _happened(self, kind: str, text: str) -> None:
        if kind == "waiting":
            tell_waiting(self._watcher, text)
        if self._folder is not None:
            self._folder.writer.event(kind, text, now=kind == "waiting")

    def _finished(self, trial: Trial) -> None:
        if self._folder is not None:
            self._folder.writer.add(trial)

    def _filed(self, rows: ManyRows) -> None:
        if self._folder is not None:
            self._folder.writer.add_many(rows)

    def _ended(
        self, run: Callable[[], None], state: Callable[[], tuple[list[Trial], int]]
    ) -> StudyResult:
        """Run, then write what there is, whatever ended it; a full disk ends that too."""
        try:
            run()
        except StoreError:
            raise
        except BaseException as error:
            self._happened("stopped", f"{type(error).__name__}: {error}")
            self._end(*state())
            raise
        return self._end(*state(), is_whole=True)

    def _end(self, rows: list[Trial], duplicates: int, *, is_whole: bool = False) -> StudyResult:
        """Front, summary and files, whatever has been done so far; *is_whole*: nothing broke."""
        if self._folder is not None:
            self._folder.close()
        if self._refinement is not None:
            rows = rows + self._refinement.rows
        elif self._folder is not None:
            rows = rows + self._folder.read_refined(self._study)
        quality = study_front(self._study, rows)
        wall_s = time.monotonic() - self._start_s
        summary = study_summary(self._study, rows, quality, duplicates=duplicates, wall_s=wall_s)
        finest = None if self._refinement is None else self._refinement.proof
        summary |= gap_summary(self._study, rows, self._proof, finest, is_whole=self._is_whole)
        summary |= convergence_summary(self._study, rows, summary)
        judging = self._judging(rows)
        if is_whole:
            summary |= baseline_summary(self._study, judging)
        front = [rows[at] for at in quality.front]
        summary |= provenance_summary(self._provenances, rows, front)
        result = StudyResult(
            study=self._study,
            rows=rows,
            front=quality.front,
            summary=summary,
            folder=None if self._folder is None else self._folder.path,
            provenances=self._provenances,
        )
        if is_whole:
            chosen = {one.trial for one in result.recommended}
            told = [row for row in front if row.number in chosen]
            summary |= reasons_summary(self._study.goals, judging, told)
        if self._folder is not None:
            summary |= result.choice_summary()
            self._folder.write_exports(self._folder.columns(self._study), rows, front, summary)
            from dse.report.page.page import report_page  # a check never gets here

            self._folder.write_text(REPORT, report_page(result))
        return result

    def _judging(self, rows: Sequence[Trial]) -> Evaluator:
        """The evaluator of the level that the front was judged at."""
        level, study = front_fidelity(self._study, rows), self._study
        if self._evaluator is None or level != next(iter(study.levels), ""):
            return build_evaluator((study.judged_at(level) if level else study).evaluator_input)
        return self._evaluator
