"""How often a search finds the best of all designs, on problems that are solved exhaustively.

    python benchmarks/search/exhaustive.py [--half development | held_out] [--problems NUMBER ...]
        [--seeds 10] [--trials 300] [--window 8] [--sampler design] [--tables DIR]

Problems are drawn by number (``small_problems``). The first of them are for developing a search;
``HELD_OUT``, which nobody has looked at, is for judging it: those between have been. Regret is by
how much the best value found of an objective is above the least of all designs: *first* counts
seeds with none in the first objective, *all* those with none in any. DIR keeps what designs are
worth between runs. The last line is one JSON object.
"""

import argparse
import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from compare import run_sampler
from numpy.typing import NDArray
from problems import Problem
from small_problems import small_problem

from dse.rank.hypervolume import hypervolume
from dse.rank.pareto import non_dominated
from dse.space import design_key

DEVELOPMENT, HELD_OUT = range(24), range(148, 172)
HALVES = {"development": DEVELOPMENT, "held_out": HELD_OUT}

_EQUAL = 1e-12

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Solved:
    """A problem, and all values of its feasible designs.

    Attributes:
        problem: It answers from the table.
        designs: Its designs, valid or not.
        values: (N, M) of those that are feasible.
    """

    problem: Problem
    designs: int
    values: Values


def solved(number: int, tables: Path | None) -> tuple[str, Solved]:
    """Problem *number*, with every design evaluated."""
    name, problem = small_problem(number)
    path = None if tables is None else tables / f"{name.replace(' ', '_')}.pickle"
    known: dict[str, Mapping[str, float]] = {}
    if path is not None and path.exists():
        known = pickle.loads(path.read_bytes())
    whole, begin = problem.evaluate, len(known)

    def answer(design: Mapping[str, object]) -> Mapping[str, float]:
        key = design_key(problem.canonical(design))
        if key not in known:
            known[key] = whole(design)
        return known[key]

    found = [answer(one) if problem.admits(one) else {} for one in problem.space.designs()]
    if path is not None and len(known) > begin:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(pickle.dumps(known))
    values = np.array([list(one.values()) for one in found if one])
    told = replace(problem, evaluate=answer)
    return name, Solved(problem=told, designs=len(found), values=values)


def measured(whole: Solved, sampler: str, seed: int, trials: int, window: int) -> dict[str, object]:
    """One search: regrets, proposals until the best was found, hypervolume, refusals and CPU."""
    log = run_sampler(whole.problem, sampler, seed, trials, window)
    best = whole.values.min(axis=0)
    if not log.values:
        return {"regrets": [float("inf")] * best.size, "after": None, "volume": 0.0, "refused": 1.0}
    found = np.array(log.values)
    count = np.array([number for number, _ in log.steps])
    at = [
        np.flatnonzero(column <= least + _EQUAL * abs(least))
        for column, least in zip(found.T, best, strict=True)
    ]
    after = [int(np.searchsorted(count, one[0] + 1)) + 1 if one.size else None for one in at]
    regrets = np.maximum(found.min(axis=0) / best - 1.0, 0.0)
    return {
        "regrets": [0.0 if hit.size else float(one) for hit, one in zip(at, regrets, strict=True)],
        "after": after,
        "volume": _volume(found, whole.values),
        "refused": 1.0 - len(log.values) / len(log.steps),
        "cpu_ms": 1e3 * log.steps[-1][1] / len(log.steps),
    }


def _volume(found: Values, every: Values) -> float:
    """Hypervolume by that of the front of all designs, beneath 1.1 x the worst of it, in log10."""
    front = every[non_dominated(every)]
    logs, mine = np.log10(front), np.log10(found)
    reference = logs.max(axis=0) + np.log10(1.1)
    return float(hypervolume(mine, reference) / hypervolume(logs, reference))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=list(HALVES), default="held_out")
    parser.add_argument("--problems", type=int, nargs="+")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--window", type=int, default=8)
    parser.add_argument("--sampler", default="design")
    parser.add_argument("--tables", type=Path)
    given = parser.parse_args()
    results, seeds = {}, range(given.seeds)
    for number in given.problems or HALVES[given.half]:
        name, whole = solved(number, given.tables)
        runs = [measured(whole, given.sampler, seed, given.trials, given.window) for seed in seeds]
        results[name] = runs
        print(line(name, whole, runs), flush=True)
    print(json.dumps({"benchmark": "exhaustive", "totals": totals(results)}))


def line(name: str, whole: Solved, runs: list[dict]) -> str:
    every = whole.values
    regrets = np.array([run["regrets"] for run in runs])
    last = sorted(max(run["after"]) for run in runs if run["after"] and None not in run["after"])
    return (
        f"{name:14s} {whole.designs:6,} designs {len(every):6,} feasible {every.shape[1]} obj "
        f"front {len(np.unique(every[non_dominated(every)], axis=0)):3d}: "
        f"first {(regrets[:, 0] == 0).sum():2d} all {(regrets == 0).all(axis=1).sum():2d} "
        f"worst {regrets[:, 0].max():7.2%} {regrets.max():7.2%} "
        f"least hv {min(run['volume'] for run in runs):.3f} "
        f"refused {np.mean([run['refused'] for run in runs]):.2f} "
        f"cpu {np.mean([run.get('cpu_ms', 0) for run in runs]):.1f} ms after {last}"
    )


def totals(results: Mapping[str, list[dict]]) -> dict[str, float]:
    runs = [run for one in results.values() for run in one]
    regrets = [np.array(run["regrets"]) for run in runs]
    return {
        "runs": len(runs),
        "first": sum(bool(one[0] == 0) for one in regrets),
        "all": sum(bool((one == 0).all()) for one in regrets),
        "problems_first": sum(all(r["regrets"][0] == 0 for r in one) for one in results.values()),
        "problems_all": sum(all(max(r["regrets"]) == 0 for r in one) for one in results.values()),
        "mean_regret": round(float(np.mean([one.max() for one in regrets])), 6),
        "mean_volume": round(float(np.mean([run["volume"] for run in runs])), 5),
        "cpu_ms": round(float(np.mean([run.get("cpu_ms", 0) for run in runs])), 2),
    }


if __name__ == "__main__":
    main()
