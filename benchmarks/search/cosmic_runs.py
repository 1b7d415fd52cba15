"""Runs of COSMIC's agents and of `design` on COSMIC's problems, each made once and kept.

    python benchmarks/search/cosmic_runs.py [--folder runs/cosmic] [--problems p1_1024_cost ...]
        [--searchers "ant colony" ...] [--seeds 10] [--other-seeds 3]

A run is a line of JSON in FOLDER/PROBLEM/SEARCHER.jsonl. One that is there is not made again, so
that the work can stop at any time and go on; remove the file of a searcher that has changed. Every
agent gets 10,000 proposals, rejected and repeated ones included, but for the Bayesian one, which
gets the 5,000 that COSMIC gave it. The settings are those that COSMIC swept: all searchers first
make *seeds* runs with the first of theirs, then come the others with *other-seeds* runs. The
elitist agents are ours, stronger than those that COSMIC ran. `design` gets 1,000 proposals and the
window of a default study.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import numpy as np
from compare import run_agent, run_sampler
from problems import PROBLEMS, Problem

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "support"))
from baselines import (
    Agent,
    AntColony,
    Bayesian,
    ElitistAntColony,
    ElitistGenetic,
    GeneticAlgorithm,
    RandomWalk,
)

FOLDER = Path("runs/cosmic")
OURS = "design"
TRACKS = tuple(name for name in PROBLEMS if name.startswith("p1_"))

Setting = Mapping[str, float]
Search = tuple[str, Setting, int]
"""Searcher, its setting, seed."""


def grid(**values: Sequence[float]) -> list[Setting]:
    """All combinations of *values*."""
    return [dict(zip(values, row, strict=True)) for row in product(*values.values())]


GENES = grid(population=(32, 64), mutation=(0.05, 0.01))
WALKS = grid(ants=(16, 8), greediness=(0.25, 0.5, 0.75), evaporation=(0.25, 0.5, 0.75))


@dataclass(frozen=True, slots=True, kw_only=True)
class Searcher:
    """Who searches, and how often it may propose.

    Attributes:
        kind: Makes the agent; None: the sampler of studies.
        settings: All that were swept; runs begin with the first.
        proposals: Of each run.
        is_published: Whether COSMIC ran it.
    """

    kind: Callable[..., Agent] | None = None
    settings: Sequence[Setting] = ({},)
    proposals: int = 10_000
    is_published: bool = False


SEARCHERS: Mapping[str, Searcher] = {
    OURS: Searcher(settings=[{"window": 32}], proposals=1000),
    "random walk": Searcher(kind=RandomWalk, is_published=True),
    "genetic algorithm": Searcher(kind=GeneticAlgorithm, settings=GENES, is_published=True),
    "ant colony": Searcher(kind=AntColony, settings=WALKS, is_published=True),
    "Bayesian": Searcher(kind=Bayesian, proposals=5000, is_published=True),
    "genetic, elitist": Searcher(kind=ElitistGenetic, settings=GENES),
    "ant colony, elitist": Searcher(kind=ElitistAntColony, settings=WALKS),
}
"""With the settings of COSMIC (arXiv 2505.15020)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one run found.

    Attributes:
        searcher: Its name.
        setting: Of the agent.
        seed: Of the run.
        found: Best value after so many proposals, both, at marks; infinite before the first.
        evaluations: Designs that were simulated.
        cpu_s: Of proposing and learning, without the evaluations.
    """

    searcher: str
    setting: Setting
    seed: int
    found: Sequence[tuple[int, float]]
    evaluations: int
    cpu_s: float

    @property
    def name(self) -> str:
        """What tells it from other runs on the same problem."""
        return named(self.searcher, self.setting, self.seed)

    @property
    def best(self) -> float:
        return self.found[-1][1]


def named(searcher: str, setting: Setting, seed: int) -> str:
    """A search, as text."""
    return json.dumps([searcher, setting, seed], sort_keys=True)


def stored(folder: Path, problem: str) -> list[Run]:
    """The runs made so far."""
    return [
        Run(**json.loads(line))
        for file in sorted((folder / problem).glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]


def planned(name: str, first_seeds: int, other_seeds: int) -> Iterator[tuple[int, Setting, int]]:
    """Round, setting and seed of all runs of a searcher; low rounds are made first."""
    for place, setting in enumerate(SEARCHERS[name].settings):
        for seed in range(other_seeds if place else first_seeds):
            yield seed + (first_seeds if place else 0), setting, seed


def made(problem: Problem, name: str, setting: Setting, seed: int) -> Run:
    """Search once."""
    searcher = SEARCHERS[name]
    if searcher.kind is None:
        log = run_sampler(problem, "design", seed, searcher.proposals, int(setting["window"]))
    else:
        log = run_agent(problem, searcher.kind, seed, searcher.proposals, setting)
    found = [(row[0], float(np.nan_to_num(row[1], nan=np.inf))) for row in log.rows]
    _, _, evaluations, cpu_ms = log.rows[-1]
    cpu_s = round(cpu_ms * searcher.proposals / 1e3, 3)
    return Run(
        searcher=name,
        setting=setting,
        seed=seed,
        found=found,
        evaluations=evaluations,
        cpu_s=cpu_s,
    )


def make_all(given: argparse.Namespace) -> None:
    """Make what is missing, round by round over all problems, so that the answer grows evenly."""
    rounds: dict[int, list[Search]] = {}
    for searcher in given.searchers:
        for turn, setting, seed in planned(searcher, given.seeds, given.other_seeds):
            rounds.setdefault(turn, []).append((searcher, setting, seed))
    for turn, searches in sorted(rounds.items()):
        for problem in given.problems:
            begin_s = time.process_time()
            if make_round(given.folder, problem, searches):
                cpu_s = time.process_time() - begin_s
                print(f"round {turn}, {problem}: {cpu_s:.1f} CPU s", flush=True)


def make_round(folder: Path, problem_name: str, searches: Sequence[Search]) -> int:
    """Make the searches that are missing and count them; they share what they evaluate."""
    known = {run.name for run in stored(folder, problem_name)}
    missing = [search for search in searches if named(*search) not in known]
    if not missing:
        return 0
    problem = PROBLEMS[problem_name]()
    (folder / problem_name).mkdir(parents=True, exist_ok=True)
    for searcher, setting, seed in missing:
        run = made(problem, searcher, setting, seed)
        with (folder / problem_name / f"{searcher}.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(run)) + "\n")
    return len(missing)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--problems", nargs="+", default=list(TRACKS), choices=list(TRACKS))
    parser.add_argument("--searchers", nargs="+", default=list(SEARCHERS), choices=list(SEARCHERS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--other-seeds", type=int, default=3)
    given = parser.parse_args()
    make_all(given)


if __name__ == "__main__":
    main()
