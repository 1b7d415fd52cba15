"""What a worker saves that evaluates a chunk of designs at once, and not one after the other.

    python benchmarks/at_once.py [--designs 500] [--known 1000] [--chunks 16 64 256] [STUDY ...]

Designs are uniform draws of a study that pass its checks; any machine is taken as sold. Each worker
has answered others of the study before (``--known``), so that it knows most plans. The first row of
a study, chunks of one design, is what all took before. A loop of plain Python is timed beside each
row: where it takes longer, all else does. The last line is one JSON object.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import numpy as np
from evaluations import feasible_designs, loop_ms

from dse.evaluate import Task
from dse.evaluate.workers.worker import Worker
from dse.space import Design
from dse.study.compile import load_study_file

STUDIES = ["llm_gpt.yaml", "p1_cosmic_1024.yaml"]


def spent_s(worker: Worker, designs: Sequence[Design], size: int) -> float:
    """CPU seconds of the answers for *designs*, *size* at a time."""
    begin = time.process_time()
    for first in range(0, len(designs), size):
        chunk = designs[first : first + size]
        worker.evaluate([Task(number=at, design=one) for at, one in enumerate(chunk)])
    return time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("studies", nargs="*", default=STUDIES, metavar="STUDY")
    parser.add_argument("--designs", type=int, default=500)
    parser.add_argument("--known", type=int, default=1000)
    parser.add_argument("--chunks", type=int, nargs="+", default=[16, 64, 256])
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rows = []
    for name in given.studies:
        study = load_study_file(name)
        judged = study.judged_at(next(iter(study.levels))) if study.levels else study
        what = replace(judged.evaluator_input, physical=False)
        draws = feasible_designs(study, np.random.default_rng(given.seed))
        drawn = list(islice(draws, given.known + given.designs))
        for size in (1, *given.chunks):
            worker = Worker(what, "benchmark")
            spent_s(worker, drawn[: given.known], size)
            each_ms = 1e3 * spent_s(worker, drawn[given.known :], size) / given.designs
            rows.append((name, size, each_ms, loop_ms()))
            print(f"{name:26} {size:5} at once   {each_ms:7.3f} ms   loop {rows[-1][3]:.0f} ms")
    print(json.dumps({"benchmark": "at_once", "designs": given.designs, "rows": rows}))


if __name__ == "__main__":
    main()
