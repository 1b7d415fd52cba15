"""What a cluster would deliver: measured cost of the driver of a search, and a model of the rest.

    python benchmarks/cluster.py [--ray] [--trials 2000] [--page FILE]

Measured in CPU microseconds of the driver process per trial, on the closed form of the ViT-22B
problem, whose evaluations cost next to nothing: proposing, refusing repeats, sending to a worker,
reading the answer, writing the trial to the log. Start-up is left out, as the difference of a long
and a short study.

The model: a worker answers one design in its evaluation time; a driver takes its measured time per
trial; so one search answers ``min(cores / evaluation, 1 / driver)`` designs per second. Searches
with drivers of their own (other seeds, parts of the space) add up. The last line is one JSON
object.
"""

import argparse
import json
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from page import markdown_table, write_table

import dse

STUDY = "p5_vit22b_64.yaml"
CORES = 1000
EVALUATIONS_MS = (1.0, 3.0, 10.0, 100.0, 1000.0)
WINDOW = 256
"""Designs under way: enough that workers with short evaluations get chunks of them."""


def driver_s(sampler: str, executor: str, trials: int) -> float:
    """CPU seconds of the driver of one study, less evaluations in its own process."""
    with TemporaryDirectory() as folder:
        begin = time.process_time()
        result = dse.run_study(
            STUDY,
            out=Path(folder) / "study",
            sampler=sampler,
            executor=executor,
            workers=1 if executor == "serial" else 2,
            trials=trials,
            window=WINDOW,
        )
        spent_s = time.process_time() - begin
    if executor == "serial":
        spent_s -= sum(row.evaluation.duration_s for row in result.rows)
    return spent_s


def driver_us(sampler: str, executor: str, trials: int) -> float:
    """CPU microseconds of the driver per trial."""
    few = trials // 4
    more_s = driver_s(sampler, executor, trials) - driver_s(sampler, executor, few)
    return round(more_s / (trials - few) * 1e6, 1)


def delivered(evaluation_ms: float, one_driver_us: float) -> list[object]:
    """A row of the model: evaluation, one search on all cores, its busy cores, many searches."""
    alone = min(CORES / evaluation_ms * 1e3, 1e6 / one_driver_us)
    busy = alone * evaluation_ms / 1e3
    # each search has a driver on a core of its own
    per_search = evaluation_ms * 1e3 / one_driver_us
    many = CORES / (1 + 1 / per_search) / evaluation_ms * 1e3
    return [f"{evaluation_ms:g}", round(alone), f"{busy:.1f}", round(many)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--ray", action="store_true", help="start Ray and measure it too")
    parser.add_argument("--page", type=Path, help="page whose tables are written anew")
    arguments = parser.parse_args()
    executors = ["serial", "local", *(["ray"] if arguments.ray else [])]
    driver: dict[str, dict[str, float]] = {}
    driver_s("random", "serial", 50)  # loads what the first study would else pay for
    for sampler in ("random", "nsga2", "design"):
        driver[sampler] = {}
        for executor in executors:
            driver[sampler][executor] = driver_us(sampler, executor, arguments.trials)
            print(f"{sampler:8} {executor:8} {driver[sampler][executor]:8.1f} us", flush=True)
    slowest = driver["design"][executors[-1]]
    model = [delivered(evaluation_ms, slowest) for evaluation_ms in EVALUATIONS_MS]
    if arguments.page:
        costs = [[sampler, *row.values()] for sampler, row in driver.items()]
        write_table(arguments.page, "driver", markdown_table(["sampler", *executors], costs))
        header = ["evaluation, ms", "one search, /s", "cores it keeps busy", "many searches, /s"]
        write_table(arguments.page, "cluster", markdown_table(header, model))
    print(json.dumps({"benchmark": "cluster", "driver_us": driver, "model": model}))


if __name__ == "__main__":
    main()
