import math
from functools import cache
from typing import Any

import pytest

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.evaluate.designs.assign import trimmed_run
from dse.run.runner import Runner
from dse.study.compile import load_study_file
from simcore import load_run, shipped_folder, simulate_run

MOST_MFU = {"p2_llama3_405b_16k_h100.yaml": 0.55}
"""What real runs of the problem do not reach: 41 % and 43 % are published."""

NOT_SIMULATED = {"p5_vit22b_64.yaml"}
"""Judged by MODEL-0, and enumerated by a test of its own."""

MINUTES = {
    "llama3_405b_16384.yaml",
    "llama3_405b_networks.yaml",
    "moe_all_to_all.yaml",
    "p3_moe_1p8t_9216.yaml",
    "roce_or_infiniband.yaml",
    "two_jobs_on_leaves.yaml",
}
"""Designs of which take a minute each to be judged exactly, follow each packet, are graphs of
4,096 NPUs, half a second each, or several jobs that are each followed NPU by NPU."""

FEWER = {"two_jobs_on_leaves.yaml": 2, "moe_all_to_all.yaml": 8, "llama3_405b_networks.yaml": 12}
"""Designs that are simulated of studies in which each takes half a second or more."""

LINKS = "links_within_capacity"

STUDIES = sorted(path.name for path in shipped_folder("studies").glob("*.yaml"))


@cache
def short_run(name: str) -> dse.StudyResult:
    """Twelve trials of a shipped study, and its front judged exactly."""
    few: dict[str, Any] = {"settle": 0, "executor": "serial"}
    few |= {"promote": 1, "controls": 0} if load_study_file(name).levels else {}
    return dse.run_study(name, trials=12, **few)


@pytest.mark.parametrize("name", STUDIES)
def test_every_knob_and_value_of_a_shipped_study_is_understood(name: str) -> None:
    study = dse.check_study(name)
    assert study.file.question.endswith("?")
    assert study.space.counts.valid > 0


@pytest.mark.parametrize("name", [name for name in STUDIES if name not in NOT_SIMULATED])
def test_a_shipped_study_runs_in_the_simulator(name: str) -> None:
    trials = FEWER.get(name, 24)
    changed = {"search.trials": trials, "search.sampler": "random", "search.fidelity": []}
    study = load_study_file(name, {**changed, "execution.executor": "serial"})
    result = Runner(study, out=None, resume=False, watcher=None).search(None)
    complete = [row for row in result.rows if row.is_feasible]
    assert complete
    for row in complete:
        assert all(math.isfinite(v) and v > 0 for v in row.evaluation.objectives.values())
        if result.study.file.evaluator == "simulator":
            assert 0 < row.evaluation.metrics["mfu"] <= MOST_MFU.get(name, 1)
    for row in result.rows:
        assert row.state in ("complete", "infeasible")
        if row.state == "infeasible":
            assert row.evaluation.reason
            limits = [
                limit for limit in row.evaluation.constraints if "_at_" in limit or limit == LINKS
            ]
            if not limits:
                assert not row.evaluation.metrics  # known before anything was simulated


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in MINUTES else [])
        for name in STUDIES
        if name not in NOT_SIMULATED
    ],
)
def test_the_front_of_a_shipped_study_is_judged_exactly_and_within_capacity(name: str) -> None:
    result = short_run(name)
    study = result.study
    assert result.summary["failed"] == 0
    finest = study.levels[-1] if study.levels else ""
    evaluator = build_evaluator(study.judged_at(finest).evaluator_input)
    assert result.front
    for row in (result.rows[index] for index in result.front):
        exact = evaluate(evaluator, study.goals, row.design)
        assert exact.state == "complete"
        assert exact.objectives == row.evaluation.objectives
        assert exact.constraints.get(LINKS, 0) <= 0


@pytest.mark.parametrize(
    ("name", "flop_per_s", "published_s"),
    [
        ("p1_cosmic_1024.yaml", 1024 * 10e12, 17.812),
        ("p1_cosmic_2048.yaml", 2048 * 900e12, 0.099),
        ("p1_cosmic_512.yaml", 512 * 459e12, 0.776),
    ],
)
def test_no_design_of_a_cosmic_problem_is_faster_than_its_compute_floor(
    name: str, flop_per_s: float, published_s: float
) -> None:
    # 6 x parameters x tokens over the machine's peak, derived from COSMIC's systems and workload
    floor_s = 6 * 4 * 12 * 12288**2 * 2048 * 2048 / flop_per_s
    assert floor_s == pytest.approx(published_s, abs=5e-4)
    result = short_run(name)
    times = [row.evaluation.objectives["iteration_time"] for row in result.rows if row.is_feasible]
    assert times
    assert min(times) >= floor_s


@pytest.mark.parametrize(
    ("name", "published_usd"),
    [
        ("p1_cosmic_512.yaml", 2_693_120),
        ("p1_cosmic_1024.yaml", 8_775_680),
        ("p1_cosmic_2048.yaml", 8_596_480),
    ],
)
def test_a_cosmic_baseline_costs_what_was_published(name: str, published_usd: float) -> None:
    from dse.costs import COSTS, load_prices
    from simcore import load_platform

    platform = load_platform(load_study_file(name).file.run["platform"])
    assert COSTS["libra_cpp"](load_prices()).cost(platform).total == pytest.approx(published_usd)


@pytest.mark.parametrize(("replicas", "pods", "published_mfu"), [(128, 8, 0.41), (64, 4, 0.43)])
def test_the_published_plans_of_llama_3_reach_about_their_published_utilization(
    replicas: int, pods: int, published_mfu: float
) -> None:
    # 400 and 430 TFLOP/s per NPU on 16,384 and 8,192 GPUs: arXiv:2407.21783, table 4
    mfu = published_llama_mfu(replicas, pods)
    assert 0.30 < mfu < 0.55
    assert mfu == pytest.approx(published_mfu, rel=0.1)


def test_the_cautious_start_of_llama_3_loses_what_its_bubble_and_its_repeats_cost() -> None:
    # 16 micro-batches on 16 stages: busy 16 of 31 slots, with 4 chunks on each 16 of 19.75; one
    # forward pass of three is repeated, but for the head
    start = simulate_run(load_run(llama_run())).mfu / (16 / 31 * 3 / 4)
    published = published_llama_mfu(replicas=128, pods=8) / (16 / 19.75)
    assert start == pytest.approx(published, rel=0.12)


def published_llama_mfu(replicas: int, pods: int) -> float:
    """Utilization of the published plan on *pods* pods."""
    values = {
        "plan.dp": replicas,
        "platform.dimensions[2].npus": pods,
        "plan.interleave": 4,
        "plan.recompute": "selective",
        "system.chunks": 4,
        "system.all_reduce": ["ring"] * 3,
    }
    return simulate_run(load_run(llama_run(), values)).mfu


def llama_run() -> dict[str, Any]:
    """The run of problem P2 in three network dimensions."""
    file = load_study_file("p2_llama3_405b_16k_h100.yaml").file
    return trimmed_run(file.run, (0, 1, 2))
