"""Error of NPUs that are taken to stay in step where messages meet (``phase_end: together``).

Random small designs of every family of networks, on ``flow`` and on ``congestion_aware_multidim``,
of which those count whose NPUs need not stay in step: the time held in step over that of every NPU
and message. Prints one JSON object. Run: ``python benchmarks/in_step.py --seeds 40``.
"""

import argparse
import json
import sys
from pathlib import Path
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "property"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from every_message import FOLLOW
from test_in_step import AWARE, Case, case_of, runner, stacked

from simcore.engines.iteration import Iteration
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.graphs.families import FAMILIES
from simcore.workload import build_graph


def end_ns(one: Iteration) -> int:
    """End of an iteration."""
    return int(one.finish_ns.max())


def ratio(case: Case, backend: str) -> float | None:
    """Time in step over that of every message; None: refused, or NPUs provably stay in step."""
    workload, plan, platform, system = case
    held = system.model_copy(update={"phase_end": "together"})
    try:
        found = runner(platform, held, backend).run(workload, plan)
        if not any("taken to stay in step" in note for note in found.notes):
            return None
        every = runner(platform, system, backend).run_graph(build_graph(workload, plan), FOLLOW)
    except (InfeasibleError, SimulationError, ConfigError):
        return None
    return end_ns(found) / end_ns(every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=40, help="designs of each family")
    seeds = range(parser.parse_args().seeds)
    cases = [(case_of(family, seed), "flow") for family in FAMILIES for seed in seeds]
    cases += [(stacked(seed), backend) for backend in (AWARE, "flow") for seed in seeds]
    found = [one for one in (ratio(*case) for case in cases) if one is not None]
    print(
        json.dumps(
            {
                "benchmark": "in_step",
                "designs": len(found),
                "least": round(min(found), 3),
                "median": round(median(found), 4),
                "most": round(max(found), 3),
            }
        )
    )


if __name__ == "__main__":
    main()
