"""Machines from far too slow to far too fast: a counted time, equal to a slow exact one, or a word.

The slow truth is the documented formula of the roofline in fractions, added up in Python's own
integers.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, isfinite
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore import IterationResult, Run, RunTemplate, SimcoreError, simulate_run
from simcore.compute import COMPUTE_MODELS
from simcore.compute.roofline import SHORT, TILES, WIDE_HEAD
from simcore.engines.limits.counted_time import MAX_S
from simcore.engines.stages.counts import counts_of_graph
from simcore.engines.stages.times import operator_times_ns
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.workload import build_graph
from simcore.workload.graph import Kernel

TABLE: dict[str, Any] = {
    "version": 1,
    "workload": {
        "model": {"name": "small", "layers": 4, "hidden": 256, "heads": 8, "head_dim": 42,
                  "ffn": 1000, "vocabulary": 1000},
        "sequence": 96,
        "global_batch": 16,
    },
    "platform": {
        "npu": "h100_80",
        "dimensions": [
            {"topology": "switch", "npus": 2, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1.7 us"},
        ],
    },
    "plan": {"tp": 2, "pp": 2, "dp": 2},
    "system": {"phase_end": "together"},
}  # fmt: skip
TEMPLATE = RunTemplate.from_table(TABLE)
PARTS = [
    *("gemm", "gemm_narrow", "attention", "unfused_attention", "misaligned", "attention_share"),
    *("memory", "product_memory"),
]
TIMES = ("gemm_ramp", "kernel_overhead", "issue")
PER_ELEMENT = ("tile_fill", "operand_cost", "casts", "attention_half", "attention_width")
NPU, FIRST, SECOND = "platform.npu", "platform.dimensions[0]", "platform.dimensions[1]"


def decades(least: float, most: float) -> st.SearchStrategy[float]:
    return st.floats(least, most).map(lambda power: 10.0**power)


def quantities(unit: str, least: float, most: float) -> st.SearchStrategy[str]:
    return decades(least, most).map(lambda value: f"{value!r} {unit}")


def efficiencies(slow: float) -> dict[str, st.SearchStrategy[object]]:
    """Fields of an accelerator; parts of its peaks down to 10**-slow."""
    place = f"{NPU}.efficiency"
    return {
        **{f"{place}.{name}": decades(-slow, 0) for name in PARTS},
        **{f"{place}.{name}": quantities("s", -12, 4) for name in TIMES},
        **{f"{place}.{name}": decades(-6, 7) for name in PER_ELEMENT},
        f"{place}.processors": st.integers(0, 300) | st.integers(0, 10**10),
    }


FIELDS: dict[str, st.SearchStrategy[object]] = {
    **efficiencies(320),
    f"{NPU}.peak.bf16": quantities("FLOP/s", -300, 300),
    f"{NPU}.peak.fp8": quantities("FLOP/s", 0, 30),
    f"{NPU}.memory_bandwidth": quantities("B/s", -300, 300),
    f"{NPU}.memory": quantities("B", -300, 300),
    **{f"{where}.bandwidth": quantities("B/s", -300, 300) for where in (FIRST, SECOND)},
    **{f"{where}.latency": quantities("s", -300, 300) for where in (FIRST, SECOND)},
    f"{FIRST}.oversubscription": decades(0, 300),
    "system.endpoint_delay": quantities("s", -300, 300),
    "system.chunks": st.integers(1, 5000),
    "workload.precision": st.sampled_from(["bf16", "fp8", "fp32"]),
    "workload.global_batch": st.integers(0, 8).map(lambda n: 4 * 2**n) | st.integers(1, 2**70),
    "workload.sequence": st.integers(1, 200) | st.integers(1, 2**70),
    "plan.micro_batch": st.sampled_from([1, 2, 2**40]),
    "plan.flash_attention": st.booleans(),
    "plan.pp": st.sampled_from([1, 2, 4]),
    "compute": st.sampled_from(["roofline", "recorded", "ideal"]),
}
EXTREMES = st.dictionaries(st.sampled_from(list(FIELDS)), st.none(), max_size=4).flatmap(
    lambda chosen: st.fixed_dictionaries({name: FIELDS[name] for name in chosen})
)
SLOW_FIELDS = FIELDS | efficiencies(9)
SLOWED = st.dictionaries(
    st.sampled_from([*efficiencies(9), "workload.precision", "plan.flash_attention"]),
    st.none(),
    min_size=1,
    max_size=5,
).flatmap(lambda chosen: st.fixed_dictionaries({name: SLOW_FIELDS[name] for name in chosen}))


def outcome(values: Mapping[str, object]) -> tuple[Run, IterationResult] | None:
    """What is simulated, or None where one sentence is told instead."""
    pp = int(str(values.get("plan.pp", 2)))
    try:
        run = TEMPLATE.with_values({**values, "plan.dp": 4 // pp})
        return run, simulate_run(run)
    except SimcoreError as error:
        told = str(error)
        assert 10 < len(told) < 600
        assert "\n" not in told
        return None


def compute_s(run: Run, times_ns: list[int]) -> Fraction:
    """Mean over the stages of what they compute."""
    counts = counts_of_graph(build_graph(run.workload, run.plan)).operators.tolist()
    whole_ns = sum(time * count for time, count in zip(times_ns, counts, strict=True))
    return Fraction(whole_ns, 10**9 * run.plan.pp)


@pytest.mark.parametrize("pp", [1, 2, 4])
def test_an_ordinary_machine_is_counted(pp: int) -> None:
    assert outcome({"plan.pp": pp}) is not None


@settings(max_examples=300, deadline=None)
@given(values=EXTREMES)
def test_an_extreme_machine_is_told_or_counted(values: dict[str, object]) -> None:
    found = outcome(values)
    if found is None:
        return
    run, result = found
    assert 0 < result.iteration_time_s < MAX_S
    assert all(value >= 0 and isfinite(value) for value in result.metrics().values())
    operators = build_graph(run.workload, run.plan).operators
    compute = COMPUTE_MODELS[run.compute]()
    precision, npu = run.workload.precision, run.platform.npu
    exact_s = compute_s(run, operator_times_ns(operators, npu, precision, compute).tolist())
    assert result.compute_s == pytest.approx(float(exact_s), rel=1e-9)
    assert result.iteration_time_s >= float(exact_s) * (1 - 1e-9)


@settings(max_examples=150, deadline=None)
@given(values=SLOWED)
def test_compute_times_are_those_of_fractions(values: dict[str, object]) -> None:
    found = outcome(values)
    if found is None:
        return
    run, result = found
    npu, precision = run.platform.npu, run.workload.precision
    times_ns = []
    for operator in build_graph(run.workload, run.plan).operators:
        busy_s = sum([exact_s(kernel, npu, precision) for kernel in operator.kernels])
        issued_s = len(operator.kernels) * Fraction(npu.efficiency.issue_s)
        times_ns.append(ceil(max(busy_s, issued_s) * 10**9))
    ns_each = compute_s(run, [1] * len(times_ns))  # what rounding up may decide otherwise
    expected_s = float(compute_s(run, times_ns))
    assert result.compute_s == pytest.approx(expected_s, rel=1e-9, abs=float(ns_each))


def exact_s(kernel: Kernel, npu: Npu, precision: Precision) -> Fraction:
    """``Roofline`` as its docstring has it."""
    part = npu.efficiency
    narrow = precision in (Precision.FP8, Precision.FP4)
    is_narrow = narrow and not kernel.name.startswith("head")
    plain = Fraction(npu.peak(Precision.BF16 if narrow else precision))
    memory = Fraction(npu.memory_bandwidth_bytes_per_s) * Fraction(part.memory)
    flop, moved, cast_s = Fraction(kernel.flop), Fraction(kernel.bytes), Fraction(0)
    rate, reading, extra_s = plain, memory, Fraction(0)
    if kernel.kind == "elementwise":
        moved *= Fraction(part.traffic)
    if kernel.kind == "gemm":
        rate *= Fraction(part.gemm)
        if is_narrow:
            rate = Fraction(npu.peak(precision)) * Fraction(part.gemm_narrow or part.gemm)
            operands = kernel.groups * (kernel.m * kernel.k + kernel.k * kernel.n)
            own = Fraction(precision.bytes)
            moved = max(moved - (2 - own) * operands, own * operands)
            cast_s = Fraction(part.casts) * operands / memory
        bandwidth = Fraction(npu.memory_bandwidth_bytes_per_s)
        reading = bandwidth * Fraction(part.product_memory or part.memory)
        flop *= (1 + Fraction(part.tile_fill) / kernel.k) * rounds(kernel, npu)
        extra_s = Fraction(part.gemm_ramp_s)
    elif kernel.kind == "attention":
        share = Fraction(part.attention) * Fraction(part.attention_share)
        share *= max(Fraction(SHORT), 1 / (1 + Fraction(part.attention_half) / kernel.n))
        if kernel.k < WIDE_HEAD:
            width = Fraction(part.attention_width)
            wide = Fraction(kernel.k, WIDE_HEAD) * (WIDE_HEAD + width) / (kernel.k + width)
            share *= max(Fraction(SHORT), wide)
        if kernel.name.endswith("core gradient"):
            share *= Fraction(part.attention_backward)
        if not kernel.name.startswith("attention core"):
            share = Fraction(part.unfused_attention or part.attention)
            share *= Fraction(part.misaligned) if kernel.k % 8 else 1
        rate *= share
    return max(flop / rate + extra_s, moved / reading) + cast_s + Fraction(part.kernel_overhead_s)


def rounds(kernel: Kernel, npu: Npu) -> Fraction:
    """Whole rounds of the best tiles over parts of rounds of the largest."""
    cores, cost = npu.efficiency.processors, Fraction(npu.efficiency.operand_cost)
    if not cores:
        return Fraction(1)
    taken = []
    for rows, columns in TILES:
        tiles = kernel.groups * ceil(Fraction(kernel.m, rows)) * ceil(Fraction(kernel.n, columns))
        taken.append(ceil(Fraction(tiles, cores)) * (rows * columns + cost * (rows + columns)))
    rows, columns = TILES[0]
    whole = Fraction(kernel.groups * kernel.m * kernel.n, rows * columns * cores)
    return min(taken) / (whole * (rows * columns + cost * (rows + columns)))


FASTER_IF_LARGER = [f"{NPU}.efficiency.{name}" for name in PARTS]
FASTER_IF_SMALLER = [
    f"{NPU}.efficiency.{name}"
    for name in (*TIMES, "tile_fill", "casts", "attention_half", "attention_width")
]


@settings(max_examples=150, deadline=None)
@given(
    values=SLOWED,
    changed=st.sampled_from([*FASTER_IF_LARGER, *FASTER_IF_SMALLER]),
    pair=st.tuples(st.floats(0, 1, exclude_min=True), st.floats(0, 1, exclude_min=True)),
)
def test_a_faster_part_is_never_slower(
    values: dict[str, object], changed: str, pair: tuple[float, float]
) -> None:
    slow, fast = sorted(pair, reverse=changed in FASTER_IF_SMALLER)
    unit = " s" if changed.rsplit(".", 1)[1] in TIMES else 0
    times = []
    for value in (slow, fast):
        shown = f"{value!r}{unit}" if unit else value
        # one NPU after the other: what overlaps may be slower where a part of it is faster
        alone = {"plan.tp": 8, "plan.pp": 1, changed: shown}
        try:
            run = TEMPLATE.with_values({**values, **alone, "plan.dp": 1})
            times.append(simulate_run(run).iteration_time_s)
        except SimcoreError:
            times.append(MAX_S)
    assert times[1] <= times[0]
