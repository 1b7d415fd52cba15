"""What the driver of a study of many trials costs while it runs: CPU time and memory.

    python benchmarks/many_trials.py [--trials 100000] [--study p1_cosmic_1024.yaml]

Evaluations take no time and proposals are the designs in their own order, so that what is left is
the driver: keys, folding, front, store. The last line is one JSON object.
"""

import argparse
import json
import resource
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

from busy import BusyInput

import dse
from dse.cli.running import Progress
from dse.evaluate import Crew, EvaluatorInput, start_crew
from dse.study.trials import Trial

STEPS = 5


class Meter(Progress):
    """The progress display of ``dse study``, and a note every fifth of the study."""

    def __init__(self, trials: int) -> None:
        super().__init__(lambda: False, quiet=True)
        self._every, self._seen = trials // STEPS, 0
        self.notes: list[tuple[int, float, float]] = [(0, memory_mb(), time.process_time())]

    def folded(self, trial: Trial, duplicates: int) -> None:
        super().folded(trial, duplicates)
        self._seen += 1
        if self._seen % self._every == 0:
            self.notes.append((self._seen, memory_mb(), time.process_time()))
            print(self.notes[-1], file=sys.stderr)


def memory_mb() -> float:
    """What this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def start_idle_crew(name: str, what: EvaluatorInput, **options: Any) -> Crew:
    """Workers whose evaluations take no time."""
    return start_crew(name, BusyInput.like(what, 0.0), **options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--study", default="p1_cosmic_1024.yaml")
    options = parser.parse_args()
    meter = Meter(options.trials)
    chosen = {"trials": options.trials, "sampler": "exhaustive", "executor": "serial"}
    with (
        tempfile.TemporaryDirectory() as scratch,
        patch("dse.run.runner.start_crew", start_idle_crew),
    ):
        dse.run_study(options.study, out=Path(scratch) / "study", watcher=meter, **chosen)
    notes = meter.notes
    spent = [
        1e3 * (later[2] - sooner[2]) / (later[0] - sooner[0])
        for sooner, later in pairwise(notes[1:])
    ]
    found = {
        "cpu_ms_per_trial": spent,
        "bytes_per_trial": 1e6 * (notes[-1][1] - notes[1][1]) / (notes[-1][0] - notes[1][0]),
        "memory_mb": notes[-1][1],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }
    print(json.dumps({"benchmark": "many_trials", **vars(options), **found}))


if __name__ == "__main__":
    main()
