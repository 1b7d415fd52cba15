"""Draws how fast samplers come near fronts that are known: medians and quartiles over seeds.

    python benchmarks/search/curves.py [--problems stand_in p5] [--seeds 5] [--trials 1000]
        [--slow-trials 300] [--out docs/images]

Two pictures per problem, ``search_PROBLEM_MEASURE.svg``: the share of hypervolume missing, and
regret (by how much the fastest design found is slower than the fastest there is), each over
proposals and over the CPU seconds of proposing and learning. TPE, which needs far more time the
more it knows, gets fewer trials.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from compare import Log, run_sampler
from numpy.typing import NDArray
from problems import PROBLEMS, Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from chart import Panel, Points, svg

SAMPLERS = ("design", "tpe", "nsga2", "random")
SLOW = ("tpe",)
MARKS = (10, 20, 50, 100, 150, 200, 300, 400, 600, 800, 1000, 1500, 2000, 3000)
WINDOW = 8

Values = NDArray[np.float64]
Measure = Callable[[Values], float]


def at_marks(run: Log, measure: Measure, worst: float) -> list[float]:
    """*measure* of all that *run* had found at each mark; *worst* while it had found nothing."""
    found = [run.steps[mark - 1][0] for mark in MARKS if mark <= len(run.steps)]
    return [measure(np.array(run.values[:count])) if count else worst for count in found]


def cpu_s(runs: Sequence[Log]) -> list[float]:
    """Median CPU seconds at each mark."""
    marks = [mark for mark in MARKS if mark <= len(runs[0].steps)]
    return [float(np.median([run.steps[mark - 1][1] for run in runs])) for mark in marks]


def panels(runs: dict[str, list[Log]], title: str, measure: Measure, worst: float) -> list[Panel]:
    """*measure* over proposals, and over CPU seconds."""
    quartiles = {
        name: np.quantile([at_marks(log, measure, worst) for log in logs], (0.25, 0.5, 0.75), 0)
        for name, logs in runs.items()
    }
    scales = {
        "proposals": dict.fromkeys(runs, MARKS),
        "CPU s of proposing and learning": {name: cpu_s(logs) for name, logs in runs.items()},
    }
    made = []
    for label, places in scales.items():
        edges: dict[str, list[Points]] = {
            name: [list(zip(places[name], row.tolist(), strict=False)) for row in rows]
            for name, rows in quartiles.items()
        }
        lines = {name: middle for name, (_, middle, _) in edges.items()}
        bands = {name: (low, high) for name, (low, _, high) in edges.items()}
        texts = {"title": title, "x_label": label, "y_label": title}
        made.append(Panel(**texts, lines=lines, bands=bands, linear=True))
    return made


def pictures(problem: Problem, seeds: int, trials: dict[str, int]) -> dict[str, str]:
    """SVG of both measures by name."""
    fastest_s = problem.fastest_s
    assert fastest_s is not None, "the fastest design must be known"
    runs = {
        name: [run_sampler(problem, name, seed, trials[name], WINDOW) for seed in range(seeds)]
        for name in SAMPLERS
    }

    def regret(values: Values) -> float:
        return min(float(values[:, 0].min()) / fastest_s - 1.0, 1.0)

    def missing(values: Values) -> float:
        return max(1.0 - problem.score(values), 0.0)

    return {
        "hypervolume": svg(panels(runs, "share of hypervolume missing", missing, 1.0)),
        "regret": svg(panels(runs, "time / least time - 1 (at most 1)", regret, 1.0)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=["stand_in", "p5"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--slow-trials", type=int, default=300)
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    trials = {name: given.slow_trials if name in SLOW else given.trials for name in SAMPLERS}
    for name in given.problems:
        for measure, drawn in pictures(PROBLEMS[name](), given.seeds, trials).items():
            file = given.out / f"search_{name}_{measure}.svg"
            file.write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
