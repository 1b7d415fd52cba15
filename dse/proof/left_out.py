"""Studies whose bounds know computing alone, so that their gaps stay wide."""

from collections import Counter
from functools import lru_cache

import numpy as np

from dse.evaluate.designs.runs import DesignRuns
from dse.proof.designs import why_unproven
from dse.proof.listed.checks import is_listed
from dse.proof.one_scenario import in_scenario
from dse.study.compile import Study
from simcore import SimcoreError

LOOKED_AT = 64
"""Designs that are looked at: kinds that one in twenty is of are missed in one study of 27."""


@lru_cache(maxsize=4)
def why_wide(study: Study) -> str:
    """Sentence on why the gap that *study* asks for will stay wide; empty: it need not.

    Some designs are drawn, and told is of how many the bounds count no communication, at the first
    fidelity of the study. Nothing is told where no gap can be proven.
    """
    if not study.file.search.asks_gap or is_listed(study) or why_unproven(study):
        return ""
    if study.levels:
        study = study.judged_at(study.levels[0])
    scenarios = [in_scenario(study, one) for one in study.evaluator_input.scenarios]
    found, looked_at = Counter[str](), 0
    for one in scenarios or [study]:
        looked_at += _look(one, found)
    if not found:
        return ""
    share = found.total() / looked_at
    whose = "all designs" if share == 1 else f"some {share:.0%} of the designs"
    return (
        f"bounds know computing alone of {whose} ({', '.join(sorted(found))}): what communication "
        "takes is in none of them, so that the gap stays wide unless every design is evaluated"
    )


def gap_note(study: Study) -> dict[str, str]:
    """Entry ``gap_stays_wide`` of a summary; none where there is nothing to say."""
    why = why_wide(study)
    return {"gap_stays_wide": why} if why else {}


def _look(study: Study, found: Counter[str]) -> int:
    """Count in *found* why bounds of some designs know no more; the number of these designs."""
    # both load a compiler, which a check of a study without such bounds does without
    from dse.samplers.design import GenomeSpace
    from simcore import why_computing_alone

    runs, looked_at = DesignRuns(study.evaluator_input), 0
    space = GenomeSpace(study.space)
    for genome in space.draw_many(LOOKED_AT, np.random.default_rng(0)).each():
        try:
            run = runs.run(space.design(genome))
        except SimcoreError:
            continue  # it cannot be built
        looked_at += 1
        if reason := why_computing_alone(run):
            found[reason] += 1
    return looked_at
