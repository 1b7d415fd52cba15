"""What proposing alone costs: CPU time per proposal and memory per trial, up to a million.

    python benchmarks/proposing.py [--study llm_gpt.yaml] [--trials 1000000] [--window 32]
        [--seed 0] [--page docs/search.md]

The search of a study with all that it knows beforehand: rules, memory, prices and lower bounds. In
place of the simulator stands a closed form in the logarithms of the knobs, whose time is not
counted; nothing is stored. Figures are of the proposals between two marks; the first ones include
what is worked out once for a plan and for a machine. The last line is one JSON object.
"""

import argparse
import json
import resource
import sys
import time
from collections import deque
from math import log2
from pathlib import Path

from dse.evaluate import Evaluation, build_evaluator
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.samplers.base import ProposerInput, Twins
from dse.samplers.design_proposer import DesignProposer
from dse.space import Design
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial
from simcore import rare_collection

sys.path.insert(0, str(Path(__file__).resolve().parent))
from page import markdown_table, write_table

MARKS = (1000, 2000, 6000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
LEAST_S, SPREAD_S = 20.0, 0.5
"""Iteration time of the best design by the closed form, and what a step of two costs."""


class StandIn:
    """Objectives of designs by a closed form, with the exact prices of their machines."""

    def __init__(self, study: Study) -> None:
        prices = machine_prices(study)
        assert prices is not None, "the study's objectives are prices and times"
        self._prices, self._names = prices, list(study.goals.objectives)

    def objectives(self, design: Design) -> dict[str, float]:
        """By name."""
        steps = [
            abs(log2(value) - 3.0 - index % 3)
            for index, value in enumerate(design.values())
            if isinstance(value, int) and value > 0
        ]
        rates = sum(1e10 / v for v in design.values() if isinstance(v, float) and v > 1e6)
        time_s = LEAST_S + SPREAD_S * sum(steps) + 5.0 * rates
        amounts = self._prices.amounts(design)
        assert amounts is not None, "what has no price is never proposed"
        pairs = zip(amounts, self._prices.powers, strict=True)
        return dict(zip(self._names, [one * time_s**power for one, power in pairs], strict=True))


def memory_bytes() -> float:
    """Memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return float(pages * resource.getpagesize())


def measured(study: Study, trials: int, window: int, seed: int) -> list[list[float]]:
    """Rows: proposals, CPU milliseconds and bytes for each of those since the row before."""
    evaluator = build_evaluator(study.evaluator_input)
    screen = StudyScreen(study, evaluator)
    proposer = DesignProposer(
        ProposerInput(
            space=study.space,
            goals=study.goals,
            seed=seed,
            checks=evaluator.checks(),
            prices=machine_prices(study),
            hopes=screen,
            twins=Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs),
        )
    )
    stand_in, waiting = StandIn(study), deque()
    rows: list[list[float]] = []
    cpu_s, before, begun_bytes = 0.0, 0, memory_bytes()
    for number in range(trials):
        start_s = time.process_time()
        proposal = proposer.ask()
        cpu_s += time.process_time() - start_s
        if proposal is None:
            break
        waiting.append(proposal)
        if len(waiting) >= window:
            oldest = waiting.popleft()
            objectives = stand_in.objectives(oldest.design)
            outcome = Evaluation(state="complete", objectives=objectives)
            trial = Trial(number=number - window + 1, design=oldest.design, evaluation=outcome)
            start_s = time.process_time()
            proposer.tell(oldest, objectives, 0.0)
            screen.learn(trial)
            cpu_s += time.process_time() - start_s
        if number + 1 in MARKS or number + 1 == trials:
            made, bytes_now = number + 1 - before, memory_bytes()
            rows.append([number + 1, 1e3 * cpu_s / made, (bytes_now - begun_bytes) / made])
            print(*rows[-1], sep="\t", file=sys.stderr, flush=True)
            cpu_s, before, begun_bytes = 0.0, number + 1, bytes_now
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="llm_gpt.yaml")
    parser.add_argument("--trials", type=int, default=1_000_000)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    with rare_collection():  # as in a study
        rows = measured(load_study_file(given.study), given.trials, given.window, given.seed)
    header = ["proposals", "CPU ms per proposal", "bytes per trial"]
    table = markdown_table(header, [[f"{int(n):,}", ms, round(b)] for n, ms, b in rows])
    print(table)
    if given.page:
        write_table(given.page, "proposing", table)
    print(json.dumps({"benchmark": "proposing", "study": given.study, "rows": rows}))


if __name__ == "__main__":
    main()
