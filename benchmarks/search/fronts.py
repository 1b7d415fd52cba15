"""Fronts of the large studies: `design` held against many times as many random designs.

    python benchmarks/search/fronts.py [--studies FILE.yaml ...] [--random 10000] [--seeds 3]
        [--trials 1000] [--keep FOLDER] [--page docs/search.md]

The random designs are uniform among the valid ones, and only those count that are feasible. The
measure is the hypervolume in log10 of the objectives. Its reference point, the same for all, is
1.1 x the worst value in each objective of a fixed sample: the first 4,096 feasible points of the
Sobol sequence that SciPy scrambles with seed 0. A point has one coordinate per block of knobs that
rules tie together, in the order of the space: coordinate times number of rows, rounded down, is the
row of the block that the design takes. (The number of network dimensions follows from the row of
the block that decides it; of a block with fewer rows at that number the remainder counts.) That is
the ``index`` encoding, which the uniform draws use too.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
from compare import run_sampler
from numpy.typing import NDArray
from problems import Problem, study
from scipy.stats.qmc import Sobol

from dse.rank.hypervolume import hypervolume
from dse.samplers.base import ProposerInput
from dse.samplers.registry import build_proposer
from dse.space import Design, Encoding
from dse.study.compile import load_study_file

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


def uniform_designs(problem: Problem) -> Iterator[Design]:
    """Valid designs drawn uniformly."""
    what = ProposerInput(space=problem.space, goals=problem.goals, seed=0)
    proposer = build_proposer("random", what)
    while (proposal := proposer.ask()) is not None:
        proposer.tell_nothing(proposal)
        yield proposal.design


def sobol_designs(problem: Problem) -> Iterator[Design]:
    """Valid designs at the points of the scrambled Sobol sequence with seed 0."""
    encoding = Encoding(problem.space, "index")
    assert not problem.space.continuous, "every gene is a row of a block"
    points = Sobol(len(encoding.genes), scramble=True, seed=0)
    while True:
        for point in points.random(REFERENCE_DESIGNS):
            shares = zip(encoding.genes, point.tolist(), strict=True)
            yield encoding.design({gene.name: int(share * gene.size) for gene, share in shares})


def feasible_values(problem: Problem, designs: Iterable[Design], count: int) -> Values:
    """Objectives of the first *count* of *designs* that are feasible, ``(count, M)``."""
    outcomes = (problem.evaluate(design) for design in designs if problem.admits(design))
    found = (list(values.values()) for values in outcomes if values)
    return np.array(list(islice(found, count)))


def kept_values(
    problem: Problem, designs: Iterable[Design], count: int, file: Path | None
) -> Values:
    """``feasible_values``, read from *file* if they are there, else written to it."""
    if file is not None and file.exists():
        known: Values = np.load(file)
        if len(known) >= count:
            return known[:count]
    values = feasible_values(problem, designs, count)
    if file is not None:
        np.save(file, values)
    return values


def reference_point(problem: Problem, name: str, keep: Path | None) -> Values:
    """What every design of the fixed sample is better than, (M,)."""
    file = keep and keep / f"{name}.sobol.npy"
    sample = kept_values(problem, sobol_designs(problem), REFERENCE_DESIGNS, file)
    return np.asarray(1.1 * sample.max(axis=0))


def compared(
    name: str, problem: Problem, reference: Values, given: argparse.Namespace
) -> Iterator[list[object]]:
    """Rows of the table for one study: random designs, then each seed of `design`."""
    begin_s = time.process_time()
    file = given.keep and given.keep / f"{name}.uniform.npy"
    values = kept_values(problem, uniform_designs(problem), given.random, file)
    print(name, "CPU s of random:", time.process_time() - begin_s, file=sys.stderr, flush=True)

    def volume(found: Values) -> float:
        return hypervolume(np.log10(found), np.log10(reference))

    base = volume(values)
    for mark in [*(mark for mark in MARKS if mark < given.random), given.random]:
        part = volume(values[:mark])
        yield [name, "random", mark, f"{part:.4g}", f"{part / base:.3f}"]
    measured = replace(problem, score=volume)
    for seed in range(given.seeds):
        for row in run_sampler(measured, "design", seed, given.trials, WINDOW).rows:
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
    rows: list[list[object]] = []
    points: list[list[object]] = []
    for name in given.studies:
        problem = study(name, load_study_file(name).goals.objectives)
        reference = reference_point(problem, name, given.keep)
        pairs = zip(problem.goals.objectives, reference, strict=True)
        points.append([name, "; ".join(f"{goal} {value:.7g}" for goal, value in pairs)])
        for row in compared(name, problem, reference, given):
            print(*row, sep="\t", flush=True)
            rows.append(row)
    if given.page:
        write_table(given.page, "fronts", markdown_table(header, rows))
        write_table(given.page, "references", markdown_table(["study", "reference point"], points))
    print(json.dumps({"benchmark": "fronts", "rows": rows, "reference points": points}))


if __name__ == "__main__":
    main()
