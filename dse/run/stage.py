"""Workers of one run of a study, and what goes with them."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from dse.evaluate import Crew, Dispatcher, EvaluatorInput, Limits
from dse.run.islands.host import IslandInput
from dse.run.islands.rounds import Rounds
from dse.run.terms import Evaluations
from dse.space import Design
from dse.study.compile import Study
from dse.study.trials import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Means that a run begins with.

    Attributes:
        evaluations: Where designs are judged at the first level.
        workers: Closes when they are not needed any more.
        crew: The workers.
        dispatcher: What sends designs to them.
        known: The trials that the folder holds.
        first_of_end: Number of the first proposal of the end, where the folder tells it.
    """

    evaluations: Evaluations
    workers: ExitStack
    crew: Crew
    dispatcher: Dispatcher
    known: Sequence[Trial] = ()
    first_of_end: int | None = None


def limits_of(study: Study) -> Limits:
    """Limits of one evaluation."""
    execution = study.file.execution
    return Limits(timeout_s=execution.timeout_s, memory_bytes=execution.memory_bytes)


def made_of(
    study: Study,
    rounds: Rounds | None,
    starts: Sequence[Design],
    lessons: Sequence[Design],
    cache: str | None,
) -> EvaluatorInput | IslandInput:
    """Input of the workers of *study*, which are islands where there are *rounds*."""
    if rounds is None:
        return study.evaluator_input
    return IslandInput(
        study=study,
        evaluator=study.evaluator_input,
        rounds=rounds,
        starts=starts,
        lessons=lessons,
        cache=cache or "",
    )


def with_workers(study: Study, workers: int) -> Study:
    """The study with its number of workers filled in, as far as there are any yet."""
    wanted = study.file.execution.workers
    filled = study.file.execution.model_copy(update={"workers": workers or wanted})
    return replace(study, file=study.file.model_copy(update={"execution": filled}))
