"""Fronts of the large studies: `design` held against many times as many random designs.

    python benchmarks/search/fronts.py [--studies FILE.yaml ...] [--random 10000] [--seeds 3]
        [--trials 1000] [--keep FOLDER] [--page docs/search.md]

The random designs are uniform among the valid ones, and only those count that are feasible. The
measure is the hypervolume in log10 of the objectives; its reference point is 1.1 x the worst value
of the first 4,096 random designs in each objective, the same for all.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from compare import run_sampler
from numpy.typing import NDArray
from problems import Problem, study

from dse.config import load_study_file
from dse.rank.hypervolume import hypervolume
from dse.samplers import ProposerInput, build_proposer

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

STUDIES = (
    "p2_llama3_405b_16k_h100.yaml",
    "p3_moe_1p8t_9216.yaml",
    "p4_dlrm_2p6t_h100.yaml",
)
MARKS = (1000, 3000, 10_000)
REFERENCE_DESIGNS = 4096
WINDOW = 8

Values = NDArray[np.float64]


def random_values(problem: Problem, count: int, seed: int) -> Values:
    """Objectives of *count* feasible designs, ``(count, M)``, drawn uniformly."""
    what = ProposerInput(space=problem.space, goals=problem.goals, seed=seed)
    proposer = build_proposer("random", what)
    rows: list[list[float]] = []
    while len(rows) < count:
        proposal = proposer.ask()
        assert proposal is not None
        design = proposal.design
        values = problem.evaluate(design) if problem.admits(design) else {}
        proposer.tell_nothing(proposal)
        if values:
            rows.append(list(values.values()))
    return np.array(rows)


def kept_values(problem: Problem, count: int, file: Path | None) -> Values:
    """``random_values`` of seed 0, read from *file* if they are there, else written to it."""
    if file is not None and file.exists():
        known: Values = np.load(file)
        if len(known) >= count:
            return known[:count]
    values = random_values(problem, count, seed=0)
    if file is not None:
        np.save(file, values)
    return values


def compared(
    name: str, count: int, seeds: int, trials: int, keep: Path | None
) -> Iterator[list[object]]:
    """Rows of the table for one study: random designs, then each seed of `design`."""
    problem = study(name, load_study_file(name).goals.objectives)
    begin_s = time.process_time()
    values = kept_values(problem, count, None if keep is None else keep / f"{name}.npy")
    print(name, "CPU s of random:", time.process_time() - begin_s, file=sys.stderr, flush=True)
    reference = np.log10(1.1 * values[:REFERENCE_DESIGNS].max(axis=0))

    def volume(found: Values) -> float:
        return hypervolume(np.log10(found), reference)

    base = volume(values)
    for mark in [*(mark for mark in MARKS if mark < count), count]:
        part = volume(values[:mark])
        yield [name, "random", mark, f"{part:.4g}", f"{part / base:.3f}"]
    measured = replace(problem, score=volume)
    for seed in range(seeds):
        for row in run_sampler(measured, "design", seed, trials, WINDOW).rows:
            found = f"{row[1]:.4g}", f"{row[1] / base:.3f}"
            yield [name, f"design, seed {seed}", row[0], *found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", nargs="+", default=list(STUDIES))
    parser.add_argument("--random", type=int, default=10_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--keep", type=Path, help="folder of the values of the random designs")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    header = ["study", "searcher", "designs", "hypervolume", "by that of all random designs"]
    rows = []
    for name in given.studies:
        for row in compared(name, given.random, given.seeds, given.trials, given.keep):
            print(*row, sep="\t", flush=True)
            rows.append(row)
    if given.page:
        write_table(given.page, "fronts", markdown_table(header, rows))
    print(json.dumps({"benchmark": "fronts", "rows": rows}))


if __name__ == "__main__":
    main()
