"""What a search costs beside its evaluations, from the first trials to the last.

    python benchmarks/search/overhead.py [--trials 100000] [--sampler design] [--page FILE]

A whole study with its store, in one process: proposing, refusing repeats, dispatching, writing the
log, keeping the front. The space is that of ``p1_cosmic_1024.yaml`` with its screen, at one level;
the objectives are a closed form, whose own cost is measured apart and taken off. Then the study is
resumed for some more trials. All times are CPU time of this process. The last line is one JSON
object.
"""

import argparse
import json
import resource
import sys
import time
from itertools import pairwise
from math import log2
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

import dse
from dse.evaluate import EVALUATORS
from dse.evaluate.base import Account, EvaluatorInput
from dse.evaluate.simulator import SimulatorEvaluator
from dse.space import Design
from dse.study.compile import Study
from dse.study.trials import Trial

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from page import markdown_table, write_table

STUDY = "p1_cosmic_1024.yaml"
FIRST: dict[str, float] = {}
"""CPU second at which the first evaluation of a run began."""


class Formula(SimulatorEvaluator):
    """The screen of the simulator, and objectives that follow from the knobs in microseconds.

    Nothing that is known beforehand of simulated times and prices holds of them.
    """

    has_levels = has_bounds = is_decided_by_run = counts_traffic = False

    @classmethod
    def machine_costs(cls, what: EvaluatorInput) -> None:
        return None

    def account(self, design: Design) -> Account:
        FIRST.setdefault("s", time.process_time())
        gb_per_s = [float(v) / 1e9 for name, v in design.items() if name.endswith("bandwidth")]
        spread = sum(abs(log2(float(design[f"plan.{axis}"])) - 3) for axis in ("tp", "dp", "cp"))
        words = sum(len(str(v)) for name, v in design.items() if "all_reduce" in name)
        time_s = 18.0 + spread + sum(4 * (at + 1) / gb for at, gb in enumerate(gb_per_s)) * words
        price = sum((at + 2) * gb for at, gb in enumerate(gb_per_s)) * 1024
        metrics = {f"metric_{index}": 1.5 * index for index in range(20)}
        metrics |= {"iteration_time_s": time_s, "network_cost_usd": price, "link_load": 0.0}
        return Account(metrics)


EVALUATORS._entries["formula"] = Formula


class Clock:
    """Notes the CPU time at every thousandth trial; a watcher of ``run_study``."""

    def __init__(self, step: int) -> None:
        self._step = step
        self.marks: list[tuple[int, float]] = []
        self.started_s = 0.0

    def started(self, study: Study, known: int, total: int) -> None:
        self.started_s = time.process_time()

    def folded(self, trial: Trial, duplicates: int) -> None:
        if (trial.number + 1) % self._step == 0:
            self.marks.append((trial.number + 1, time.process_time()))
            print(*self.marks[-1], sep="\t", file=sys.stderr, flush=True)

    def stopping(self) -> bool:
        return False


def study_of_one_level(folder: Path) -> Path:
    """A copy of the study that judges no design again."""
    source = Path(__file__).resolve().parents[2] / "studies" / STUDY
    table = yaml.safe_load(source.read_text(encoding="utf-8"))
    table["search"].pop("fidelity")
    copy = folder / STUDY
    copy.write_text(yaml.safe_dump(table, sort_keys=False), encoding="utf-8")
    return copy


def evaluation_ms(result: dse.StudyResult) -> float:
    """CPU milliseconds of one evaluation by the formula."""
    evaluator = Formula(result.study.evaluator_input)
    designs = [row.design for row in result.rows[:5000]]
    begin = time.process_time()
    for design in designs:
        result.study.goals.values(evaluator.metrics(design))
    return (time.process_time() - begin) / len(designs) * 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100_000)
    parser.add_argument("--sampler", default="design")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    step = max(given.trials // 100, 100)
    options = {"sampler": given.sampler, "executor": "serial", "evaluator": "formula"}
    with TemporaryDirectory() as scratch:
        folder, clock = Path(scratch) / "study", Clock(step)
        file = study_of_one_level(Path(scratch))
        result = dse.run_study(file, trials=given.trials, out=folder, watcher=clock, **options)
        own_ms = evaluation_ms(result)
        rows = given.trials
        del result
        FIRST.clear()
        begin_s, again = time.process_time(), Clock(10**9)
        more = {"trials": rows + 100, "resume": True}
        dse.run_study(file, out=folder, watcher=again, **more, **options)
    spans = [
        (last, 1e3 * (end - start) / step - own_ms)
        for (_, start), (last, end) in pairwise(clock.marks)
    ]
    shown = [spans[at] for at in sorted({0, len(spans) // 10, len(spans) // 2, len(spans) - 1})]
    figures = {
        "ms_per_trial": sum(ms for _, ms in spans) / len(spans),
        "first_tenth_ms": sum(ms for _, ms in spans[: len(spans) // 10]) / (len(spans) // 10),
        "last_tenth_ms": sum(ms for _, ms in spans[-(len(spans) // 10) :]) / (len(spans) // 10),
        "evaluation_ms": own_ms,
        "resume_s": again.started_s - begin_s,
        "first_proposal_s": FIRST["s"] - again.started_s,
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
    }
    table = markdown_table(["trial", "CPU ms per trial"], [[f"{n:,}", ms] for n, ms in shown])
    print(table)
    if given.page:
        write_table(given.page, "overhead", table)
    print(json.dumps({"benchmark": "overhead", "trials": given.trials, **figures}))


if __name__ == "__main__":
    main()
