"""The search of a study with several seeds, in one process: how much its fronts differ.

    python benchmarks/search/seeds.py [--study llm_gpt.yaml] [--seeds 10] [--first 0]
        [--trials 600] [--window 32] [--best FILE.npy] [--keep FOLDER]
        [--learn-from DIR ...]

The search is the study's own (``dse.run.search.Search``), trims at its end included, at the first
of its fidelities; evaluations run in this process and are remembered from seed to seed. The measure
is hypervolume in log10 of the objectives by that of the best known front, with a reference of 1.1 x
its worst value in each objective. That front is what ``--best`` names, and all that any run of this
program finds goes into it: make it with a long run first (``--seeds 1 --trials 20000``). The last
line is one JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dse.evaluate import Answer, Task, build_evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.evaluate.registry import Evaluator
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import non_dominated
from dse.rank.quality import MARGIN
from dse.run.learned import learned_designs
from dse.run.search import Search
from dse.run.terms import Budget, Hooks, Lessons
from dse.samplers.base import ProposerInput, Twins
from dse.samplers.registry import build_proposer
from dse.space import design_key
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table

Values = NDArray[np.float64]


class Here:
    """Evaluations in this process, remembered by design."""

    def __init__(self, study: Study, evaluator: Evaluator) -> None:
        self._goals, self._evaluator = study.goals, evaluator
        self._known: dict[str, Evaluation] = {}
        self._answers: list[Answer] = []
        self.cpu_s = 0.0

    def submit(self, tasks: Iterable[Task]) -> None:
        """Evaluate at once."""
        start_s = time.process_time()
        for task in tasks:
            key = design_key(self._evaluator.canonical(task.design))
            if key not in self._known:
                self._known[key] = evaluate(self._evaluator, self._goals, task.design)
            self._answers.append(Answer(task.number, self._known[key], "here"))
        self.cpu_s += time.process_time() - start_s

    def finished(self, timeout_s: float) -> list[Answer]:
        """Answers since the last call."""
        found, self._answers = self._answers, []
        return found


def searched(
    study: Study, evaluator: Evaluator, here: Here, seed: int, trials: int, window: int
) -> tuple[list[Trial], float]:
    """The rows of a study, and the CPU seconds of its search without evaluations."""
    screen = StudyScreen(study, evaluator)
    proposer = build_proposer(
        study.file.search.sampler,
        ProposerInput(
            space=study.space,
            goals=study.goals,
            seed=seed,
            checks=evaluator.checks(),
            prices=machine_prices(study),
            is_hopeful=screen.is_hopeful,
            hopes=screen,
            twins=Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs),
            trials=trials,
        ),
    )
    learned = learned_designs(study).designs
    budget = Budget(
        trials=trials,
        window=window,
        repeats=study.file.search.repeats,
        lessons=Lessons(designs=learned, signs=study.goals.signs_by_name),
    )
    hooks = Hooks(
        finished=lambda trial: None,
        folded=lambda trial, duplicates: None,
        stopping=lambda: False,
    )
    search = Search(proposer, here, budget, hooks, screen=screen)
    start_s, spent_s = time.process_time(), here.cpu_s
    search.run()
    return search.trials, time.process_time() - start_s - (here.cpu_s - spent_s)


def points_of(study: Study, rows: Iterable[Trial]) -> Values:
    """(N, M) objectives of the feasible rows, all to be minimised."""
    names = list(study.goals.objectives)
    found = [[row.evaluation.objectives[name] for name in names] for row in rows if row.is_feasible]
    return np.array(found, np.float64).reshape(-1, len(names)) * study.goals.signs


def front_of(points: Values) -> Values:
    """The points that no other is better than, each once, by the first objective."""
    return np.unique(points[non_dominated(points)], axis=0)


def volume(points: Values, best: Values) -> float:
    """Hypervolume of *points* by that of *best*, beneath 1.1 x the worst of *best*."""
    reference = np.log10(MARGIN * best.max(axis=0))
    return hypervolume(np.log10(points), reference) / hypervolume(np.log10(best), reference)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="llm_gpt.yaml")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--trials", type=int, default=600)
    parser.add_argument("--window", type=int, default=32)
    parser.add_argument("--best", type=Path)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--learn-from", nargs="*", default=[])
    given = parser.parse_args()
    earlier = [str(Path(folder).resolve()) for folder in given.learn_from]
    study = load_study_file(given.study, {"search.learn_from": earlier})
    if study.levels:
        study = study.judged_at(study.levels[0])
    evaluator = build_evaluator(study.evaluator_input)
    here, runs = Here(study, evaluator), []
    for seed in range(given.first, given.first + given.seeds):
        rows, cpu_s = searched(study, evaluator, here, seed, given.trials, given.window)
        runs.append((seed, points_of(study, rows), cpu_s))
        print(seed, runs[-1][1].min(axis=0), f"{cpu_s:.1f} s", file=sys.stderr, flush=True)
        if given.keep:
            kept = [[row.number, row.state, row.design, row.evaluation.objectives] for row in rows]
            (given.keep / f"{given.trials}_{seed}.json").write_text(json.dumps(kept))
    known = [points for _, points, _ in runs]
    if given.best and given.best.exists():
        known.append(np.load(given.best))
    best = front_of(np.concatenate(known))
    if given.best:
        np.save(given.best, best)
    table = [
        [seed, *points.min(axis=0), volume(points, best), len(front_of(points)), cpu_s]
        for seed, points, cpu_s in runs
    ]
    names = [f"least {name}" for name in study.goals.objectives]
    header = ["seed", *names, "hypervolume by the best known", "front", "CPU s of the search"]
    shares = [row[-3] for row in table]
    text = [[f"{x:.5g}" if isinstance(x, float) else x for x in row] for row in table]
    print(markdown_table(header, text))
    found = {
        "best": best.min(axis=0).tolist(),
        "best_front": len(best),
        "slowest_by_best": max(row[1] for row in table) / float(best[:, 0].min()),
        "median": float(np.median(shares)),
        "least": min(shares),
        "smallest_front": min(row[-2] for row in table),
    }
    print(json.dumps({"benchmark": "seeds", "study": given.study, "trials": given.trials, **found}))


if __name__ == "__main__":
    main()
