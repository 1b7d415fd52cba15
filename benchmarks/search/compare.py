"""How good an answer samplers find, against proposals, evaluations and CPU time.

    python benchmarks/search/compare.py PROBLEM [--samplers design nsga2 ...] [--seeds 10]
        [--trials 1000] [--window 8] [--page docs/search.md]

PROBLEM is one of ``problems.PROBLEMS``. Samplers are those of studies, and the agents of COSMIC:
``random_walk``, ``genetic``, ``ant_colony`` and ``bayesian``, whose proposals may be rejected; a
rejected or repeated proposal counts as a proposal. All samplers run with their one default setting.
Medians and quartiles over the seeds; CPU time is that of proposing and learning, without
evaluations.
"""

import argparse
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
from problems import PROBLEMS, Problem

from dse.evaluate import Evaluation, State
from dse.samplers.base import ProposerInput, Twins
from dse.samplers.registry import build_proposer
from dse.space import Design, design_key
from dse.study.trials import Trial

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
from baselines import Agent, AntColony, Bayesian, GeneticAlgorithm, RandomWalk, RawSpace
from page import markdown_table, write_table

AGENTS: dict[str, Callable[..., Agent]] = {
    "random_walk": RandomWalk,
    "genetic": GeneticAlgorithm,
    "ant_colony": AntColony,
    "bayesian": Bayesian,
}
MARKS = (100, 300, 1000, 3000, 10_000)

Row = tuple[int, float, int, float]
"""Proposals, score, evaluations, CPU milliseconds per proposal."""


class Log:
    """What a run has found, at the marks."""

    def __init__(self, problem: Problem, trials: int) -> None:
        self.problem, self._marks = problem, {m for m in MARKS if m < trials} | {trials}
        self.values: list[list[float]] = []
        self.keys: set[str] = set()
        self.rows: list[Row] = []
        self.steps: list[tuple[int, float]] = []  # per proposal: designs found, CPU seconds so far
        self.proposals, self._cpu_s = 0, 0.0

    def add(self, values: list[float], cpu_s: float) -> None:
        """One more proposal; *values* empty: rejected, repeated or infeasible."""
        self.proposals += 1
        self._cpu_s += cpu_s
        if values:
            self.values.append(values)
        self.steps.append((len(self.values), self._cpu_s))
        if self.proposals in self._marks:
            score = self.problem.score(np.array(self.values)) if self.values else np.nan
            cpu_ms = 1e3 * self._cpu_s / self.proposals
            self.rows.append((self.proposals, score, len(self.keys), cpu_ms))

    def is_new(self, design: Design) -> bool:
        return design_key(self.problem.canonical(design)) not in self.keys

    def know(self, design: Design) -> None:
        self.keys.add(design_key(self.problem.canonical(design)))


def run_sampler(problem: Problem, name: str, seed: int, trials: int, window: int) -> Log:
    """As a study does it: proposal i knows the results up to i - window."""
    screen = problem.screen() if problem.screen else None
    what = ProposerInput(
        space=problem.space,
        goals=problem.goals,
        seed=seed,
        checks=problem.checks,
        prices=problem.prices,
        is_hopeful=screen.is_hopeful if screen else None,
        hopes=screen,
        twins=Twins(canonical=problem.canonical, deciding=problem.twin_knobs),
    )
    proposer, log = build_proposer(name, what), Log(problem, trials)
    open_ones: deque = deque()
    for number in range(trials + window):
        start = time.process_time()
        proposal = proposer.ask() if number < trials else None
        if proposal is not None:
            if not log.is_new(proposal.design):
                proposal = proposer.vary(proposal, log.is_new) or proposal
            log.know(proposal.design)
            open_ones.append(proposal)
        cpu_s = time.process_time() - start
        if open_ones and (number >= window - 1 or number >= trials):
            oldest = open_ones.popleft()
            objectives, told = problem.evaluate(oldest.design), problem.told(oldest.design)
            start = time.process_time()
            proposer.tell(oldest, told.objectives, told.violation)
            if screen is not None:
                screen.learn(trial_of(log.proposals, oldest.design, objectives))
            cpu_s += time.process_time() - start
            log.add(list(objectives.values()), cpu_s)
    return log


def trial_of(number: int, design: Design, objectives: Mapping[str, float]) -> Trial:
    """What a study notes of a design."""
    state: State = "complete" if objectives else "infeasible"
    outcome = Evaluation(state=state, objectives=objectives)
    return Trial(number=number, design=design, evaluation=outcome, worker="")


def run_agent(
    problem: Problem,
    kind: Callable[..., Agent],
    seed: int,
    trials: int,
    setting: Mapping[str, float] | None = None,
) -> Log:
    """Proposes, rejects and rewards by the inverse of the product of the objectives."""
    raw, log = RawSpace(problem.space), Log(problem, trials)
    agent = kind(raw.sizes, seed, **(setting or {}))
    for _ in range(trials):
        start = time.process_time()
        codes = agent.ask()
        design = raw.design(codes)
        values: list[float] = []
        cpu_s = time.process_time() - start
        if design is not None:
            log.know(design)
            values = list(problem.evaluate(design).values())
        start = time.process_time()
        agent.tell(codes, 1.0 / float(np.prod(values)) if values else 0.0)
        log.add(values, cpu_s + time.process_time() - start)
    return log


def table_rows(
    problem: Problem, names: list[str], seeds: int, trials: int, window: int
) -> Iterator[list[object]]:
    """Per sampler and mark: proposals, quartiles of the score, evaluations, CPU time."""
    for name in names:
        runs = [
            run_agent(problem, AGENTS[name], seed, trials)
            if name in AGENTS
            else run_sampler(problem, name, seed, trials, window)
            for seed in range(seeds)
        ]
        for rows in zip(*(run.rows for run in runs), strict=False):
            proposals, scores, evaluations, cpu_ms = zip(*rows, strict=True)
            low, middle, high = np.nanquantile(scores, (0.25, 0.5, 0.75))
            row = [name, proposals[0], *(f"{score:.4g}" for score in (middle, low, high))]
            yield [*row, int(np.median(evaluations)), float(np.median(cpu_ms))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("problem", choices=list(PROBLEMS))
    parser.add_argument("--samplers", nargs="+", default=["design", "random", "nsga2"])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--window", type=int, default=8)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    problem = PROBLEMS[given.problem]()
    header = ["sampler", "proposals", "median", "lower quartile", "upper quartile"]
    header += ["evaluations", "CPU ms per proposal"]
    rows = []
    options = (given.samplers, given.seeds, given.trials, given.window)
    for row in table_rows(problem, *options):
        print(*row, sep="\t", flush=True)
        rows.append(row)
    how = f"{problem.score_name}; {given.seeds} seeds, window {given.window}"
    table = f"{markdown_table(header, rows)}\n\nScore: {how}."
    print(table)
    if given.page:
        write_table(given.page, given.problem, table)


if __name__ == "__main__":
    main()
