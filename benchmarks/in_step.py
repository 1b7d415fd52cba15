"""Error of NPUs that are taken to stay in step where messages meet (``phase_end: together``).

Random small designs of every family of networks, on ``flow`` and on ``congestion_aware_multidim``,
of which those count whose NPUs need not stay in step: the time held in step over that of every NPU
and message. Prints one JSON object. Run: ``python benchmarks/in_step.py --seeds 40``.
"""

import argparse
import json
import sys
from pathlib import Path
from random import Random
from statistics import median

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "property"))
from test_in_step import AWARE, FOLLOW, SHAPES, Case, case_of, plan_of, runner, system_of

from simcore.engines.iteration import Iteration
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.graphs.families import FAMILIES
from simcore.machine import Dimension, Platform, load_npu
from simcore.workload import build_graph


def stacked(seed: int) -> Case:
    """A random design on a stack of dimensions."""
    rng = Random(seed)
    shape = rng.choice(SHAPES)
    dimensions = tuple(
        Dimension(
            topology=rng.choice(("ring", "fully_connected", "switch")),
            npus=npus,
            bandwidth_bytes_per_s=rng.choice([20e9, 333e9]),
            latency_s=rng.choice([25e-9, 700e-9]),
        )
        for npus in shape
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    return (*plan_of(platform.npus, rng), platform, system_of(len(shape), rng))


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
