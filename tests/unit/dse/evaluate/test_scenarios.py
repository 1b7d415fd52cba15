"""A design under several circumstances is what it is under each of them, put together."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_study import STUDY, searched

from dse.cli.commands import main
from dse.evaluate import build_evaluator
from dse.evaluate.base import Account, Evaluation, evaluate
from dse.objectives import Aggregate
from dse.results.regret import regret_lines
from dse.study.compile import Study, compile_study
from simcore import ConfigError, InfeasibleError

LONGER = {"workload": {"sequence": 1024}}
SCENARIOS: list[dict[str, Any]] = [
    {"name": "plain"},
    {"name": "longer", "run": LONGER, "weight": 2},
    {"name": "busy", "bandwidth": "50%"},
]


def study_of(**change: Any) -> Study:
    return compile_study({**copy.deepcopy(STUDY), **change})


def outcome(study: Study) -> Evaluation:
    """Of the first design that is split widely enough to fit in memory."""
    split = {"plan.tp": 8, "plan.pp": 2, "plan.micro_batch": 1}
    design = next(d for d in study.space.designs() if split.items() <= d.items())
    return evaluate(build_evaluator(study.evaluator_input), study.goals, design)


def alone() -> list[Evaluation]:
    """The outcomes of the same design in studies of one scenario each."""
    longer, slow = copy.deepcopy(STUDY), copy.deepcopy(STUDY)
    longer["run"]["workload"]["sequence"] = 1024
    axes = slow["space"]["axes"]
    axes["platform.dimensions[0].bandwidth"]["ladder"] = ["10 GB/s", "20 GB/s", "100 GB/s"]
    axes["platform.dimensions[1].bandwidth"]["ladder"] = ["2.5 GB/s", "25 GB/s"]
    return [outcome(compile_study(data)) for data in (STUDY, longer, slow)]


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("sum", lambda a, b, c: a + 2 * b + c),
        ("mean", lambda a, b, c: (a + 2 * b + c) / 4),
        ("worst", lambda a, b, c: max(a, 2 * b, c)),
        ("50%", lambda a, b, c: sorted([a, 2 * b, c])[1]),
        ("100%", lambda a, b, c: max(a, 2 * b, c)),
    ],
)
def test_an_objective_is_the_aggregate_of_its_values(aggregate: str, expected: Any) -> None:
    found = outcome(study_of(scenarios=SCENARIOS, aggregate=aggregate))
    times_s = [one.objectives["iteration_time"] for one in alone()]
    assert len(set(times_s)) == 3
    assert found.objectives["iteration_time"] == pytest.approx(expected(*times_s), rel=1e-12)


def test_a_link_is_paid_for_whole_where_a_share_of_it_is_used() -> None:
    found = outcome(study_of(scenarios=SCENARIOS)).metrics
    plain, _, slow = alone()
    assert found["iteration_time_s@busy"] == slow.metrics["iteration_time_s"]
    assert found["capital_cost_usd@busy"] == plain.metrics["capital_cost_usd"]
    assert slow.metrics["capital_cost_usd"] < plain.metrics["capital_cost_usd"]


def test_the_worst_and_the_quantile_of_what_is_maximised_are_the_least() -> None:
    values, weights = [3.0, 1.0, 2.0], [1.0, 1.0, 1.0]
    assert Aggregate(kind="worst").of(values, weights, "maximise") == 1.0
    assert Aggregate(kind="quantile", share=0.5).of(values, weights, "maximise") == 2.0
    assert Aggregate(kind="quantile", share=0.3).of(values, weights, "minimise") == 1.0


def test_many_designs_at_once_are_what_each_is_alone() -> None:
    huge = {"name": "huge", "run": {"workload": {"sequence": 65536}}}
    study = study_of(scenarios=[*SCENARIOS, huge])
    evaluator = build_evaluator(study.evaluator_input)
    designs = list(study.space.designs())[::9]
    told = evaluator.accounts(designs)
    assert evaluator.takes_many
    assert {isinstance(one, Account) for one in told} == {True, False}
    for design, one in zip(designs, told, strict=True):
        if isinstance(one, Account):
            assert evaluator.account(design) == one
        else:
            assert isinstance(one, InfeasibleError)
            with pytest.raises(InfeasibleError, match=re.escape(str(one))):
                evaluator.account(design)


def test_a_limit_holds_in_every_scenario() -> None:
    plain, longer, _ = (one.objectives["iteration_time"] for one in alone())
    limit = {"objective": "iteration_time", "at_most": f"{(plain + longer) / 2} s"}
    assert plain < longer
    assert outcome(study_of(constraints=[limit])).state == "complete"
    found = outcome(study_of(constraints=[limit], scenarios=SCENARIOS[:2]))
    assert found.state == "infeasible"
    excess = found.constraints["iteration_time_at_most"]
    name = SCENARIOS[1]["name"]
    assert excess > 0
    assert found.reason == f"in {name}: iteration_time_at_most is exceeded by {excess:.1%}"


def test_a_design_that_one_scenario_cannot_build_says_which() -> None:
    huge = {"name": "huge", "run": {"workload": {"model": "gpt3_175b", "sequence": 32768}}}
    found = outcome(study_of(scenarios=[{"name": "plain"}, huge]))
    assert found.state == "infeasible"
    assert "in huge: " in found.reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scenarios": [{"name": "a"}, {"name": "a"}]}, "different names"),
        ({"scenarios": [{"name": "a b"}]}, "scenarios"),
        ({"scenarios": [{"name": "a", "bandwidth": "0%"}]}, "bandwidth"),
        ({"aggregate": "0%"}, "aggregate: must be above 0%"),
        ({"aggregate": "best"}, "aggregate"),
        ({"scenarios": [{"name": "a"}], "evaluator": "model0"}, "need the simulator"),
    ],
)
def test_mistakes_are_told(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        study_of(**change)


def test_a_mistake_within_a_scenario_names_it() -> None:
    study = study_of(scenarios=[{"name": "odd", "run": {"workload": {"model": "no_such"}}}])
    with pytest.raises(ConfigError, match=r"scenarios\.odd\.run\.workload\.model"):
        build_evaluator(study.evaluator_input)


def test_the_folder_of_a_study_of_scenarios_tells_all(tmp_path: Path) -> None:
    file, out = tmp_path / "study.yaml", tmp_path / "out"
    file.write_text(json.dumps({**STUDY, "scenarios": SCENARIOS, "aggregate": "worst"}))
    for line in (
        ["check", str(file)],
        ["study", str(file), "--trials", "12", "--out", str(out), "--quiet"],
        ["study", str(file), "--trials", "16", "--out", str(out), "--quiet", "--resume"],
        ["report", str(out)],
        ["explain", str(out), "0"],
    ):
        done = CliRunner().invoke(main, line)
        assert done.exit_code == 0, done.output
    summary = json.loads((out / "summary.json").read_text())
    assert summary["proposals"] == 16
    assert "least regret in iteration time" in (out / "report.html").read_text()


def test_regret_is_the_largest_distance_from_the_best_found_for_each_scenario() -> None:
    data = {**copy.deepcopy(STUDY), "scenarios": SCENARIOS, "aggregate": "worst"}
    data["objectives"] = {"iteration_time": "minimise", "mfu": "maximise"}
    result = searched(data, trials=40)
    names = [str(scenario["name"]) for scenario in SCENARIOS]
    rows = [row for row in result.rows if row.is_feasible and row.repeats is None]
    for objective, metric, best_of in (
        ("iteration_time", "iteration_time_s", min),
        ("mfu", "mfu", max),
    ):
        values = {
            row.number: [row.evaluation.metrics[f"{metric}@{name}"] for name in names]
            for row in rows
        }
        ideal = [best_of(column) for column in zip(*values.values(), strict=True)]
        regret = {
            number: max(abs(v - best) / best for v, best in zip(own, ideal, strict=True))
            for number, own in values.items()
        }
        found = result.summary["regret"][objective]
        assert [found["best"][name]["value"] for name in names] == ideal
        for name, one in found["best"].items():
            assert values[one["trial"]][names.index(name)] == one["value"]
        least = found["least"]
        assert least["regret"] == pytest.approx(min(regret.values()), abs=1e-15)
        assert regret[least["trial"]] == pytest.approx(least["regret"], abs=1e-15)
        assert least["value"] == values[least["trial"]][names.index(least["scenario"])]
        front = {str(result.rows[place].number) for place in result.front}
        assert set(found["front"]) == front
        assert all(found["front"][n] == pytest.approx(regret[int(n)], abs=1e-15) for n in front)
    told = regret_lines(result.summary)
    assert len(told) == 2
    assert told[0].startswith("least regret in iteration time: trial ")


def test_a_study_without_scenarios_tells_no_regret() -> None:
    result = searched(STUDY, trials=10)
    assert "regret" not in result.summary
    assert regret_lines(result.summary) == []
