"""How many random feasible designs one core evaluates per CPU second, on the full simulator.

    python benchmarks/evaluations.py [--designs 100] [STUDY ...]

Each design is another uniform draw of the study's space, from values to objectives, Python
included; the process is warm (kernels compiled), nothing is cached between designs. The last line
is one JSON object.
"""

import argparse
import json
import time
from collections import Counter

import numpy as np

from dse.config import Study, load_study_file
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.space import Design


def random_design(study: Study, random: np.random.Generator) -> Design:
    space = study.space
    counts = list(space.dimensions)
    weights = np.array(
        [np.prod([float(block.rows(count)) for block in space.blocks]) for count in counts]
    )
    dimensions = counts[int(random.choice(len(counts), p=weights / weights.sum()))]
    rows = [int(random.integers(block.rows(dimensions))) for block in space.blocks]
    return space.design(dimensions, rows)


def measure(name: str, designs: int, seed: int) -> dict[str, float | int | str]:
    study = load_study_file(name)
    evaluator = build_evaluator(study.evaluator_input)
    random = np.random.default_rng(seed)
    for _ in range(5):
        evaluate(evaluator, study.goals, random_design(study, random))
    feasible_s: list[float] = []
    states: Counter[str] = Counter()
    infeasible_s = 0.0
    while len(feasible_s) < designs:
        design = random_design(study, random)
        begin = time.process_time()
        outcome = evaluate(evaluator, study.goals, design)
        spent_s = time.process_time() - begin
        states[outcome.state] += 1
        if outcome.state == "complete":
            feasible_s.append(spent_s)
        else:
            infeasible_s += spent_s
    times = np.array(feasible_s)
    return {
        "study": name,
        "evaluations_per_cpu_s": round(float(designs / times.sum()), 1),
        "median_ms": round(float(np.median(times)) * 1e3, 2),
        "p95_ms": round(float(np.percentile(times, 95)) * 1e3, 2),
        "max_ms": round(float(times.max()) * 1e3, 2),
        "infeasible_ms": round(infeasible_s / max(states["infeasible"], 1) * 1e3, 3),
        "complete": states["complete"],
        "infeasible": states["infeasible"],
        "failed": states["failed"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("studies", nargs="*", default=["llm_gpt.yaml", "p1_cosmic_1024.yaml"])
    parser.add_argument("--designs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    results = []
    for name in arguments.studies:
        results.append(measure(name, arguments.designs, arguments.seed))
        print(results[-1])
    print(json.dumps({"benchmark": "evaluations", "results": results}))


if __name__ == "__main__":
    main()
