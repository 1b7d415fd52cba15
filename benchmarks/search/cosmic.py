"""Head to head with the agents of COSMIC on its own problems, evaluated by our simulator.

    python benchmarks/search/cosmic.py [--problems p1_1024_cost ...] [--seeds 10]
        [--agents "ant colony" ...] [--page docs/search.md]

Ours gets 1,000 proposals and its one setting. Every agent gets 10,000, rejected ones included, with
every setting that COSMIC swept; only the Bayesian one, whose every proposal costs milliseconds,
gets 300. The table shows each agent's best setting, by its median over the seeds, and the median
of all its runs. Less is better.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from compare import Log, run_agent, run_sampler
from problems import PROBLEMS, Problem

from dse.samplers.baselines import Agent, AntColony, Bayesian, GeneticAlgorithm, RandomWalk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

OURS = 1000
TRACKS = tuple(name for name in PROBLEMS if name.startswith("p1_"))

Setting = Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """An agent and how often it runs.

    Attributes:
        kind: Makes it.
        settings: All that were swept.
        seeds: Runs with each setting.
        proposals: Of each run.
    """

    kind: Callable[..., Agent]
    settings: Sequence[Setting]
    seeds: int = 3
    proposals: int = 10_000


def grid(**values: Sequence[float]) -> list[Setting]:
    """All combinations of *values*."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


AGENTS: Mapping[str, Entrant] = {
    "random walk": Entrant(kind=RandomWalk, settings=[{}]),
    "genetic algorithm": Entrant(
        kind=GeneticAlgorithm, settings=grid(population=(32, 64), mutation=(0.01, 0.05))
    ),
    "ant colony": Entrant(
        kind=AntColony,
        settings=grid(ants=(8, 16), greediness=(0.25, 0.5, 0.75), evaporation=(0.25, 0.5, 0.75)),
        seeds=1,
    ),
    "Bayesian": Entrant(kind=Bayesian, settings=[{}], proposals=300),
}
"""Agents with the settings that were swept (COSMIC, arXiv 2505.15020)."""


def best_of(run: Log) -> float:
    """The score at the end of a run; nothing feasible counts as endless."""
    return float(np.nan_to_num(run.rows[-1][1], nan=np.inf))


def our_row(name: str, problem: Problem, seeds: int) -> tuple[list[object], float]:
    """The row of `design`, and the median of its runs."""
    ours = [best_of(run_sampler(problem, "design", seed, OURS, 8)) for seed in range(seeds)]
    middle = float(np.median(ours))
    shown = [f"{value:.4g}" for value in (middle, min(ours), max(ours))]
    return [name, "design", seeds, OURS, *shown, "", ""], middle


def agent_row(name: str, problem: Problem, agent: str, ours: float) -> list[object]:
    """The row of *agent*: its runs with all of its settings."""
    entrant = AGENTS[agent]
    runs: dict[str, list[float]] = {
        json.dumps(setting): [
            best_of(run_agent(problem, entrant.kind, seed, entrant.proposals, setting))
            for seed in range(entrant.seeds)
        ]
        for setting in entrant.settings
    }
    best = min(float(np.median(values)) for values in runs.values())
    every = [value for values in runs.values() for value in values]
    middle = float(np.median(every))
    shown = [f"{value:.4g}" for value in (middle, min(every), max(every), best)]
    return [name, agent, len(every), entrant.proposals, *shown, f"{middle / ours:.3f}"]


def compared(name: str, seeds: int, agents: Sequence[str]) -> Iterator[list[object]]:
    """Rows of the table for one problem: ours, then every agent."""
    problem = PROBLEMS[name]()
    row, middle = our_row(name, problem, seeds)
    yield row
    for agent in agents:
        yield agent_row(name, problem, agent, middle)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=list(TRACKS), choices=list(PROBLEMS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--agents", nargs="+", default=list(AGENTS), choices=list(AGENTS))
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    header = ["problem", "searcher", "runs", "proposals", "median", "best", "worst"]
    header += ["best setting's median", "median / ours"]
    rows = []
    for name in given.problems:
        for row in compared(name, given.seeds, given.agents):
            print(*row, sep="\t", flush=True)
            rows.append(row)
    if given.page:
        write_table(given.page, "cosmic", markdown_table(header, rows))


if __name__ == "__main__":
    main()
