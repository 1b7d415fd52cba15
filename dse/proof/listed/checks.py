"""Rules for proofs over a list, seen before any evaluator is made."""

from dse.objectives import OBJECTIVES, Objective, Sense
from dse.study.compile import Study
from simcore import ConfigError

MOST = 1 << 22
"""Designs that are listed at most: 16 to 40 bytes each while they are."""


def is_listed(study: Study) -> bool:
    """True if proofs about *study* are made over a list of its designs."""
    return bool(study.evaluator.bests) and not study.evaluator.has_bounds


def check_listed(study: Study) -> None:
    """See whether the designs of *study* can be listed, and its objectives are known at best.

    Raises:
        ConfigError: They cannot, or one is not.
    """
    if study.space.continuous:
        knob = study.space.continuous[0].name
        rule = "a gap of this evaluator needs a ladder in place of a range"
        raise ConfigError(f"space.axes.{knob}", rule, got=knob)
    if study.space.counts.searched > MOST:
        rule = f"a gap of this evaluator is proven of at most {MOST:,} designs: narrow the space"
        raise ConfigError("space", rule, got=f"{study.space.counts.searched:,}")
    for name, sense in study.goals.objectives.items():
        if rule := unknown_at_best(study, OBJECTIVES[name], sense):
            raise ConfigError(f"objectives.{name}", rule, got=sense)


def unknown_at_best(study: Study, objective: Objective, sense: Sense) -> str:
    """Rule that an objective breaks whose metrics are not known at best; empty: they are."""
    bests = study.evaluator.bests
    for metric in objective.metrics:
        if metric not in bests:
            known = ", ".join(sorted(bests))
            return f"a gap of this evaluator is proven of what it knows at best: {known}"
        if bests[metric] not in (None, sense):
            return f"a gap is proven where {metric} is {bests[metric]}d, which is known at best"
    return ""
