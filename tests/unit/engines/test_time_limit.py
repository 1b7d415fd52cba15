"""Times beyond what 64 bits count are refused by name, before anything wraps."""

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf, nan
from typing import Any

import numpy as np
import pytest

from simcore import (
    ConfigError,
    InfeasibleError,
    IterationResult,
    RunTemplate,
    SimcoreError,
    SimulationError,
    simulate_run,
)
from simcore.compute import COMPUTE_MODELS
from simcore.compute.base import BEYOND_NS, whole_ns
from simcore.engines.iteration import Iteration
from simcore.engines.limits.counted_time import MAX_NS, MAX_S
from simcore.engines.local_training import _whole_mean
from simcore.engines.stages.counts import counts_of_graph
from simcore.engines.stages.time_limit import TimeLimit
from simcore.engines.stages.times import operator_times_ns
from simcore.simulation import run_with_iteration
from simcore.workload import build_graph

TABLE: dict[str, Any] = {
    "version": 1,
    "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 8, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 8, "dp": 4},
}
NPU, EFFICIENCY = "platform.npu", "platform.npu.efficiency"
FP8 = {"platform.npu": "h100_80", "workload.precision": "fp8"}


def simulated(values: dict[str, object]) -> IterationResult:
    return simulate_run(RunTemplate.from_table(TABLE).with_values(values))


@pytest.mark.parametrize(
    ("values", "field", "faster"),
    [
        ({f"{EFFICIENCY}.product_memory": 1e-12}, f"{EFFICIENCY}.product_memory", "larger"),
        ({f"{EFFICIENCY}.gemm": 1e-14}, f"{EFFICIENCY}.gemm", "larger"),
        ({f"{EFFICIENCY}.gemm": 5e-324}, f"{EFFICIENCY}.gemm", "larger"),
        ({**FP8, f"{EFFICIENCY}.gemm_narrow": 1e-12}, f"{EFFICIENCY}.gemm_narrow", "larger"),
        ({f"{NPU}.peak.bf16": "1e-9 FLOP/s"}, f"{NPU}.peak.bf16", "larger"),
        ({f"{NPU}.memory_bandwidth": "1e-300 B/s"}, f"{NPU}.memory_bandwidth", "larger"),
        ({"system.endpoint_delay": "100 years"}, "system.endpoint_delay", "smaller"),
        (
            {"platform.dimensions[1].latency": "1000 years"},
            "platform.dimensions[1].latency",
            "smaller",
        ),
        (
            {"platform.dimensions[0].bandwidth": "1e-300 B/s"},
            "platform.dimensions[0].bandwidth",
            "larger",
        ),
    ],
)
def test_a_time_too_long_to_count_names_the_field_to_which_it_is_due(
    values: dict[str, object], field: str, faster: str
) -> None:
    with pytest.raises(InfeasibleError) as caught:
        simulated(values)
    assert caught.value.rule == "time_in_range"
    told = str(caught.value)
    assert told.startswith(f"time_in_range: {field}: with ")
    assert told.endswith(f"can be counted; choose a {faster} value")
    assert "\n" not in told


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("issue", "1e6 s"),
        ("kernel_overhead", "1e300 s"),
        ("gemm_ramp", "10 years"),
        ("tile_fill", 1e15),
        ("operand_cost", 1e308),
        ("casts", 1e12),
        ("processors", 10**18),
        ("processors", 10**400),
        ("gemm", nan),
        ("tile_fill", inf),
    ],
)
def test_what_no_accelerator_has_is_refused_where_it_is_read(field: str, value: object) -> None:
    with pytest.raises(ConfigError, match=rf"^platform\.npu\.efficiency\.{field}: must be .*\.$"):
        simulated({f"{EFFICIENCY}.{field}": value})


