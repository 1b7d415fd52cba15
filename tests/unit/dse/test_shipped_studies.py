import math
from pathlib import Path

import pytest

import dse
from dse.config import load_study_file
from simcore import shipped_folder

STUDIES = sorted(path.name for path in shipped_folder("studies").glob("*.yaml"))


@pytest.mark.parametrize("name", STUDIES)
def test_every_knob_and_value_of_a_shipped_study_is_understood(name: str) -> None:
    study = dse.check_study(name)
    assert study.file.question.endswith("?")
    assert study.space.counts.valid > 0


@pytest.mark.parametrize("name", ["llm_gpt.yaml", "p1_cosmic_1024.yaml"])
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


def test_no_design_of_the_cosmic_problem_is_faster_than_its_compute_floor() -> None:
    # 6 x parameters x tokens / (1,024 x 10 TFLOP/s), derived from COSMIC's system and workload
    floor_s = 6 * 4 * 12 * 12288**2 * 2048 * 2048 / (1024 * 10e12)
    assert floor_s == pytest.approx(17.812, abs=5e-4)
    result = dse.run_study("p1_cosmic_1024.yaml", trials=12, executor="serial")
    times = [row.evaluation.objectives["iteration_time"] for row in result.rows if row.is_feasible]
    assert times
    assert min(times) >= floor_s


def test_the_cosmic_baseline_costs_what_was_published() -> None:
    from dse.costs import COSTS, load_prices
    from simcore import load_platform

    study = load_study_file("p1_cosmic_1024.yaml")
    platform = load_platform(study.file.run["platform"])
    assert COSTS["libra_cpp"](load_prices()).cost(platform).total == pytest.approx(8_775_680)
