"""Proposals that searches with `trials: auto` take, over the number of their objectives.

    python benchmarks/search/settled.py [STUDY ...] [--seeds 2] [--page docs/search.md]

Each shipped study is searched at its first fidelity with `trials: auto`, with its first objective
alone, its first two, and so on to all of them, in one process. Such a search ends once the latest
third of its proposals brought less than 1 % of the hypervolume of the front
(`dse/rank/progress.py`), seen every 50 outcomes from 600 on, and once nothing is left to trim. Told
is how many proposals it took, and what part of the hypervolume of its front was missing after 300.
The last line is one JSON object.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dse.fidelity.promote import minimised
from dse.rank.progress import shares_of_volume
from dse.run.runner import Runner
from dse.study.compile import Study, load_study_file
from dse.study.trials import Trial

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

STUDIES = (
    "llm_gpt.yaml",
    "llama3_405b_16384.yaml",
    "p1_cosmic_1024.yaml",
    "p2_llama3_405b_16k_h100.yaml",
    "p4_dlrm_2p6t_h100.yaml",
    "gpt_1t_quarter_hbm.yaml",
)

EARLY = 300
"""Proposals of a study that does not say how many."""


def study_with(name: str, objectives: int, seed: int) -> Study:
    """A shipped study with the first of its objectives, at its first fidelity."""
    whole = load_study_file(name).goals.objectives
    changes: dict[str, Any] = {
        "objectives": dict(list(whole.items())[:objectives]),
        "reference_point": None,
        "seed": seed,
        "search.trials": "auto",
        "search.sampler": "design",
        "search.fidelity": [],
        "execution.executor": "serial",
    }
    return load_study_file(name, changes)


def missing_after(study: Study, rows: Sequence[Trial], count: int) -> float:
    """Part of the hypervolume of the front that the first *count* proposals lack."""
    found = [row for row in rows if row.is_feasible]
    points = np.array(minimised(study, found), np.float64)
    return 1.0 - shares_of_volume(points, [sum(row.number < count for row in found)])[0]


def measure(name: str, objectives: int, seeds: int) -> tuple[int, list[int], list[float]]:
    """Designs of the space; of each seed its proposals, and what was missing after ``EARLY``."""
    designs, took, missing = 0, list[int](), list[float]()
    for seed in range(seeds):
        study = study_with(name, objectives, seed)
        designs = study.space.counts.searched
        rows = Runner(study, out=None, resume=False, watcher=None).search(None).rows
        took.append(len(rows))
        missing.append(missing_after(study, rows, EARLY))
        print(name, objectives, seed, took[-1], missing[-1], file=sys.stderr, flush=True)
    return designs, took, missing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=list(STUDIES))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    results, table = {}, []
    for name in given.studies:
        for objectives in range(1, len(load_study_file(name).goals.objectives) + 1):
            designs, took, missing = measure(name, objectives, given.seeds)
            results[f"{name} {objectives}"] = {"took": took, "missing": missing}
            told = ", ".join(f"{count:,}" for count in took)
            table.append([f"`{name}`", f"{designs:.1e}", objectives, told, f"{max(missing):.1%}"])
    header = ["study", "designs", "objectives", "proposals, by seed", f"missing after {EARLY}"]
    print(markdown_table(header, table))
    if given.page:
        write_table(given.page, "settled", markdown_table(header, table))
    facts = {"seeds": given.seeds, "early": EARLY, "results": results}
    print(json.dumps({"benchmark": "settled", **facts}))


if __name__ == "__main__":
    main()
