"""Time that a study will take, from its first second."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

from dse.evaluate.own.evaluator import OwnEvaluator
from dse.run.ending import Ending
from dse.run.islands.tried import Tried, try_island
from dse.run.runner import Runner
from dse.run.watcher import Unwatched
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import SimcoreError, files_kept, plain_sum

LOOK_S = 1.0
"""CPU time for which a study is tried out, once everything is loaded."""

_WARM, _LEAST, _PARTS = 2, 8, 4
"""Proposals that load and compile, the least that tell something, and parts that are compared."""


_SHORT = 0.1
"""Part of the mean time of a proposal below which one has come with the one before it: outcomes
come in many at once, and the first of them is given the time of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Cost of the proposals of a study.

    Attributes:
        proposals: Those that were tried.
        proposal_s: CPU time of one, everything in; time where other processes evaluate it.
        evaluation_s: Part of it in evaluations, which workers share.
        low, high: Shortest and longest mean time of a part of the proposals, over that of all.
        workers: Processes at hand.
        trials: Proposals that the study may take.
        is_open: Whether it may end before them.
        islands: Searches that propose side by side.
        of_islands: Proposals that these make, before the end, which is one search's.
    """

    proposals: int
    proposal_s: float
    evaluation_s: float
    low: float
    high: float
    workers: int
    trials: int
    is_open: bool = False
    islands: int = 1
    of_islands: int = 0

    @property
    def total_s(self) -> float:
        """Time of all proposals: islands are spread over workers, of one search evaluations are."""
        driver_s = self.proposal_s - self.evaluation_s
        alone = self.trials - self.of_islands
        in_islands_s = self.of_islands * self.proposal_s / min(self.islands, self.workers)
        return in_islands_s + alone * max(driver_s, self.proposal_s / self.workers)

    def __str__(self) -> str:
        whole_ms, part_ms = 1e3 * self.proposal_s, 1e3 * self.evaluation_s
        low, high = (_told(self.total_s * factor) for factor in (self.low, self.high))
        each = f"{whole_ms:.3g} ms per proposal, {part_ms:.3g} ms of it evaluating"
        some = f"{self.trials:,} trials in {f'{low} to {high}' if low != high else low}"
        some = f"at most {some}" if self.is_open else some
        cores = f"{self.workers} core{'s' if self.workers > 1 else ''}"
        if self.of_islands:
            cores += f", {self.of_islands:,} of them by {self.islands} islands"
        return f"{each} ({self.proposals} tried); {some} on {cores}"


class _Clock(Unwatched):
    """Notes when each proposal was done, and stops after a while."""

    def __init__(self, now_s: Callable[[], float]) -> None:
        self._now_s = now_s
        self.ends_s: list[float] = []
        self.walls_s: list[float] = []
        self.evaluated_s: list[float] = []

    def folded(self, trial: Trial, duplicates: int) -> None:
        self.ends_s.append(self._now_s())
        self.walls_s.append(time.perf_counter())
        self.evaluated_s.append(trial.evaluation.duration_s)

    def stopping(self) -> bool:
        return len(self.ends_s) > _WARM and self._now_s() - self.ends_s[_WARM - 1] > LOOK_S

    @property
    def share(self) -> float:
        """Share of the time that went into evaluations."""
        return min(
            plain_sum(self.evaluated_s[_WARM:]) / (self.walls_s[-1] - self.walls_s[_WARM - 1]), 1
        )


def estimate(study: Study) -> Estimate | None:
    """Try the study out in this process for about a second; None: that tells nothing.

    Its own sampler proposes, with its screening and its seed; nothing is kept. Of islands the first
    one is tried.
    """
    file, designs = study.file, study.space.counts
    outside = file.metrics or issubclass(study.evaluator, OwnEvaluator)
    now_s = time.perf_counter if outside else time.process_time
    execution = file.execution.model_copy(update={"executor": "serial", "cache": None})
    tried = replace(study, file=file.model_copy(update={"execution": execution}), levels=())
    islands = 1 if _is_tried_whole(study) else file.search.islands
    try:
        with files_kept(study.files):
            found = try_island(tried, LOOK_S, now_s) if islands > 1 else _tried(tried, now_s)
    except SimcoreError:  # the study will tell
        return None
    steps_s = found.steps_s
    if len(steps_s) < _LEAST:
        return None
    mean_s = plain_sum(steps_s) / len(steps_s)
    size = len(steps_s) // _PARTS
    parts = [steps_s[at * size : (at + 1) * size] for at in range(_PARTS)]
    shares = [plain_sum(part) / len(part) / mean_s for part in parts]
    most = file.search.most_trials
    trials = most if designs.continuous else min(most, designs.searched)
    ending = Ending(trials=most, window=file.search.window, trims=found.trims)
    return Estimate(
        proposals=len(steps_s),
        proposal_s=mean_s,
        evaluation_s=found.evaluated * mean_s,
        low=min(shares),
        high=max(shares),
        workers=_workers(study),
        trials=trials,
        is_open=file.search.is_open or file.search.asks_gap,
        islands=islands,
        of_islands=min(ending.latest_first, trials) if islands > 1 else 0,
    )


def _is_tried_whole(study: Study) -> bool:
    """True if the trials suffice for all designs, which one search then takes in turn."""
    search, counts = study.file.search, study.space.counts
    if search.sampler != "design" or counts.continuous:
        return False
    return counts.searched <= search.exhausted


def _tried(study: Study, now_s: Callable[[], float]) -> Tried:
    """Proposals of one search, tried out."""
    one = study.file.search.model_copy(update={"islands": 1})
    study = replace(study, file=study.file.model_copy(update={"search": one}))
    clock = _Clock(now_s)
    Runner(study, out=None, resume=False, watcher=clock).search(None)
    ends_s = clock.ends_s[_WARM - 1 :]
    steps_s = [b - a for a, b in pairwise(ends_s)]
    return Tried(steps_s=_spread(steps_s), evaluated=clock.share if steps_s else 0.0)


def _spread(steps_s: list[float]) -> list[float]:
    """Times of proposals, of which those that came at once share theirs."""
    if not steps_s:
        return []
    least_s = _SHORT * plain_sum(steps_s) / len(steps_s)
    begins = [0, *(at for at, step_s in enumerate(steps_s) if at and step_s >= least_s)]
    groups = [steps_s[a:b] for a, b in zip(begins, [*begins[1:], len(steps_s)], strict=True)]
    return [plain_sum(group) / len(group) for group in groups for _ in group]


def _workers(study: Study) -> int:
    execution = study.file.execution
    return (
        1 if execution.executor == "serial" else execution.workers or len(os.sched_getaffinity(0))
    )


def _told(time_s: float) -> str:
    """A time in words."""
    for unit, size_s in (("h", 3600.0), ("min", 60.0)):
        if time_s >= 2 * size_s:
            return f"{_rounded(time_s / size_s)} {unit}"
    return f"{_rounded(time_s)} s"


def _rounded(value: float) -> str:
    """A number to two places or more, without an exponent where it is large."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
