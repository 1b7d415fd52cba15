"""Designs that name who moves data: bounds stay below them, and many at once are each by itself."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from simcore import lower_bounds, simulate_many, simulate_run
from simcore.config import RunTemplate

RUN: dict[str, Any] = {
    "version": 1,
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "h100_80",
        "dimensions": [
            {"topology": "switch", "npus": 4, "bandwidth": "400 GB/s", "latency": "700 ns"},
            {"topology": "switch", "npus": 4, "bandwidth": "50 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 2, "pp": 2, "dp": 4, "micro_batch": 2},
    "system": {"all_reduce": "ring", "mover": "cores", "reducer": "cores"},
}
WHO: list[dict[str, object]] = [
    {"system.mover": "cores"},
    {"system.mover": "cores", "system.mover_cores": 3},
    {"system.mover": "cores", "system.mover_cores": 60},
    {"system.mover": "copy_engines"},
]
PLANS: list[dict[str, object]] = [
    {"plan.zero_stage": zero, "plan.overlap_tensor": over, "plan.schedule": schedule}
    for zero, over, schedule in product((0, 3), (True, False), ("1f1b", "1f1b_overlapped"))
]
DESIGNS = [{**who, **plan} for who, plan in product(WHO, PLANS)]


@pytest.fixture(scope="module")
def times_s() -> list[float]:
    template = RunTemplate.from_table(RUN)
    return [simulate_run(template.with_values(one)).iteration_time_s for one in DESIGNS]


def test_no_design_is_sooner_than_its_bound(times_s: list[float]) -> None:
    bounds = lower_bounds(RUN, DESIGNS)
    assert np.isfinite(bounds).all()
    assert (bounds <= times_s).all()
    assert np.median(bounds / times_s) > 0.5


def test_many_designs_at_once_have_the_times_that_each_has_by_itself(times_s: list[float]) -> None:
    many = simulate_many(RUN, DESIGNS)
    np.testing.assert_allclose(many.iteration_time_ns * 1e-9, times_s, rtol=1e-12)


def test_nothing_is_sooner_than_links_and_computes_that_do_not_touch(times_s: list[float]) -> None:
    free = {**RUN, "system": {"all_reduce": "ring"}}
    template = RunTemplate.from_table(free)
    ideal = [simulate_run(template.with_values(plan)).iteration_time_s for plan in PLANS]
    assert (np.array(times_s).reshape(len(WHO), -1) >= ideal).all()
