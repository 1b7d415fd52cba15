"""Kills drivers, workers and nodes at random instants; compares what is left with a quiet study.

    python benchmarks/faults.py [--driver-kills 50] [--worker-kills 20] [--executors local ray]
        [--islands 1] [--node] [--limit 900]

Each kind of kill has a study of its own, whose trials are as many as its kills need. After
``--limit`` seconds nothing more of it is killed and the study ends undisturbed: the figures say how
many kills it was. With ``--node`` a study on a Ray cluster of two nodes loses one of them and gets
another one. Islands are those of the default sampler; without them designs are drawn at random.

Prints one line per figure as it is known. Lost, repeated and different trials must be 0, else the
exit code is 1. Recovery is the time from the start of a driver to its first new result in the
store. The last line is one JSON object.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "faults"))

from fault_studies import (
    SLOW_S,
    kill_drivers_until_done,
    run_faulty,
    same_part,
    start_cold_driver,
    stored,
    two_nodes,
    wait_for,
    workers_of,
)

import dse

WINDOW = 16
"""Proposals of an island in a round: so a study of some hundred trials has dozens of rounds."""

BAD = ("lost", "repeated", "different")
Figures = dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is asked for.

    Attributes:
        islands: 1: one search, whose driver proposes.
        seed: Of studies and kills.
        limit_s: Time for the kills of one kind.
    """

    islands: int
    seed: int
    limit_s: float

    def choices(self, trials: int) -> dict[str, Any]:
        """Options of a study."""
        sampler = "random" if self.islands == 1 else "design"
        common = {"trials": trials, "seed": self.seed, "sampler": sampler}
        return common if self.islands == 1 else {**common, **self._of_islands}

    @property
    def _of_islands(self) -> dict[str, int]:
        return {"islands": self.islands, "window": WINDOW}


@contextlib.contextmanager
def slowed(evaluation_s: float) -> Iterator[Path]:
    """A folder for a study whose evaluations take a while."""
    os.environ[SLOW_S] = str(evaluation_s)
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for Ray's processes
    try:
        with tempfile.TemporaryDirectory() as scratch:
            yield Path(scratch) / "study"
    finally:
        os.environ[SLOW_S] = "0"


def kill_drivers(kills: int, plan: Plan) -> Figures:
    """SIGKILL to the driver again and again, then compare all trials."""
    choices = {**plan.choices(16 * kills), "executor": "serial"}
    with slowed(0.03) as out:  # some 16 trials between a first result and the kill
        random = Random(plan.seed)
        recoveries = kill_drivers_until_done(
            out, kills, random, limit_s=plan.limit_s, start=start_cold_driver, **choices
        )
        result = dse.load_study(out)
    found = compared(result, choices)
    return {"kills": len(recoveries), **found, "median_recovery_s": round(median(recoveries), 2)}


def kill_workers(kills: int, plan: Plan, executor: str) -> Figures:
    """SIGKILL to workers of one study, then compare all trials."""
    choices, killed = plan.choices(100 * kills), list[int]()
    random, done = Random(plan.seed), threading.Event()
    with slowed(0.02) as out:

        def kill() -> None:
            wait_for(lambda: stored(out), plan.limit_s)
            end_s = time.monotonic() + plan.limit_s
            while len(killed) < kills and not done.wait(0.3 + 0.6 * random.random()):
                if time.monotonic() > end_s:
                    return
                if victims := workers_of(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(random.choice(victims), signal.SIGKILL)
                        killed.append(1)

        thread = threading.Thread(target=kill)
        thread.start()
        try:
            result = run_faulty(out, executor=executor, workers=2, **choices)
        finally:
            done.set()
            thread.join()
    retried = sum(row.evaluation.attempts > 1 for row in result.rows)
    return {"kills": len(killed), **compared(result, choices), "retried": retried}


def lose_a_node(plan: Plan) -> Figures:
    """One of two nodes of a Ray cluster killed, another one added, then compare all trials."""
    choices = plan.choices(1200)
    with slowed(0.05) as out, two_nodes() as (cluster, second):
        driver = start_cold_driver(out, executor="ray", address=cluster.address, **choices)
        wait_for(lambda: len(stored(out)) > 100 or driver.poll() is not None, plan.limit_s)
        cluster.remove_node(second, allow_graceful=False)
        cluster.add_node(num_cpus=2)
        _, told = driver.communicate(timeout=plan.limit_s)
        assert driver.returncode == 0, told
        result = dse.load_study(out)
    machines = {row.worker.rpartition(".")[0] for row in result.rows if row.worker}
    return {"machines": len(machines), **compared(result, choices)}


def compared(result: dse.StudyResult, choices: dict[str, Any]) -> Figures:
    """Trials beside those of the same study, undisturbed in one process."""
    whole = run_faulty(**{**choices, "executor": "serial"})
    ours, theirs = same_part(result.trials), same_part(whole.trials)
    numbers = [row.number for row in result.rows]
    expected = [row.number for row in whole.rows]
    common = set(numbers) & set(expected)
    ours = ours[ours["number"].isin(common)].drop_duplicates("number").set_index("number")
    theirs = theirs[theirs["number"].isin(common)].set_index("number")
    equal = (ours == theirs) | (ours.isna() & theirs.isna()) if set(ours) == set(theirs) else None
    different = len(common) if equal is None else int((~equal.all(axis=1)).sum())
    return {
        "trials": len(numbers),
        "lost": len(set(expected) - set(numbers)),
        "repeated": len(numbers) - len(set(numbers)),
        "different": different,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--driver-kills", type=int, default=50)
    parser.add_argument("--worker-kills", type=int, default=20)
    parser.add_argument("--executors", nargs="*", default=["local", "ray"])
    parser.add_argument("--islands", type=int, default=1)
    parser.add_argument("--node", action="store_true", help="a node of a Ray cluster too")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for each kind of kill")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    plan = Plan(islands=given.islands, seed=given.seed, limit_s=given.limit)
    tasks: dict[str, Callable[[], Figures]] = {}
    if given.worker_kills:
        for name in given.executors:
            tasks[f"{name} workers"] = partial(kill_workers, given.worker_kills, plan, name)
    if given.driver_kills:
        tasks["driver"] = partial(kill_drivers, given.driver_kills, plan)
    if given.node:
        tasks["node"] = partial(lose_a_node, plan)
    found: dict[str, Figures] = {}
    for kind, measure in tasks.items():
        begin_s = time.monotonic()
        found[kind] = {**measure(), "seconds": round(time.monotonic() - begin_s, 1)}
        for name, value in found[kind].items():
            print(f"{kind}, {given.islands} islands: {name} {value:g}", flush=True)
    print(json.dumps({"benchmark": "faults", "islands": given.islands, **found}))
    sys.exit(any(figures[name] for figures in found.values() for name in BAD))


if __name__ == "__main__":
    main()
