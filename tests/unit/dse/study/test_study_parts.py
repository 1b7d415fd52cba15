"""Limits, time budgets, platforms by name, and the data of pictures."""

import math
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import dse
from dse.objectives import OBJECTIVES, Goals, Limit
from dse.report.page.axes import axes_of
from dse.report.page.chosen import chosen_rows
from dse.report.page.page import report_page
from dse.study.compile import compile_study, load_study_file
from simcore import ConfigError, shipped_folder


def p5() -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(
        (shipped_folder("studies") / "p5_vit22b_64.yaml").read_text()
    )
    return data


def written(tmp_path: Path, data: dict[str, Any]) -> Path:
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def test_a_limit_on_an_objective_makes_designs_infeasible_by_how_much(tmp_path: Path) -> None:
    data = p5()
    data["constraints"].append({"objective": "iteration_time", "at_most": "2.6 s"})
    result = dse.run_study(written(tmp_path, data), trials=80, executor="serial")
    over = 0
    for row in result.rows:
        time_s = row.evaluation.objectives.get("iteration_time")
        if time_s is None:
            continue
        violation = row.evaluation.constraints["iteration_time_at_most"]
        assert violation == pytest.approx(time_s / 2.6 - 1)
        assert row.is_feasible == (time_s <= 2.6)
        over += time_s > 2.6
    assert over
    assert all(result.pareto_front()["objectives.iteration_time"] <= 2.6)


@pytest.mark.parametrize("evaluator", ["model0", "libra", "simulator"])
def test_no_machine_over_a_limit_on_its_price_is_proposed(tmp_path: Path, evaluator: str) -> None:
    data = {**p5(), "evaluator": evaluator}
    data["constraints"].append({"objective": "capital_cost", "at_most": "400 kUSD"})
    result = dse.run_study(written(tmp_path, data), trials=60, executor="serial", settle=0)
    costs = [row.evaluation.objectives.get("capital_cost", 0.0) for row in result.rows]
    assert len(result.pareto_front()) >= 3
    assert max(costs) <= 400e3


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"objective": "capital_cost", "at_most": 400}, "must have a unit, such as '400 USD'"),
        ({"objective": "capital_cost", "at_most": "4 s"}, "must have one of the units USD"),
        ({"objective": "capital_cost"}, "exactly one of at_most and at_least"),
        ({"objective": "costs", "at_most": "1 USD"}, "an objective must be one of"),
        ({"objective": "mfu", "at_least": "1 s"}, "must be a number"),
    ],
)
def test_a_limit_that_makes_no_sense_is_told_so(limit: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        compile_study({**p5(), "constraints": [limit]})


def test_a_limit_from_below_is_mirrored() -> None:
    limit = Limit(name="x", metric=OBJECTIVES["mfu"], bound=0.5, sense="at_least")
    assert limit.violation({"mfu": 0.4}) == pytest.approx(0.2)
    assert limit.violation({"mfu": 0.6}) == pytest.approx(-0.2)
    assert limit.excess({"mfu": 0.4}) == "x is missed by 20.0%"


def test_products_of_metrics_are_objectives() -> None:
    goals = Goals(objectives={"time_network_cost": "minimise"})
    metrics = {"iteration_time_s": 2.0, "network_cost_usd": 3.0}
    assert goals.values(metrics) == {"time_network_cost": 6.0}
    assert goals.needs_costs


def test_a_time_budget_ends_a_study() -> None:
    result = dse.run_study("p5_vit22b_64.yaml", trials=100_000, timeout_s=0.5, executor="serial")
    assert 0 < len(result.rows) < 100_000
    assert result.summary["wall_s"] < 20


def test_a_platform_by_name_can_be_varied_but_not_in_its_number_of_dimensions() -> None:
    data = p5()
    data["run"]["platform"] = "vit22b_p5"
    assert compile_study(data).space.counts.valid == 16_128
    data["space"]["products"][1]["dimensions"] = [2]
    with pytest.raises(ConfigError, match=r"run.platform: must hold its dimensions in place"):
        compile_study(data)


def test_fewer_dimensions_keep_their_own_tables_and_vectors() -> None:
    from dse.evaluate.simulator import SimulatorEvaluator

    study = load_study_file("gpt3_175b_1024_networks.yaml")
    evaluator = SimulatorEvaluator(study.evaluator_input)
    design = next(d for d in study.space.designs() if "platform.dimensions[2].npus" not in d)
    design["platform.dimensions[3].bandwidth"] = 100e9
    design["system.all_reduce[3]"] = "double_binary_tree"
    run = evaluator.run(design)
    assert len(run.platform.dimensions) == 3
    assert run.platform.dimensions[2].latency_s == 1700e-9  # the pod's, position 3 of the file
    assert run.platform.dimensions[2].bandwidth_bytes_per_s == 100e9
    assert run.system.all_reduce[2] == "double_binary_tree"
    assert len(run.system.all_reduce) == 3


def test_the_picture_shows_every_feasible_design_once() -> None:
    result = dse.run_study("p5_vit22b_64.yaml", trials=60, executor="serial")
    chosen = chosen_rows(result)
    first, second, *_ = axes_of(result, chosen.rows)
    front = [value or 0.0 for value in first.values[: len(result.front)]]
    feasible = {row.number for row in result.rows if row.is_feasible and row.repeats is None}
    assert {row.number for row in chosen.rows if row.number >= 0} == feasible
    assert front == sorted(front)
    assert (first.label, first.unit) == ("iteration time", "s")
    assert all(value and math.isfinite(value) for value in (*first.values, *second.values))


def test_without_plotly_the_report_has_tables_and_says_how_to_get_the_picture(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = dse.run_study("p5_vit22b_64.yaml", trials=20, executor="serial")
    for name in [name for name in sys.modules if name.split(".")[0] == "plotly"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    page = report_page(result)
    assert "simcore-dse[report]" in page
    assert "<table>" in page
