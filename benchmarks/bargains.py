"""Steps on ladders that designs of a front should have taken: none may be a bargain.

    python benchmarks/bargains.py [STUDY.yaml ...] [--trials N] [--seed S] [--fidelity LEVEL]

Runs shipped studies, by default all of them with their own number of trials, and takes one step on
one ladder of each design of the front, at the fidelity that the front was judged at. A step is left
over that betters an objective by 1 % or more and costs under 0.1 % of every other. ``--fidelity
phases_together`` judges at that level alone, which is faster. Exit code 1 if a step
that is left lowers a cost. The last line is one JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.fidelity.compare import front_fidelity
from dse.fidelity.promote import minimised
from dse.objectives import COST_METRICS, OBJECTIVES
from dse.rank.bargain import GAIN, beaten_at_a_bargain
from dse.results.result import StudyResult
from dse.samplers.design import GenomeSpace
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.trims import ladder_steps
from dse.space import Design
from dse.study.trials import Trial
from simcore import shipped_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Bargain:
    """A step that a design of a front should have taken.

    Attributes:
        trial: Number of the design.
        knob: What changes, from which value to which.
        changes: By objective, the part by which it changes; below 0: it gets better.
        in_cost: Whether a cost gets better by so much.
    """

    trial: int
    knob: str
    changes: dict[str, float]
    in_cost: bool


def bargains(result: StudyResult) -> Iterator[Bargain | None]:
    """Each step on a ladder of the front's designs: a bargain, or None."""
    study, level = result.study, front_fidelity(result.study, result.rows)
    judged = study.judged_at(level) if level in study.levels else study
    evaluator, space = build_evaluator(judged.evaluator_input), GenomeSpace(study.space)
    near = Neighbourhood(space)
    for row in (result.rows[at] for at in result.front):
        genome = space.genome(row.design)
        assert genome is not None, "front designs are designs of the space"
        for step in ladder_steps(near, genome, (-1, 1)):
            design = space.design(step.genome)
            if not evaluator.admits(design):
                continue
            found = evaluate(evaluator, judged.goals, design)
            if found.state == "complete":
                yield _bargain(result, row, Trial(number=-1, design=design, evaluation=found))


def _bargain(result: StudyResult, row: Trial, step: Trial) -> Bargain | None:
    here, there = minimised(result.study, [row]), minimised(result.study, [step])
    if not beaten_at_a_bargain(here, there)[0]:
        return None
    changes = ((there - here) / abs(here))[0].tolist()
    names = list(result.study.goals.objectives)
    costs = [bool(COST_METRICS & set(OBJECTIVES[name].metrics)) for name in names]
    return Bargain(
        trial=row.number,
        knob=_changed(row.design, step.design),
        changes=dict(zip(names, changes, strict=True)),
        in_cost=any(cost and part <= -GAIN for cost, part in zip(costs, changes, strict=True)),
    )


def _changed(before: Design, after: Design) -> str:
    names = [name for name in after if after[name] != before.get(name)]
    return ", ".join(f"{name}: {before.get(name)} -> {after[name]}" for name in names)


def of_study(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Figures of one study, printed as they come."""
    begin_s = time.process_time()
    result = dse.run_study(name, executor="serial", **options)
    search_s = time.process_time() - begin_s
    steps = list(bargains(result))
    left = [one for one in steps if one is not None]
    figures = {
        "trials": result.summary["proposals"],
        "front": len(result.front),
        "steps": len(steps),
        "bargains": len(left),
        "in_cost": sum(one.in_cost for one in left),
        "search_cpu_s": round(search_s, 1),
    }
    print(name, figures, flush=True)
    for one in left:
        told = ", ".join(f"{objective} {part:+.2%}" for objective, part in one.changes.items())
        print(f"  trial {one.trial}: {one.knob}: {told}", flush=True)
    return figures


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--fidelity")
    given = parser.parse_args()
    names = given.studies or sorted(path.name for path in shipped_folder("studies").glob("*.yaml"))
    options = {"trials": given.trials, "seed": given.seed}
    options |= {"fidelity": [given.fidelity]} if given.fidelity else {}
    found = {name: of_study(name, options) for name in names}
    print(json.dumps(found))
    sys.exit(any(figures["in_cost"] for figures in found.values()))


if __name__ == "__main__":
    main()
