"""Closed forms of any model: MODEL-0 of its own problem, LIBRA's against its published rules."""

import re
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dse.costs import load_prices
from dse.evaluate import build_evaluator
from dse.evaluate.closed_forms.libra import Split, all_reduce_s, extents, iteration_time_s
from dse.evaluate.closed_forms.problem import VIT22B_64, Problem
from dse.evaluate.designs.runs import DesignRuns
from dse.study.compile import compile_study, load_study_file
from simcore import ConfigError, InfeasibleError

P5 = load_study_file("p5_vit22b_64.yaml")

STUDY: dict[str, Any] = {
    "version": 1,
    "question": "?",
    "run": {
        "workload": {"model": "llama3_70b", "sequence": 4096, "global_batch": 256},
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "450 GB/s", "latency": "500 ns"},
                {"topology": "switch", "npus": 32, "bandwidth": "50 GB/s", "latency": "2 us"},
            ],
        },
        "plan": {"tp": 8, "pp": 4, "dp": 8, "micro_batch": 1, "recompute": "selective"},
    },
    "space": {
        "axes": {
            "plan.micro_batch": {"choices": [1, 2, 4]},
            "platform.dimensions[1].bandwidth": {"ladder": ["25 GB/s", "50 GB/s", "100 GB/s"]},
        }
    },
    "objectives": {"iteration_time": "minimise"},
    "constraints": [],
}


def checked(data: dict[str, Any]) -> None:
    build_evaluator(compile_study(data).evaluator_input).check()


def test_the_problem_of_the_shipped_study_is_the_published_one() -> None:
    run = DesignRuns(P5.evaluator_input).without_values()[0]
    problem = asdict(Problem.of(run, load_prices("default")))
    published = asdict(VIT22B_64)
    prices = np.array(problem.pop("usd_per_gb_per_s"))
    assert prices == pytest.approx(np.array(published.pop("usd_per_gb_per_s")))
    assert problem == published


@pytest.mark.parametrize("name", ["model0", "libra"])
def test_any_dense_model_has_a_time_that_more_bandwidth_never_lengthens(name: str) -> None:
    study = compile_study({**STUDY, "evaluator": name})
    evaluator = build_evaluator(study.evaluator_input)
    evaluator.check()
    times = {}
    for design in study.space.designs():
        batch, rate = (float(value) for value in design.values())
        with suppress(InfeasibleError):  # the larger micro-batches may be too much
            times[batch, rate] = evaluator.metrics(design)["iteration_time_s"]
    assert len({batch for batch, _ in times}) > 1
    flop = 6 * 70.6e9 * 256 * 4096
    for (batch, rate), time_s in times.items():
        assert time_s > flop / (256 * 0.7 * 989.5e12) * 0.97
        slower = [t for (b, r), t in times.items() if b == batch and r < rate]
        assert all(time_s <= other for other in slower)


@pytest.mark.parametrize(
    ("change", "at"),
    [
        ({"plan": {"tp": 8, "cp": 2, "pp": 4, "dp": 4, "micro_batch": 1}}, "run.plan.cp"),
        ({"workload": {"model": "dlrm_dcnv2", "global_batch": 65536}}, "run"),
    ],
)
@pytest.mark.parametrize("name", ["model0", "libra"])
def test_what_a_closed_form_knows_nothing_of_is_refused(
    change: dict[str, Any], at: str, name: str
) -> None:
    data = {**STUDY, "run": {**STUDY["run"], **change}, "evaluator": name}
    with pytest.raises(ConfigError, match=re.escape(at)):
        checked(data)


def test_a_knob_that_model0_does_not_read_is_refused() -> None:
    axes = {**STUDY["space"]["axes"], "system.chunks": {"choices": [1, 4]}}
    data = {**STUDY, "space": {"axes": axes}, "evaluator": "model0"}
    with pytest.raises(ConfigError, match=re.escape("system.chunks")):
        checked(data)


@st.composite
def layouts(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...]]:
    npus = tuple(2 ** draw(st.integers(0, 3)) for _ in range(draw(st.integers(1, 4))))
    left, degrees = int(np.prod(npus)), []
    for _ in range(2):
        degrees.append(2 ** draw(st.integers(0, left.bit_length() - 1)))
        left //= degrees[-1]
    return npus, (*degrees, left)


@given(layouts())
@settings(max_examples=100, deadline=None)
def test_groups_fill_dimensions_from_inside_out(
    case: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    npus, degrees = case
    members = np.array(extents(npus, degrees))
    assert tuple(members.prod(axis=1)) == degrees
    assert tuple(members.prod(axis=0)) == npus


def test_groups_that_tile_no_dimension_are_refused() -> None:
    with pytest.raises(InfeasibleError, match="fills no dimension"):
        extents((6, 4), (4, 6))


def split(rates: np.ndarray, **plan: int) -> Split:
    given_plan = {"tp": 1, "pp": 1, "dp": 64, "micro_batch": 1, **plan}
    return Split(**given_plan, npus=(4, 4, 4), bandwidth_bytes_per_s=tuple(rates))


def test_bandwidth_split_as_the_traffic_is_best_for_one_collective() -> None:
    traffic = np.array([2 * 3 / 4, 2 * 3 / 4 / 4, 2 * 3 / 4 / 16])
    best = split(300e9 * traffic / traffic.sum())
    least = all_reduce_s(1e9, (4, 4, 4), best)
    assert least == pytest.approx(1e9 * traffic.sum() / 300e9)
    random = np.random.default_rng(0)
    for share in random.dirichlet([1, 1, 1], size=50):
        assert all_reduce_s(1e9, (4, 4, 4), split(300e9 * share)) >= least * (1 - 1e-12)


def test_without_a_network_to_wait_for_only_the_bubble_is_left() -> None:
    rates = np.full(3, 1e30)
    alone = iteration_time_s(VIT22B_64, split(rates))
    assert alone == pytest.approx(VIT22B_64.compute_s)
    piped = iteration_time_s(VIT22B_64, split(rates, pp=4, dp=16))
    assert piped == pytest.approx(VIT22B_64.compute_s * (32 + 3) / 32)
