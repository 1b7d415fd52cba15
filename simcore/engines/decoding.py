"""Steps of inference as its users meet them: one after the other, and per token."""

from collections import Counter
from dataclasses import replace

import numpy as np

from simcore.engines.iteration import Iteration, IterationRunner
from simcore.engines.limits.counted_time import MAX_NS, SlowField, too_long
from simcore.engines.stages.accounts import WorkTotals
from simcore.units import plain_sum
from simcore.workload import ParallelPlan, Workload, microbatches
from simcore.workload.kinds import InferenceWorkload


def run_step(runner: IterationRunner, workload: InferenceWorkload, plan: ParallelPlan) -> Iteration:
    """One step, or the mean time per token where a step brings sequences forward by several.

    Raises:
        InfeasibleError: See ``IterationRunner.run``; a step with its guesses is too long.
        SimulationError: Likewise.
    """
    step = run_steady(runner, workload, plan) if workload.steady else runner.run(workload, plan)
    if workload.speculation is None:
        return step
    parts = [step]
    if beside := workload.beside(plan):
        draft = runner.run(*beside)
        parts += [draft] * workload.speculation.tokens
    gained = workload.gained_tokens
    whole_ns = sum([_last(part) for part in parts])
    if whole_ns >= MAX_NS:
        tokens = SlowField("workload.speculation.tokens", str(len(parts) - 1), "smaller")
        raise too_long(tokens, "a step takes", whole_ns * 1e-9)
    whole_s = whole_ns * 1e-9
    note = (
        f"a step takes {whole_s:.3g} s with the guessing of {workload.speculation.tokens} tokens "
        f"and adds {gained:.3g} tokens to each answer; all times are per token"
    )
    return _per_token(parts, gained, note)


def run_steady(runner: IterationRunner, workload: Workload, plan: ParallelPlan) -> Iteration:
    """A step where each micro-batch starts the next one as soon as it has ended the last.

    With m micro-batches the steps are m times as far apart as the slowest stage needs for one, or
    as long as one micro-batch is on its way through all stages, whichever is more. The way of the
    new tokens from the last stage to the first is left out.
    """
    some, more = _filled(runner, workload, plan)
    alone = runner.run(_of_batches(workload, plan, 1), plan)
    apart_ns = max(_last(alone), _last(more) - _last(some))
    booked = more.booked_ns - some.booked_ns
    booked[:, -1] = apart_ns - booked[:, :-1].sum(axis=1)
    return replace(
        runner.run(workload, plan),
        finish_ns=np.full_like(more.finish_ns, apart_ns),
        booked_ns=booked,
        nodes=None,
    )


def pace_s(runner: IterationRunner, workload: Workload, plan: ParallelPlan) -> float:
    """Spacing of steps that do not wait for each other's results."""
    some, more = _filled(runner, workload, plan)
    return (_last(more) - _last(some)) * 1e-9


def _filled(
    runner: IterationRunner, workload: Workload, plan: ParallelPlan
) -> tuple[Iteration, Iteration]:
    """Two runs that fill the pipeline, the second one longer by the micro-batches of a step."""
    batches = microbatches(workload, plan)
    fewer = max(batches, plan.pp)
    some = runner.run(_of_batches(workload, plan, fewer), plan)
    return some, runner.run(_of_batches(workload, plan, fewer + batches), plan)


def _last(iteration: Iteration) -> int:
    return int(iteration.finish_ns.max())


def _of_batches(workload: Workload, plan: ParallelPlan, batches: int) -> Workload:
    """Copy with another number of micro-batches, each as large."""
    return workload.with_batch(batches * plan.dp * plan.micro_batch)


def _per_token(parts: list[Iteration], gained: float, note: str) -> Iteration:
    """All *parts* one after the other, divided by the tokens that they add to an answer."""
    first = parts[0]
    names = tuple(dict.fromkeys([name for part in parts for name in part.categories]))
    booked = np.zeros((first.finish_ns.size, len(names) + 1))
    for part, times in Counter(parts).items():
        columns = [*(names.index(name) for name in part.categories), -1]
        booked[:, columns] += part.booked_ns * times
    finish_ns = np.ceil(np.sum([part.finish_ns for part in parts], axis=0) / gained)
    booked = np.floor(booked / gained)
    booked[:, -1] = finish_ns.max() - booked[:, :-1].sum(axis=1)
    return replace(
        first,
        categories=names,
        finish_ns=finish_ns.astype(np.int64),
        booked_ns=booked.astype(np.int64),
        work=_added_up([part.work for part in parts], gained),
        events=sum(part.events for part in parts),
        notes=(*first.notes, note),
        nodes=None,
    )


def _added_up(works: list[WorkTotals], gained: float) -> WorkTotals:
    return WorkTotals(
        nodes=sum(work.nodes for work in works),
        matrix_flop=plain_sum(work.matrix_flop for work in works) / gained,
        sent_bytes=np.sum([work.sent_bytes for work in works], axis=0) / gained,
        link_bytes=np.sum([work.link_bytes for work in works], axis=0) / gained,
        held_ns=sum(work.held_ns for work in works),
    )
