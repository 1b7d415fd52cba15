"""Time that a study will take, from its first second."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from dse.evaluate.own.evaluator import OwnEvaluator
from dse.run.runner import Runner
from dse.run.watcher import Unwatched
from dse.study.compile import Study
from dse.study.trials import Trial
from simcore import SimcoreError, files_kept, plain_sum

LOOK_S = 1.0
"""CPU time for which a study is tried out, once everything is loaded."""

_WARM, _LEAST, _PARTS = 2, 8, 4
"""Proposals that load and compile, the least that tell something, and parts that are compared."""


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
    """

    proposals: int
    proposal_s: float
    evaluation_s: float
    low: float
    high: float
    workers: int
    trials: int

    @property
    def total_s(self) -> float:
        """Time of all proposals: the driver is one process, evaluations are spread."""
        driver_s = self.proposal_s - self.evaluation_s
        return self.trials * max(driver_s, self.proposal_s / self.workers)

    def __str__(self) -> str:
        whole_ms, part_ms = 1e3 * self.proposal_s, 1e3 * self.evaluation_s
        low, high = (_told(self.total_s * factor) for factor in (self.low, self.high))
        each = f"{whole_ms:.3g} ms per proposal, {part_ms:.3g} ms of it evaluating"
        some = f"{self.trials:,} trials in {low} to {high}"
        cores = f"{self.workers} core{'s' if self.workers > 1 else ''}"
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

    Its own sampler proposes, with its screening and its seed; nothing is kept.
    """
    file = study.file
    outside = file.metrics or issubclass(study.evaluator, OwnEvaluator)
    clock = _Clock(time.perf_counter if outside else time.process_time)
    execution = file.execution.model_copy(update={"executor": "serial", "cache": None})
    tried = replace(study, file=file.model_copy(update={"execution": execution}), levels=())
    try:
        with files_kept(study.files):
            Runner(tried, out=None, resume=False, watcher=clock).search(None)
    except SimcoreError:  # the study will tell
        return None
    steps = [b - a for a, b in zip(clock.ends_s[_WARM - 1 :], clock.ends_s[_WARM:], strict=False)]
    if len(steps) < _LEAST:
        return None
    mean_s = plain_sum(steps) / len(steps)
    size = len(steps) // _PARTS
    parts = [steps[at * size : (at + 1) * size] for at in range(_PARTS)]
    shares = [plain_sum(part) / len(part) / mean_s for part in parts]
    designs = study.space.counts
    most = file.search.most_trials
    return Estimate(
        proposals=len(steps),
        proposal_s=mean_s,
        evaluation_s=clock.share * mean_s,
        low=min(shares),
        high=max(shares),
        workers=_workers(study),
        trials=most if designs.continuous else min(most, designs.searched),
    )


def _workers(study: Study) -> int:
    execution = study.file.execution
    return (
        1 if execution.executor == "serial" else execution.workers or len(os.sched_getaffinity(0))
    )


def _told(time_s: float) -> str:
    """A time in words."""
    for unit, size_s in (("h", 3600.0), ("min", 60.0)):
        if time_s >= 2 * size_s:
            return f"{time_s / size_s:.3g} {unit}"
    return f"{time_s:.2g} s"
