"""Attribution of the time of every design on the fronts of studies: does it sum to the nanosecond?

    python benchmarks/attribution.py [STUDY.yaml ...] [--trials N] [--seed S] [--fidelity LEVEL]

Runs shipped studies, by default all of them with few trials, of which only the front is judged at
the finest level, and explains each design of the front as ``dse explain`` does. The parts of each
time must sum to the simulated time to the nanosecond. ``--fidelity phases_together`` judges at that
level alone, which is faster. Exit code 1 if one does not. The last line is one JSON object.
"""

import argparse
import json
import sys
import time
from typing import Any

import dse
from dse.evaluate import build_evaluator
from dse.fidelity.compare import front_fidelity
from dse.objectives import OBJECTIVES
from simcore import shipped_folder

TIMES = ("simulated_time_s", "iteration_time_s", "request_s")
"""Metrics that the first attribution of a design explains, the first one that there is."""


def of_study(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Figures of one study, printed as they come."""
    result = dse.run_study(name, executor="serial", **options)
    study, level = result.study, front_fidelity(result.study, result.rows)
    judged = study.judged_at(level) if level in study.levels else study
    evaluator, exact, off = build_evaluator(judged.evaluator_input), 0, []
    begin_s = time.process_time()
    for row in (result.rows[at] for at in result.front):
        found = evaluator.attributions(row.design)
        if not found:
            continue
        metrics = row.evaluation.metrics
        ending = f"@{study.file.scenarios[0].name}" if study.file.scenarios else ""
        known = next(metrics[key + ending] for key in TIMES if key + ending in metrics)
        if abs(found[0].time_ns - known * 1e9) < 1 and min(found[0].parts_ns.values()) >= 0:
            exact += 1
        else:
            off.append((row.number, found[0].time_ns, known))
    front = len(result.front)
    figures = {
        "front": front,
        "exact": exact,
        "off": off,
        "cpu_s_each": round((time.process_time() - begin_s) / max(front, 1), 2),
        "objectives": [OBJECTIVES[name].label for name in study.goals.objectives],
    }
    print(name, figures, flush=True)
    return figures


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("studies", nargs="*")
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--fidelity")
    given = parser.parse_args()
    names = given.studies or sorted(path.name for path in shipped_folder("studies").glob("*.yaml"))
    options = {"trials": given.trials, "seed": given.seed, "promote": 1, "controls": 0, "settle": 0}
    options |= {"fidelity": [given.fidelity]} if given.fidelity else {}
    found = {name: of_study(name, options) for name in names}
    print(json.dumps(found))
    sys.exit(any(figures["off"] for figures in found.values()))


if __name__ == "__main__":
    main()
