"""The mean iteration of replicas that train apart and average their weights now and then."""

from dataclasses import replace

import numpy as np

from simcore.engines.events.input import Ints
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.engines.stages.accounts import WorkTotals
from simcore.workload import ParallelPlan, Workload


def run_mean(runner: IterationRunner, workload: Workload, plan: ParallelPlan) -> Iteration:
    """One iteration, or the mean of those from one average of the weights to the next.

    Raises:
        InfeasibleError: See ``IterationRunner.run``.
        SimulationError: Likewise.
    """
    last = runner.run(workload, plan)
    if plan.updates.runs_beside:
        lag = plan.updates.lag
        note = f"weights lack the updates of {lag} iteration{'s' if lag > 1 else ''}"
        return replace(last, notes=(*last.notes, note))
    every = plan.updates.every
    if every <= 1:
        return last
    return _mean(runner.run(workload, plan.between_averages), last, every)


def _mean(plain: Iteration, last: Iteration, every: int) -> Iteration:
    """The mean of *every* - 1 *plain* iterations and one that ends with an average."""
    booked = np.zeros_like(last.booked_ns)
    for index, name in enumerate((*plain.categories, "idle")):
        at = -1 if name == "idle" else last.categories.index(name)
        booked[:, at] += plain.booked_ns[:, index]
    added_s = int(last.finish_ns.max() - plain.finish_ns.max()) * 1e-9
    note = (
        f"replicas average their weights in every {every}th iteration, which takes {added_s:.3g} s "
        "longer; all times are the mean"
    )
    return replace(
        last,
        finish_ns=_whole_mean(plain.finish_ns, last.finish_ns, every),
        booked_ns=_whole_mean(booked, last.booked_ns, every),
        work=_mean_work(plain.work, last.work, every),
        events=plain.events + last.events,
        notes=(*last.notes, note),
    )


def _mean_work(plain: WorkTotals, last: WorkTotals, every: int) -> WorkTotals:
    return replace(
        last,
        sent_bytes=(plain.sent_bytes * (every - 1) + last.sent_bytes) / every,
        link_bytes=(plain.link_bytes * (every - 1) + last.link_bytes) / every,
        held_ns=plain.held_ns + (last.held_ns - plain.held_ns) // every,
    )


def _whole_mean(plain: Ints, last: Ints, every: int) -> Ints:
    """The mean of *every* - 1 values *plain* and one *last*, rounded down, without their sum."""
    return plain + (last - plain) // every
