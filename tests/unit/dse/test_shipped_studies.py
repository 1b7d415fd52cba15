import math
from pathlib import Path

import pytest

import dse
from dse.config import load_study_file
from simcore import load_run, shipped_folder, simulate_run

STUDIES = sorted(path.name for path in shipped_folder("studies").glob("*.yaml"))


@pytest.mark.parametrize("name", STUDIES)
def test_every_knob_and_value_of_a_shipped_study_is_understood(name: str) -> None:
    study = dse.check_study(name)
    assert study.file.question.endswith("?")
    assert study.space.counts.valid > 0


@pytest.mark.parametrize(
    "name",
    ["llm_gpt.yaml", "p1_cosmic_1024.yaml", "p1_cosmic_2048.yaml", "llama3_405b_16384.yaml"],
)
def test_a_shipped_study_runs_in_the_simulator(name: str, tmp_path: Path) -> None:
    result = dse.run_study(name, trials=24, sampler="random", executor="serial", out=tmp_path / "o")
    complete = [row for row in result.rows if row.is_feasible]
    assert complete
    for row in complete:
        assert all(math.isfinite(v) and v > 0 for v in row.evaluation.objectives.values())
        assert 0 < row.evaluation.metrics["mfu"] <= 1
    for row in result.rows:
        if row.state == "infeasible":
            assert row.evaluation.reason
            assert not row.evaluation.metrics  # known before anything was simulated


@pytest.mark.parametrize(
    ("name", "flop_per_s", "published_s"),
    [
        ("p1_cosmic_1024.yaml", 1024 * 10e12, 17.812),
        ("p1_cosmic_2048.yaml", 2048 * 900e12, 0.099),
    ],
)
def test_no_design_of_a_cosmic_problem_is_faster_than_its_compute_floor(
    name: str, flop_per_s: float, published_s: float
) -> None:
    # 6 x parameters x tokens over the machine's peak, derived from COSMIC's systems and workload
    floor_s = 6 * 4 * 12 * 12288**2 * 2048 * 2048 / flop_per_s
    assert floor_s == pytest.approx(published_s, abs=5e-4)
    result = dse.run_study(name, trials=12, executor="serial")
    times = [row.evaluation.objectives["iteration_time"] for row in result.rows if row.is_feasible]
    assert times
    assert min(times) >= floor_s


@pytest.mark.parametrize(
    ("name", "published_usd"),
    [("p1_cosmic_1024.yaml", 8_775_680), ("p1_cosmic_2048.yaml", 8_596_480)],
)
def test_a_cosmic_baseline_costs_what_was_published(name: str, published_usd: float) -> None:
    from dse.costs import COSTS, load_prices
    from simcore import load_platform

    platform = load_platform(load_study_file(name).file.run["platform"])
    assert COSTS["libra_cpp"](load_prices()).cost(platform).total == pytest.approx(published_usd)


def test_the_published_plan_of_llama_3_reaches_about_its_published_utilization() -> None:
    # 400 TFLOP/s per NPU, MFU 41 %: arXiv:2407.21783, table 4, 16,384 GPUs
    run = load_run(load_study_file("llama3_405b_16384.yaml").file.run)
    assert simulate_run(run).mfu == pytest.approx(0.41, rel=0.1)
