"""Proposals after which searches settle, by the rule of `trials: auto`, over their objectives.

    python benchmarks/search/settled.py [STUDY ...] [--seeds 3] [--page docs/search.md]

Each shipped study is searched at its first fidelity with `trials: auto`, with its first objective
alone, its first two, and so on to all of them, in one process. Told is the first number of outcomes
of which the latest third brought less than 1 % of the hypervolume of the front
(`dse/rank/progress.py`), seen every 50 from 600 on: none can settle before. Trims and what is made
of them come after it. The last line is one JSON object.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from dse.fidelity.promote import minimised
from dse.rank.progress import latest_gain
from dse.run.ending import EVERY, LEAST
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
    "p3_moe_1p8t_9216.yaml",
    "p4_dlrm_2p6t_h100.yaml",
    "gpt_1t_quarter_hbm.yaml",
)


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


def settled_at(study: Study, rows: Sequence[Trial]) -> int | None:
    """The first number of outcomes by which the search has settled; None: it has not."""
    for count in range(LEAST, len(rows) + 1, EVERY):
        found = [row for row in rows[:count] if row.is_feasible]
        points = np.array(minimised(study, found), np.float64)
        if latest_gain(points, [row.number for row in found], count).is_settled:
            return count
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=list(STUDIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    found: dict[str, list[int | None]] = {}
    table = []
    for name in given.studies:
        for objectives in range(1, len(load_study_file(name).goals.objectives) + 1):
            told, designs = [], 0
            for seed in range(given.seeds):
                begin_s = time.process_time()
                study = study_with(name, objectives, seed)
                designs = study.space.counts.searched
                rows = Runner(study, out=None, resume=False, watcher=None).search(None).rows
                told.append(settled_at(study, rows))
                spent_s = time.process_time() - begin_s
                print(name, objectives, seed, told[-1], len(rows), f"{spent_s:.0f}s",
                      file=sys.stderr, flush=True)  # fmt: skip
            found[f"{name} {objectives}"] = told
            known = [count for count in told if count is not None]
            most = max(known) if len(known) == len(told) else None
            table.append(
                [f"`{name}`", f"{designs:.2g}", objectives, int(median(known)) if known else "", most or "not settled"]
            )  # fmt: skip
    header = ["study", "designs", "objectives", "settled after, median", f"most of {given.seeds}"]
    print(markdown_table(header, table))
    if given.page:
        write_table(given.page, "settled", markdown_table(header, table))
    print(json.dumps({"benchmark": "settled", "seeds": given.seeds, "results": found}))


if __name__ == "__main__":
    main()
