"""Closes the gap of a study, with nothing else beside it."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.objectives import OBJECTIVES
from dse.proof.prove import Proof
from dse.proof.provers import prover_of
from dse.proof.told_costs import ToldCosts
from dse.study.compile import Study
from simcore import ConfigError, SimulationError


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Effort after which to stop before the gap is closed.

    Attributes:
        simulations: Most designs to simulate.
        seconds: Most CPU seconds.
    """

    simulations: int = 1_000_000
    seconds: float = inf


def close_gap(
    study: Study,
    objectives: Sequence[str] = (),
    *,
    gap: float = 0.01,
    effort: Effort | None = None,
) -> Proof:
    """Find designs that no design beats by more than *gap* in all objectives.

    Of one objective that is the best value within a proven *gap*; of several, a front: for every
    design there is one found whose values times ``1 - gap`` are nowhere above it.

    Args:
        study: Its evaluator must know bounds, as the simulator does at any fidelity, or metrics at
            best, as that of services does.
        objectives: Names; those of the study if left out. Others are sought as is usual.
        gap: Share of the objectives' values; 0 for the exact answer.
        effort: When to give up; what is proven until then is told.

    Raises:
        ConfigError: Nothing is proven for an objective, a knob or the evaluator of the study, or
            the gap is no share.
        SimulationError: A simulation failed, or costs are not those that were told beforehand.
    """
    if not 0 <= gap < 1:
        raise ConfigError("gap", "must be a share of at least 0 and below 1", got=gap)
    names = tuple(objectives) or tuple(study.goals.objectives)
    known = study.goals.objectives
    senses = {name: known.get(name) or OBJECTIVES[name].sense for name in names}
    goals = replace(study.goals, objectives=senses)
    study, effort = replace(study, goals=goals), effort or Effort()
    begin_s, simulations = time.process_time(), 0
    evaluator = build_evaluator(study.evaluator_input)
    prover, told = prover_of(study, evaluator, gap), ToldCosts(study)
    while simulations < effort.simulations and time.process_time() - begin_s < effort.seconds:
        design = prover.ask()
        if design is None:
            if not prover.advance():
                break
            continue
        simulations += 1
        outcome = evaluate(evaluator, goals, design)
        if outcome.state == "failed":
            raise SimulationError(f"nothing can be proven while designs fail: {outcome.reason}")
        told.hold(design, outcome)
        prover.learn(design, outcome)
    return prover.proof()
