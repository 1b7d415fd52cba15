"""Errors of predictions like those of a study against measured runs."""

from collections import Counter
from collections.abc import Iterable

from dse.evaluate import build_evaluator
from dse.fidelity.compare import front_fidelity
from dse.results.result import StudyResult
from dse.space import Design


def front_bands(result: StudyResult) -> list[str]:
    """Bands from measured runs for the designs of the front, the commonest answer first.

    Each answer is a sentence; where they differ, it starts with the number of its designs.
    """
    front = [result.rows[index].design for index in result.front]
    counts = Counter(_bands(result, front)).most_common()
    if len(counts) <= 1:
        return [band for band, _ in counts]
    return [f"{count} of {len(front)} designs: {band}" for band, count in counts]


def design_band(result: StudyResult, design: Design) -> str:
    """Band from measured runs for one design."""
    return next(iter(_bands(result, [design])))


def _bands(result: StudyResult, designs: Iterable[Design]) -> Iterable[str]:
    study = result.study
    level = front_fidelity(study, result.rows)
    evaluator = build_evaluator(study.judged_at(level).evaluator_input)
    return map(evaluator.measured_against, designs)
