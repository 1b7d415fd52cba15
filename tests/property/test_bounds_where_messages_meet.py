"""Designs whose messages share links, or whose passes share a stage, are no faster than bounded."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from test_lower_bounds import random_values

from simcore import ConfigError, InfeasibleError, RunTemplate, SimulationError, Simulator
from simcore.bounds import DesignBounds, DesignColumns

TINY: dict[str, Any] = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 8},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 2, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 2, "dp": 2, "pp": 2},
    "system": {"all_reduce": "ring"},
}
DEGREES: dict[str, list[Any]] = {
    "plan.tp": [1, 2, 4],
    "plan.cp": [1, 1, 2],
    "plan.pp": [1, 2, 4],
    "platform.dimensions[0].npus": [2, 4],
    "platform.dimensions[1].npus": [2, 4],
    "platform.dimensions[1].bandwidth": ["0.5 GB/s", "10 GB/s", "200 GB/s"],
    "platform.dimensions[1].latency": ["0.7 ns", "1 us", "1 ms"],
}
MEETING: dict[str, list[Any]] = {
    **DEGREES,
    "platform.dimensions[0].topology": ["ring", "fully_connected", "switch"],
    "platform.dimensions[1].topology": ["ring", "fully_connected", "switch"],
    "system.all_reduce[0]": ["ring", "direct", "halving_doubling", "double_binary_tree"],
    "system.all_reduce[1]": ["ring", "direct", "halving_doubling", "by_topology"],
    "system.collective_optimization": ["baseline", "local_bw_aware"],
    "system.inter_dimension": ["ascending", "round_robin"],
    "system.chunks": [1, 3, 8],
    "system.active_chunks_per_dimension": [1, 2],
    "system.endpoint_delay": ["0 ns", "10 ns"],
    "system.scheduling": ["lifo", "fifo"],
    "system.phase_end": ["together", "each"],
    "plan.zero_stage": [0, 1, 3],
    "plan.overlap_weights": [False, True],
}
SCHEDULED: dict[str, list[Any]] = {
    **DEGREES,
    "workload.global_batch": [16, 32],
    "plan.schedule": ["zb_h1", "1f1b_overlapped", "dualpipe"],
    "plan.interleave": [1, 1, 2],
    "plan.micro_batch": [1, 2],
    "plan.sequence_parallel": [False, True],
    "system.execution": ["astra_sim", "astra_sim", "streams"],
    "system.phase_end": ["together", "each"],
}


def answers(
    seed: int, wanted: int, knobs: Mapping[str, Sequence[Any]], table: Mapping[str, Any]
) -> tuple[DesignBounds, DesignColumns, np.ndarray[Any, Any]]:
    """Bounds of designs that can be simulated, the designs, and (N,) their times in seconds."""
    random, simulator = np.random.default_rng(seed), Simulator()
    template = RunTemplate.from_table(table)
    designs: list[dict[str, object]] = []
    times_s: list[float] = []
    while len(designs) < wanted:
        values = random_values(random, knobs)
        if values is None:
            continue
        try:
            times_s.append(simulator.simulate(template.with_values(values)).iteration_time_s)
        except (InfeasibleError, SimulationError, ConfigError):
            continue
        designs.append(values)
    columns = DesignColumns.of(designs)
    return DesignBounds(template, columns.choices), columns, np.array(times_s)


@pytest.mark.parametrize(("backend", "wanted"), [("congestion_aware_multidim", 60), ("flow", 30)])
def test_no_design_whose_messages_meet_is_faster_than_its_bound(backend: str, wanted: int) -> None:
    bounds, columns, times_s = answers(5, wanted, MEETING, {**TINY, "backend": backend})
    bound_s = bounds.times_s(columns.codes)
    assert (bound_s > 0).all()
    above = np.flatnonzero(bound_s > times_s)
    assert not above.size, bound_s[above] / times_s[above]
    assert (bound_s > bounds.compute_times_s(columns.codes)).mean() > 0.9
    assert np.median(bound_s / times_s) > 0.3


def test_where_times_of_messages_have_no_bound_computing_is_certain_and_no_more() -> None:
    model = {"layers": 4, "hidden": 128, "heads": 4, "ffn": 512, "vocabulary": 512, "name": "dense"}
    small = {"model": model, "sequence": 64, "global_batch": 8}
    table = {**TINY, "workload": small, "backend": "packet"}
    knobs = {**MEETING, "system.chunks": [1]}
    bounds, columns, times_s = answers(0, 6, knobs, table)
    bound_s = bounds.times_s(columns.codes)
    assert (bound_s > 0).all()
    assert (bound_s <= times_s).all()
    assert np.array_equal(bound_s, bounds.compute_times_s(columns.codes))


@pytest.mark.parametrize("seed", range(2))
def test_no_pipeline_that_overlaps_or_fills_its_bubble_is_faster_than_its_bound(seed: int) -> None:
    bounds, columns, times_s = answers(seed, 60, SCHEDULED, TINY)
    floor_s, bound_s = bounds.floor_times_s(columns.codes), bounds.times_s(columns.codes)
    assert (floor_s > 0).all()
    assert (floor_s <= bound_s).all()
    above = np.flatnonzero(bound_s > times_s)
    assert not above.size, bound_s[above] / times_s[above]
    assert np.median(bound_s / times_s) > 0.4
