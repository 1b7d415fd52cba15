"""Errors of predictions like those of a study against measured runs."""

from collections import Counter
from collections.abc import Iterable

from dse.evaluate import Evaluator, build_evaluator
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


def front_accelerators(result: StudyResult) -> list[str]:
    """Accelerators of the front on which little or nothing was measured, with the trust in them."""
    evaluator = _evaluator(result)
    told = (evaluator.accelerator(result.rows[index].design) for index in result.front)
    return list(dict.fromkeys(filter(None, told)))


def design_band(result: StudyResult, design: Design) -> str:
    """Band from measured runs for one design."""
    return next(iter(_bands(result, [design])))


def _bands(result: StudyResult, designs: Iterable[Design]) -> Iterable[str]:
    return map(_evaluator(result).measured_against, designs)


def _evaluator(result: StudyResult) -> Evaluator:
    study = result.study
    level = front_fidelity(study, result.rows)
    return build_evaluator(study.judged_at(level).evaluator_input)
