"""How many random feasible designs one core evaluates per CPU second, on the full simulator.

    python benchmarks/evaluations.py [--designs 200] [--warm 2000] [--page FILE] [STUDY ...]

Does what a worker of a search does, from the values of the knobs to an answer with objectives and
metrics, Python included. Designs are uniform draws of the study's space that pass its checks. The
process is warm: kernels are loaded before any clock runs. Two rates for the same designs:

* warm: one worker that has answered other random designs before (their number is shown);
* cold: a new worker for each design, so that nothing is remembered.

A machine with other work to do is slower by the CPU clock too. So a loop of plain Python is timed
beside each study: where it takes longer, all else does.

The last line is one JSON object.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from page import markdown_table, write_table

from dse.evaluate import Task, build_evaluator
from dse.evaluate.simulator import SimulatorEvaluator
from dse.evaluate.workers.worker import Worker
from dse.space import Design
from dse.study.compile import Study, load_study_file
from simcore import InfeasibleError, RunChecks

STUDIES = [
    "p1_cosmic_1024.yaml",
    "p1_cosmic_2048.yaml",
    "llm_gpt.yaml",
    "llama3_405b_16384.yaml",
]
PEERS = [
    {
        "peer": "Calculon (M. Isaev et al., SC 2023; commit caa4b11), closed form, no network",
        "evaluations_per_cpu_s": 42,
        "source": "its own search on GPT-3 175B, 4,096 H100, run on a machine with 2 cores",
    },
    {
        "peer": "COSMIC (arXiv 2505.15020), ASTRA-sim as evaluator, 1,024 NPUs",
        "evaluations_per_cpu_s": round(1 / 300, 4),
        "source": "time stamps of its published logs: about 5 minutes per point",
    },
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Evaluations per CPU second, and how the times of single designs spread."""

    per_cpu_s: float
    mean_ms: float
    median_ms: float
    p95_ms: float
    max_ms: float


def random_design(study: Study, random: np.random.Generator) -> Design:
    """A uniform draw of the study's space."""
    space = study.space
    counts = list(space.dimensions)
    weights = np.array(
        [np.prod([float(block.rows(count)) for block in space.blocks]) for count in counts]
    )
    dimensions = counts[int(random.choice(len(counts), p=weights / weights.sum()))]
    rows = [int(random.integers(block.rows(dimensions))) for block in space.blocks]
    return space.design(dimensions, rows)


def feasible_designs(study: Study, random: np.random.Generator) -> Iterator[Design]:
    """Uniform draws that pass the checks of structure, and of memory if the study has them."""
    evaluator, checks = build_evaluator(study.evaluator_input), RunChecks()
    assert isinstance(evaluator, SimulatorEvaluator)
    memory = any(limit.name == "fits_in_memory" for limit in study.goals.limits)
    while True:
        design = random_design(study, random)
        try:
            checks.check(evaluator.run(design), memory=memory)
        except InfeasibleError:
            continue
        yield design


def worker_of(study: Study) -> Worker:
    """A worker that has read its files and evaluated nothing."""
    worker = Worker(study.evaluator_input, "benchmark", alone=True)
    worker.evaluate([])
    return worker


def answer_s(worker: Worker, design: Design) -> float:
    """CPU seconds of one answer."""
    begin = time.process_time()
    answers = worker.evaluate([Task(number=0, design=design)])
    spent_s = time.process_time() - begin
    found = answers[0].evaluation
    # over a limit on price or power, it was simulated all the same
    assert found.metrics, f"{found.state}: {found.reason}"
    return spent_s


def loop_ms() -> float:
    """CPU milliseconds of a million additions in Python."""
    begin, total = time.process_time(), 0
    for number in range(1_000_000):
        total += number & 3
    assert total == 1_500_000
    return round((time.process_time() - begin) * 1e3, 1)


