"""How fast a study's trials come by the clock, by islands and workers of this machine.

    python benchmarks/islands_by_clock.py [--study llm_gpt.yaml] [--trials 1000 6000]
        [--runs 1x0 2x1 2x1*2 2x2] [--repeat 1]

A run ``NxW`` has N islands on W worker processes; W = 0 is the driver itself, which has one search.
``NxW*K`` is K such studies at once, whose mean is told: cores that share a processor are slower
when all are busy, so that 2x2 is compared with 2x1*2 for what islands cost, and with 2x1 for what
a second core of this machine adds.
Timed is what comes between two trials, start-up and the end of the study apart, everything else in:
proposing, evaluating, storing. Each run is a process of its own; several times over if asked. CPU
seconds are those of the driver between the same trials. The last line is one JSON object.
"""

import argparse
import json
import multiprocessing
import os
import tempfile
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import dse
from dse.cli.running import Progress
from dse.study.stretch import Stretch
from dse.study.trials import Trial

TRIALS = (1000, 6000)
RUNS = ("1x0", "2x1", "2x1*2", "2x2")


class Clock(Progress):
    """A silent display that notes when two trials came, and ends the study after the second."""

    def __init__(self, first: int, last: int) -> None:
        super().__init__(lambda: False, quiet=True)
        self._first, self._last, self._seen = first, last, 0
        self.notes: list[tuple[float, float]] = []

    def folded(self, trial: Trial, duplicates: int) -> None:
        super().folded(trial, duplicates)
        self._see(1)

    def all_folded(self, rows: Stretch) -> None:
        super().all_folded(rows)
        self._see(len(rows))

    def _see(self, count: int) -> None:
        before, self._seen = self._seen, self._seen + count
        for trials in (self._first, self._last):
            if before < trials <= self._seen:
                self.notes.append((time.perf_counter(), time.process_time()))

    def stopping(self) -> bool:
        return self._seen >= self._last


def timed(study: str, islands: int, workers: int, trials: tuple[int, int]) -> dict[str, float]:
    """Seconds by the clock and of the driver's CPU between two trials of a new study."""
    first, last = trials
    clock = Clock(first, last)
    where: dict[str, Any] = {"executor": "local", "workers": workers}
    if not workers:
        where = {"executor": "serial"}
    if islands > 1:
        where["islands"] = islands
    with tempfile.TemporaryDirectory() as scratch:
        dse.run_study(study, out=Path(scratch) / "study", watcher=clock, trials=2 * last, **where)
    (began_s, driver_began_s), (ended_s, driver_ended_s) = clock.notes
    return {"clock_s": ended_s - began_s, "driver_cpu_s": driver_ended_s - driver_began_s}


def _note(given: argparse.Namespace, run: str, into: "multiprocessing.Queue[Any]") -> None:
    islands, workers = map(int, run.split("x"))
    into.put(timed(given.study, islands, workers, tuple(given.trials)))


def _mean(given: argparse.Namespace, run: str) -> dict[str, float]:
    """``timed`` in a new process, or the mean of several at once."""
    fresh = multiprocessing.get_context("spawn")
    one, _, times = run.partition("*")
    told: multiprocessing.Queue[Any] = fresh.Queue()
    every = [fresh.Process(target=_note, args=(given, one, told)) for _ in range(int(times or 1))]
    for process in every:
        process.start()
    found = [told.get() for _ in every]
    for process in every:
        process.join()
    return {name: fmean(one[name] for one in found) for name in found[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", default="llm_gpt.yaml")
    parser.add_argument("--trials", type=int, nargs=2, default=list(TRIALS))
    parser.add_argument("--runs", nargs="+", default=list(RUNS), metavar="NxW[*K]")
    parser.add_argument("--repeat", type=int, default=1)
    given = parser.parse_args()
    rows = []
    for _ in range(given.repeat):
        for run in given.runs:
            found = _mean(given, run)
            rows.append({"run": run, **found})
            rate = (given.trials[1] - given.trials[0]) / found["clock_s"]
            driver_s = found["driver_cpu_s"]
            print(
                f"{run:>7}  {found['clock_s']:7.2f} s  {rate:8.0f}/s  driver {driver_s:6.2f} CPU s",
                flush=True,
            )
    kept = {"benchmark": "islands_by_clock", "cores": os.cpu_count(), "study": given.study}
    print(json.dumps({**kept, "trials": given.trials, "runs": rows}))


if __name__ == "__main__":
    main()
