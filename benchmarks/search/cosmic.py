"""Head to head with the agents of COSMIC on its own problems, evaluated by our simulator.

    python benchmarks/search/cosmic.py [--problems p1_1024_cost ...] [--seeds 10]
        [--agent-seeds 3] [--page docs/search.md]

Ours gets 1,000 proposals and its one setting. Every agent gets 10,000, rejected ones included, with
every setting that COSMIC swept; the table shows each agent's best setting, by its median over the
seeds, and the median of all its runs. Less is better.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from compare import run_agent, run_sampler
from problems import PROBLEMS, Problem

from dse.samplers.baselines import Agent, AntColony, Bayesian, GeneticAlgorithm, RandomWalk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

OURS, THEIRS = 1000, 10_000
TRACKS = ("p1_1024_cost", "p1_1024_bandwidth", "p1_2048_cost", "p1_2048_bandwidth")

Setting = Mapping[str, float]


def grid(**values: Sequence[float]) -> list[Setting]:
    """All combinations of *values*."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


AGENTS: Mapping[str, tuple[Callable[..., Agent], list[Setting]]] = {
    "random walk": (RandomWalk, [{}]),
    "genetic algorithm": (
        GeneticAlgorithm,
        grid(population=(32, 64), mutation=(0.01, 0.05)),
    ),
    "ant colony": (
        AntColony,
        grid(ants=(8, 16), greediness=(0.25, 0.5, 0.75), evaporation=(0.25, 0.5, 0.75)),
    ),
    "Bayesian": (Bayesian, [{}]),
}
"""Agents with the settings that were swept (COSMIC, arXiv 2505.15020)."""


def best_of(rows: list[tuple[int, float, int, float]]) -> float:
    """The score at the end of a run; nothing feasible counts as endless."""
    return float(np.nan_to_num(rows[-1][1], nan=np.inf))


def compared(name: str, problem: Problem, seeds: int, agent_seeds: int) -> Iterator[list[object]]:
    """Rows of the table for one problem: ours, then every agent."""
    ours = [best_of(run_sampler(problem, "design", seed, OURS, 8)) for seed in range(seeds)]
    middle = float(np.median(ours))
    spread = [f"{min(ours):.4g}", f"{max(ours):.4g}"]
    yield [name, "design", OURS, f"{middle:.4g}", *spread, "", ""]
    for agent, (kind, settings) in AGENTS.items():
        runs: dict[str, list[float]] = {
            json.dumps(setting): [
                best_of(run_agent(problem, kind, seed, THEIRS, setting))
                for seed in range(agent_seeds)
            ]
            for setting in settings
        }
        best = min(runs, key=lambda setting: float(np.median(runs[setting])))
        all_runs = [value for values in runs.values() for value in values]
        shown = [f"{np.median(all_runs):.4g}", f"{min(all_runs):.4g}", f"{max(all_runs):.4g}"]
        ratio = f"{np.median(all_runs) / middle:.3f}"
        yield [name, agent, THEIRS, *shown, f"{np.median(runs[best]):.4g}", ratio]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(TRACKS), choices=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--agent-seeds", type=int, default=3)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    header = ["problem", "searcher", "proposals", "median", "best", "worst"]
    header += ["best setting's median", "median / ours"]
    rows = []
    for name in given.problems:
        for row in compared(name, PROBLEMS[name](), given.seeds, given.agent_seeds):
            print(*row, sep="\t", flush=True)
            rows.append(row)
    if given.page:
        write_table(given.page, "cosmic", markdown_table(header, rows))


if __name__ == "__main__":
    main()
