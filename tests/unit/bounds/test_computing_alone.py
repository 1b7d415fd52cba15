"""Where bounds are said to know computing alone, no network moves them; elsewhere it does."""

from pathlib import Path
from typing import Any

import numpy as np
from every_case import with_every

import simcore

TRAINED: dict[str, Any] = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 512, "global_batch": 32},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "700 ns"},
            {"topology": "switch", "npus": 4, "bandwidth": "10 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 4, "dp": 2, "pp": 2},
}
SERVED = Path(__file__).parents[3] / "configs" / "runs" / "llama3_70b_8_h100_decode.yaml"
CHUNKS = {"plan.interleave": 2}


def bound_s(run: Any, changes: dict[str, Any], rate: str) -> float:
    paths = [f"platform.dimensions[{at}].bandwidth" for at in range(2)]
    design = {**changes, **dict.fromkeys(paths[: len(run["platform"]["dimensions"])], rate)}
    return float(simcore.lower_bounds(run, [design])[0])


@with_every(
    "changes, reason",
    [
        ({}, ""),
        ({"plan.schedule": "zb_h1"}, ""),
        ({"plan.schedule": "1f1b_overlapped"}, ""),
        (CHUNKS, ""),
        ({"backend": "congestion_aware"}, ""),
        ({"backend": "flow"}, ""),
        ({"backend": "packet"}, "backend packet"),
        ({"backend": "flit"}, "backend flit"),
        ({**CHUNKS, "plan.schedule": "dualpipe"}, "schedule dualpipe with 2 chunks"),
        ({**CHUNKS, "plan.schedule": "1f1b_overlapped"}, "1f1b_overlapped with 2 chunks"),
        ({**CHUNKS, "plan.interleave_group": 4}, "every 4 micro-batches, not every 2"),
    ],
)
def test_a_reason_is_told_exactly_where_the_network_moves_no_bound(
    changes: dict[str, Any], reason: str
) -> None:
    run = simcore.RunTemplate.from_table(TRAINED).with_values(changes)
    told = simcore.why_computing_alone(run)
    assert reason in told
    assert bool(told) == bool(reason)
    slow, fast = (bound_s(TRAINED, changes, rate) for rate in ("1 GB/s", "900 GB/s"))
    assert np.isfinite([slow, fast]).all()
    assert (slow > fast) == (not told)


def test_serving_is_bounded_by_computing_alone() -> None:
    run = simcore.load_run(SERVED)
    assert simcore.why_computing_alone(run) == "an inference workload"
    platform = {"npu": "h100_80", "dimensions": TRAINED["platform"]["dimensions"]}
    workload = {
        "kind": "inference",
        "model": "llama3_8b",
        "step": "decode",
        "sequence": 1024,
        "global_batch": 64,
    }
    plan = {"tp": 4, "dp": 4, "micro_batch": 16, "schedule": "forward"}
    served = {"workload": workload, "platform": platform, "plan": plan}
    slow, fast = (bound_s(served, {}, rate) for rate in ("1 GB/s", "900 GB/s"))
    assert 0 < slow == fast
