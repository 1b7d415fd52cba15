"""Problems that samplers are compared on: a space, a screen, an evaluation, a reference point."""

import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from dse.evaluate import Evaluation, build_evaluator
from dse.evaluate.base import evaluate
from dse.objectives import Goals, total_violation
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.rank.hypervolume import hypervolume
from dse.samplers.base import Outcome, Prices
from dse.space import Check, Design, RunFacts, Space, SpaceFile, build_space, design_key
from dse.study.compile import load_study_file

STAND_IN = Path(__file__).resolve().parents[3] / "shared" / "bench" / "search"
"""Folder of ``problem.py``, the closed form of 200 million designs whose front is known."""

ENUMERATED = Path(__file__).resolve().parents[2] / "tests" / "golden" / "enumerated"
VIT_OBJECTIVES = ("iteration_time", "capital_cost")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is searched, and how good a set of objective values is.

    Attributes:
        space: The designs.
        goals: Names and senses of the objectives, all minimised.
        checks: Rules that are known before a design is evaluated.
        prices: What is exact about the designs; None: nothing is.
        screen: Makes what knows, from trials so far, which designs are of no use; None: nothing.
        canonical: Stands for all designs with the same outcome.
        twin_knobs: Names of the knobs that this looks at, and of those that it changes.
        evaluate: Objectives by name; empty if the design is infeasible.
        outcome: What a study tells its sampler of a design; None: ``evaluate``, and no more.
        score: Of values, (N, M): hypervolume by that of the true front, or best product.
        score_name: What the score is.
        fastest_s: The least iteration time that there is; None: not known.
    """

    space: Space
    goals: Goals
    checks: Sequence[Check]
    canonical: Callable[[Design], Design]
    evaluate: Callable[[Design], Mapping[str, float]]
    score: Callable[[np.ndarray], float]
    score_name: str
    outcome: Callable[[Design], Outcome] | None = None
    prices: Prices | None = None
    screen: Callable[[], StudyScreen] | None = None
    fastest_s: float | None = None
    twin_knobs: frozenset[str] = frozenset()

    def admits(self, design: Design) -> bool:
        """True if *design* breaks none of the checks."""
        return all(check.holds(design) for check in self.checks)

    def told(self, design: Design) -> Outcome:
        """What a sampler learns of *design*."""
        if self.outcome is not None:
            return self.outcome(design)
        objectives = self.evaluate(design)
        return Outcome(objectives=objectives, violation=0.0 if objectives else 1.0)


def stand_in() -> Problem:
    """768 NPUs: parallelism, network and collectives by a closed form; 9 designs on its front."""
    sys.path.insert(0, str(STAND_IN))
    import problem

    file = SpaceFile.model_validate(
        {
            "products": [
                {"of": ["dp", "tp", "pp", "cp"], "equals": problem.N},
                {"of": ["d[*]"], "equals": problem.N},
            ],
            "axes": {
                "level[*]": {"ladder": list(range(1, 6))},
                "algorithm": {"choices": list(problem.ALGS)},
                "micro_batch": {"ladder": list(problem.MBS)},
                "recompute": {"choices": [False, True]},
            },
        }
    )
    _, reference, ideal, volume, _, _ = problem.truth()

    def outcome(design: Design) -> tuple[float, float, float]:
        sizes = [int(design[name]) for name in ("dp", "tp", "pp", "cp", "d[0]", "d[1]", "d[2]")]
        levels = [int(design[f"level[{slot}]"]) - 1 for slot in range(3)]
        algorithm = problem.ALGS.index(design["algorithm"])
        last = (int(design["micro_batch"]), int(design["recompute"]))
        time, cost, violation = problem.evaluate(*sizes, *levels, algorithm, *last)
        return float(time), float(cost), float(violation)

    def answer(design: Design) -> dict[str, float]:
        time, cost, violation = outcome(design)
        return {} if violation > 0 else {"iteration_time": time, "network_cost": cost}

    def canonical(design: Design) -> Design:
        """Where a dimension has one NPU its bandwidth does not count, but that of the last."""
        idle = [slot for slot in range(2) if design[f"d[{slot}]"] == 1]
        return design | {f"level[{slot}]": 1 for slot in idle}

    return Problem(
        space=build_space(file, RunFacts(dimensions=3, npus=problem.N, fixed={})),
        goals=Goals(objectives={"iteration_time": "minimise", "network_cost": "minimise"}),
        checks=[
            Check(
                holds=lambda design: outcome(design)[2] <= 0,
                deciding=frozenset(("dp", "tp", "pp", "cp", "micro_batch", "recompute")),
            )
        ],
        canonical=canonical,
        twin_knobs=frozenset(("d[0]", "d[1]", "level[0]", "level[1]")),
        evaluate=answer,
        score=lambda values: problem.hv2d(values, reference) / volume,
        score_name="hypervolume / that of the true front",
        fastest_s=float(ideal[0]),
    )


def vit() -> Problem:
    """ViT-22B on 64 NPUs by the simulator, whose exact front was found by enumeration."""
    with (ENUMERATED / "p5_vit22b_64_simulated.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["state"] == "complete"]
    every = np.array([[float(row[name]) for name in VIT_OBJECTIVES] for row in rows])
    reference = 1.1 * every.max(axis=0)
    volume = hypervolume(every, reference)
    problem = study("p5_vit22b_64_simulated.yaml", dict.fromkeys(VIT_OBJECTIVES, "minimise"))
    return replace(
        problem,
        score=lambda values: hypervolume(values, reference) / volume,
        score_name="hypervolume / that of the true front",
        fastest_s=float(every[:, 0].min()),
    )


def study(name: str, objectives: Mapping[str, str], **overrides: object) -> Problem:
    """A shipped study with those objectives; its score is the least product of their values."""
    changes = {"objectives": dict(objectives), "reference_point": None, **overrides}
    loaded = load_study_file(name, changes)
    evaluator = build_evaluator(loaded.evaluator_input)
    known: dict[str, Evaluation] = {}

    def found(design: Design) -> Evaluation:
        key = design_key(evaluator.canonical(design))
        if key not in known:
            known[key] = evaluate(evaluator, loaded.goals, design)
        return known[key]

    def answer(design: Design) -> Mapping[str, float]:
        own = found(design)
        return own.objectives if own.state == "complete" else {}

    def told(design: Design) -> Outcome:
        own = found(design)
        return Outcome(objectives=own.objectives, violation=total_violation(own.constraints))

    return Problem(
        space=loaded.space,
        goals=loaded.goals,
        checks=evaluator.checks(),
        canonical=evaluator.canonical,
        twin_knobs=evaluator.twin_knobs,
        prices=machine_prices(loaded),
        screen=lambda: StudyScreen(loaded, evaluator),
        evaluate=answer,
        outcome=told,
        score=lambda values: float(values.prod(axis=1).min()),
        score_name="least " + " x ".join(objectives),
    )


PROBLEMS: Mapping[str, Callable[[], Problem]] = {
    "stand_in": stand_in,
    "p5": vit,
    "p1_1024_cost": lambda: study("p1_cosmic_1024.yaml", {"time_network_cost": "minimise"}),
    "p1_1024_bandwidth": lambda: study("p1_cosmic_1024.yaml", {"time_bandwidth": "minimise"}),
    "p1_mem_cost": lambda: study("p1_cosmic_1024_mem.yaml", {"time_network_cost": "minimise"}),
    "p1_mem_bandwidth": lambda: study("p1_cosmic_1024_mem.yaml", {"time_bandwidth": "minimise"}),
    "p1_2048_cost": lambda: study("p1_cosmic_2048.yaml", {"time_network_cost": "minimise"}),
    "p1_2048_bandwidth": lambda: study("p1_cosmic_2048.yaml", {"time_bandwidth": "minimise"}),
}
