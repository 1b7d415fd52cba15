"""Kills drivers and workers at random instants and compares what is left with an undisturbed run.

    python benchmarks/faults.py [--driver-kills 50] [--worker-kills 20] [--executors local ray]
        [--islands 1]

The last line is one JSON object: kills, lost and repeated results (must be 0, or it fails), and the
median time from the start of a driver to its first new result in the store.
"""

import argparse
import contextlib
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from random import Random
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "faults"))

from fault_studies import (
    SLOW_S,
    kill_drivers_until_done,
    run_faulty,
    same_part,
    stored,
    wait_for,
    workers_of,
)

import dse


def kill_drivers(kills: int, seed: int) -> dict[str, float]:
    """SIGKILL to the driver again and again, then compare all trials."""
    os.environ[SLOW_S] = "0.002"
    options = {"trials": 60 * kills, "seed": seed, "executor": "serial"}
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "study"
        recoveries = kill_drivers_until_done(out, kills, Random(seed), **options)
        os.environ[SLOW_S] = "0"
        same(dse.load_study(out), run_faulty(**options))
    return {"driver_kills": len(recoveries), "median_recovery_s": median(recoveries)}


def kill_workers(kills: int, seed: int, executor: str, islands: int) -> dict[str, float]:
    """SIGKILL to workers of one study, then compare all trials."""
    os.environ[SLOW_S] = "0.005"
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # for Ray's processes
    options = {"trials": 400 * kills, "seed": seed, "islands": islands}
    random, done, killed = Random(seed), threading.Event(), []
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch) / "study"

        def kill() -> None:
            wait_for(lambda: stored(out))
            while len(killed) < kills and not done.wait(0.3 + 0.6 * random.random()):
                if victims := workers_of(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(random.choice(victims), signal.SIGKILL)
                        killed.append(1)

        thread = threading.Thread(target=kill)
        thread.start()
        result = run_faulty(out, executor=executor, workers=2, **options)
        done.set()
        thread.join()
        os.environ[SLOW_S] = "0"
        same(result, run_faulty(executor="serial", **options))
    retried = sum(row.evaluation.attempts > 1 for row in result.rows)
    return {
        f"{executor}_worker_kills": len(killed),
        f"{executor}_trials": len(result.rows),
        f"{executor}_retried": retried,
    }


def same(result: dse.StudyResult, whole: dse.StudyResult) -> None:
    """The same trials, each number once, or the difference as an error."""
    import pandas as pd

    assert [row.number for row in result.rows] == list(range(len(whole.rows)))
    pd.testing.assert_frame_equal(same_part(result.trials), same_part(whole.trials))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--driver-kills", type=int, default=50)
    parser.add_argument("--worker-kills", type=int, default=20)
    parser.add_argument("--executors", nargs="*", default=["local", "ray"])
    parser.add_argument("--islands", type=int, default=1, help="where workers are killed")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    found: dict[str, float] = {"islands": options.islands, "lost": 0, "repeated": 0}
    if options.worker_kills:
        for executor in options.executors:
            found |= kill_workers(options.worker_kills, options.seed, executor, options.islands)
            print(found, file=sys.stderr)
    if options.driver_kills:
        found |= kill_drivers(options.driver_kills, options.seed)
    print(json.dumps({"benchmark": "faults", **found}))


if __name__ == "__main__":
    main()