@pytest.mark.parametrize("pp", [1, 2, 4])
@pytest.mark.parametrize(
    "values",
    [
        {f"{EFFICIENCY}.product_memory": 1e-6},
        {f"{EFFICIENCY}.issue": "1000 s"},
        {f"{EFFICIENCY}.tile_fill": 1e6},
        {f"{EFFICIENCY}.processors": 10**9},
        {**FP8, f"{EFFICIENCY}.casts": 1e6},
    ],
)
def test_years_are_counted_exactly(values: dict[str, object], pp: int) -> None:
    plan = {"plan.pp": pp, "plan.dp": 4 // pp}
    run = RunTemplate.from_table(TABLE).with_values({**values, **plan})
    graph, npu = build_graph(run.workload, run.plan), run.platform.npu
    compute = COMPUTE_MODELS[run.compute]()
    times = operator_times_ns(graph.operators, npu, run.workload.precision, compute).tolist()
    counts = counts_of_graph(graph).operators.tolist()
    whole_s = Fraction(sum(a * b for a, b in zip(times, counts, strict=True)), 10**9)
    result = simulate_run(run)
    computed_s = Fraction(result.compute_s) * pp
    assert float(computed_s / whole_s) == pytest.approx(1.0, rel=1e-9)
    assert float(whole_s) / pp < result.iteration_time_s < MAX_S


def test_a_time_that_is_no_number_or_too_long_is_never_a_short_one() -> None:
    assert whole_ns(nan) == whole_ns(inf) == whole_ns(1e300) == BEYOND_NS > MAX_NS
    assert whole_ns(1e-300) == 1
    assert whole_ns(0.0) == 0


@pytest.mark.parametrize("every", [2, 3, 10**9])
def test_the_mean_of_iterations_needs_no_sum_beyond_64_bits(every: int) -> None:
    plain, last = np.array([MAX_NS - 1, 5, 0]), np.array([MAX_NS - 2, 12, 7])
    mean = _whole_mean(plain, last, every).tolist()
    assert mean == [
        (int(a) * (every - 1) + int(b)) // every for a, b in zip(plain, last, strict=True)
    ]


@pytest.mark.parametrize("column", ["finish_ns", "booked_ns"])
def test_an_iteration_that_ends_before_it_begins_is_no_result(column: str) -> None:
    _, iteration = run_with_iteration(RunTemplate.from_table(TABLE).with_values({}))
    changed: dict[str, Any] = {column: -getattr(iteration, column)}
    with pytest.raises(SimulationError, match="ended before it began"):
        replace(iteration, **changed)
    assert isinstance(replace(iteration), Iteration)


@pytest.mark.parametrize("value", [-1.0, nan, inf])
@pytest.mark.parametrize("name", ["iteration_time_s", "mfu", "hfu", "sent_bytes", "figures"])
def test_a_figure_that_cannot_be_is_no_result(name: str, value: float) -> None:
    result = simulated({})
    changed: dict[str, Any] = {name: value}
    if name == "sent_bytes":
        changed = {name: (1.0, value)}
    elif name == "figures":
        changed = {name: {"share": value}}
    with pytest.raises(SimcoreError, match=r"which cannot be: look for a value"):
        replace(result, **changed)


def test_messages_that_meet_may_wait_for_those_of_all_npus() -> None:
    slow = {"platform.dimensions[1].bandwidth": "10 kB/s"}
    run = RunTemplate.from_table(TABLE).with_values(slow)
    graph, compute = build_graph(run.workload, run.plan), COMPUTE_MODELS[run.compute]()
    times = compute.operator_times_ns(graph.operators, run.platform.npu, run.workload.precision)

    def check(*, messages_meet: bool) -> None:
        limit = TimeLimit(
            platform=run.platform, system=run.system, compute=compute, messages_meet=messages_meet
        )
        limit.check(graph, counts_of_graph(graph), np.array(times, np.int64))

    check(messages_meet=False)
    with pytest.raises(InfeasibleError, match=r"^time_in_range: platform\.dimensions\[1\]\.band"):
        check(messages_meet=True)


@pytest.mark.parametrize(("phase_end", "too_early"), [("together", 1e3), ("each", 1e5)])
def test_slow_links_of_a_graph_take_as_long_as_they_take_until_that_cannot_be_counted(
    phase_end: str, too_early: float
) -> None:
    leaves = {"family": "leaf_spine", "params": {"leaves": 4, "npus_per_leaf": 2, "spines": 1}}
    table = {
        **TABLE,
        "workload": {"model": "gpt3_175b_4layers", "sequence": 64, "global_batch": 8},
        "platform": {"npu": "a100_80", "network": {**leaves, "latency": "500 ns"}},
        "plan": {"tp": 2, "dp": 2, "pp": 2},
        "system": {"phase_end": phase_end},
        "backend": "flow",
    }
    time_s, slower, template = [0.0], 1e3, {**table["platform"]["network"]}
    for power in range(9, -9, -3):
        table["platform"] = {
            **table["platform"],
            "network": {**template, "bandwidth": f"1e{power} B/s"},
        }
        run = RunTemplate.from_table(table).with_values({})
        try:
            time_s.append(simulate_run(run).iteration_time_s)
        except InfeasibleError as error:
            refused = error
            break
    assert refused.rule == "time_in_range"
    assert len(time_s) > 2
    assert all(a < b <= slower * a for a, b in pairwise(time_s[1:]))
    assert time_s[-1] < MAX_S < too_early * slower * time_s[-1], "refused far too early"
