"""Results show themselves: a study's best rows and its picture, an iteration's parts."""

import re
from pathlib import Path

import pytest
from small_study import searched

import dse
import simcore
from simcore.errors import ConfigError

RUN = "t5_11b_1024_tpu_v3"


@pytest.fixture(scope="module")
def result() -> dse.StudyResult:
    from small_study import STUDY

    return searched(STUDY, trials=40)


def test_the_best_of_each_objective_is_a_row_of_the_front(result: dse.StudyResult) -> None:
    front = result.pareto_front()
    assert list(result.best) == ["iteration_time", "capital_cost"]
    for name, row in result.best.items():
        assert row[f"objectives.{name}"] == front[f"objectives.{name}"].min()
        assert row["number"] in set(front["number"])


def test_the_plot_shows_every_design_that_was_compared(result: dse.StudyResult) -> None:
    off, on = result.plot().data
    assert len(on.x) == len(result.front)
    assert len(off.x) + len(on.x) == len(result.compared)
    assert list(on.x) == list(result.pareto_front()["objectives.iteration_time"])


def test_a_study_without_feasible_designs_says_so(result: dse.StudyResult) -> None:
    none = dse.StudyResult(study=result.study, rows=[], front=[], summary={})
    assert none.best == {}
    with pytest.raises(ConfigError, match="must have a feasible design"):
        none.plot()


def test_runs_and_services_are_found_by_name_and_show_parts_that_sum_to_the_whole() -> None:
    run = simcore.load_run(RUN)
    assert run == simcore.load_run(simcore.shipped_folder("configs") / "runs" / f"{RUN}.yaml")
    html = simcore.simulate_run(run)._repr_html_()
    shares = [float(share) for share in re.findall(r"<td>([\d.]+)%</td>", html)]
    assert sum(shares) == pytest.approx(100, abs=0.5)
    assert simcore.load_service(Path("llama3_70b_16_h100_pools")).prompt > 0
    with pytest.raises(ConfigError, match=f"did you mean '{RUN}'"):
        simcore.load_run("t5_11b_1024_tpu_v")
    with pytest.raises(ConfigError, match="no_such"):
        simcore.load_run("no_such.yaml")
