"""Designs that are known beforehand, evaluated one and all."""

from collections.abc import Callable, Iterator
from itertools import islice

from dse.evaluate import Task
from dse.run.terms import WAIT_S, Evaluations
from dse.study.trials import Trial


def each_evaluated(
    evaluations: Evaluations,
    tasks: Iterator[Task],
    ahead: int,
    stopping: Callable[[], bool],
    provenance: int = 0,
) -> Iterator[Trial]:
    """The outcomes of *tasks* as they come in, at most *ahead* of them under way."""
    under_way: dict[int, Task] = {}
    while True:
        room = ahead - len(under_way)
        more = [] if stopping() else list(islice(tasks, room))
        under_way |= {task.number: task for task in more}
        evaluations.submit(more)
        if not under_way:
            return
        for answer in evaluations.finished(WAIT_S):
            task = under_way.pop(answer.number)
            yield Trial(
                number=task.number,
                design=task.design,
                evaluation=answer.evaluation,
                worker=answer.worker,
                provenance=provenance,
            )