def rate_of(times_s: Sequence[float]) -> Rate:
    times_ms = np.array(times_s) * 1e3
    return Rate(
        per_cpu_s=round(1e3 / float(times_ms.mean()), 1),
        mean_ms=round(float(times_ms.mean()), 3),
        median_ms=round(float(np.median(times_ms)), 3),
        p95_ms=round(float(np.percentile(times_ms, 95)), 3),
        max_ms=round(float(times_ms.max()), 2),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Rates of one study.

    Attributes:
        designs: Measured.
        answered_before: By the warm worker, other random designs.
        loop_ms: Time of the plain loop, mean of before and after.
    """

    study: str
    designs: int
    answered_before: int
    loop_ms: float
    warm: Rate
    cold: Rate

    @property
    def cold_to_warm(self) -> float:
        return self.cold.mean_ms / self.warm.mean_ms

    def __str__(self) -> str:
        warm, cold = self.warm, self.cold
        return (
            f"{self.study:26} warm {warm.per_cpu_s:8.1f}/s "
            f"(median {warm.median_ms:.2f}, p95 {warm.p95_ms:.2f} ms)   "
            f"cold {cold.per_cpu_s:8.1f}/s "
            f"(median {cold.median_ms:.2f}, p95 {cold.p95_ms:.2f} ms)   "
            f"cold/warm {self.cold_to_warm:.2f}   loop {self.loop_ms:.0f} ms"
        )


def measure(name: str, designs: int, warm: int, seed: int) -> Result:
    """Warm and cold rates of one study."""
    study = load_study_file(name)
    draws = feasible_designs(study, np.random.default_rng(seed))
    measured = [next(draws) for _ in range(designs)]
    loading = worker_of(study)
    for design in measured:  # loads every kernel that the measured designs need, and is let go
        answer_s(loading, design)
    worker = worker_of(study)
    for _ in range(warm):
        answer_s(worker, next(draws))
    before_ms = loop_ms()
    warm_s = [answer_s(worker, design) for design in measured]
    workers = [worker_of(study) for _ in measured]
    cold_s = [answer_s(fresh, design) for fresh, design in zip(workers, measured, strict=True)]
    return Result(
        study=name,
        designs=designs,
        answered_before=warm,
        loop_ms=round((before_ms + loop_ms()) / 2, 1),
        warm=rate_of(warm_s),
        cold=rate_of(cold_s),
    )


def page_table(results: Sequence[Result]) -> str:
    """The results and the peers, for the documentation."""
    header = ["evaluator, problem", "answered before", "warm, /s", "median, ms", "p95, ms"]
    header += ["cold, /s", "cold / warm", "loop, ms"]
    rows: list[Sequence[object]] = [
        (
            f"simcore, `{result.study}`",
            result.answered_before,
            result.warm.per_cpu_s,
            result.warm.median_ms,
            result.warm.p95_ms,
            result.cold.per_cpu_s,
            f"{result.cold_to_warm:.1f}",
            result.loop_ms,
        )
        for result in results
    ]
    rows += [(p["peer"], "", p["evaluations_per_cpu_s"], "", "", "", "", "") for p in PEERS]
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("studies", nargs="*", default=STUDIES, metavar="STUDY")
    parser.add_argument("--designs", type=int, default=200, help="measured, per study")
    parser.add_argument("--warm", type=int, default=2000, help="answered before, per study")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--page", type=Path, help="page whose table 'evaluations' is written anew")
    arguments = parser.parse_args()
    results = []
    for name in arguments.studies:
        results.append(measure(name, arguments.designs, arguments.warm, arguments.seed))
        print(results[-1], flush=True)
    for peer in PEERS:
        print(f"{peer['peer']}: {peer['evaluations_per_cpu_s']}/s ({peer['source']})")
    if arguments.page:
        write_table(arguments.page, "evaluations", page_table(results))
    report = {"benchmark": "evaluations", "seed": arguments.seed}
    print(json.dumps({**report, "results": [asdict(result) for result in results], "peers": PEERS}))


if __name__ == "__main__":
    main()
