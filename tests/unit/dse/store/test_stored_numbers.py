"""A number that cannot be is neither an outcome of a design nor a row of the store."""

import json
from math import inf, nan
from typing import Any

import pytest
from small_study import STUDY

from dse.evaluate.base import Account, Evaluation, Measured, evaluate, judge
from dse.evaluate.metrics import Metrics
from dse.evaluate.registry import build_evaluator
from dse.objectives import Aggregate, Goals, Scenario
from dse.store.rows import row_of
from dse.study.compile import compile_study
from dse.study.trials import Trial
from simcore import ConfigError, set_path

MICRO_BATCH, RATE = "plan.micro_batch", "platform.npu.memory_bandwidth"
ONE = {"choices": [1]}
GOALS = Goals(objectives={"iteration_time": "minimise"})


@pytest.mark.parametrize("value", [nan, inf, -inf, -1e-9])
@pytest.mark.parametrize("name", ["iteration_time_s", "bubble_s"])
def test_a_metric_that_cannot_be_fails_its_design(name: str, value: float) -> None:
    metrics = {"iteration_time_s": 1.0, "bubble_s": 0.0, name: value}
    found = judge(Measured(Account(metrics), 0.0), GOALS, "any")
    assert found.state == "failed"
    assert found.reason.startswith(f"the evaluator must give a finite {name} of at least 0, but")


@pytest.mark.parametrize(
    ("goals", "metrics"),
    [
        (
            Goals(objectives={"time_network_cost": "minimise"}),
            {"iteration_time_s": 1e200, "network_cost_usd": 1e200},
        ),
        (
            Goals(
                objectives={"iteration_time": "minimise"},
                scenarios=(Scenario(name="a", weight=1e300), Scenario(name="b", weight=1e300)),
                aggregate=Aggregate(kind="worst"),
            ),
            {"iteration_time_s@a": 1e300, "iteration_time_s@b": 1.0},
        ),
    ],
)
def test_an_objective_that_overflows_fails_its_design(
    goals: Goals, metrics: dict[str, float]
) -> None:
    found = judge(Measured(Account(metrics), 0.0), goals, "any")
    assert found.state == "failed"
    assert found.reason.endswith("must be a finite number, but got inf.")


@pytest.mark.parametrize("column", ["objectives", "constraints", "metrics"])
@pytest.mark.parametrize("value", [nan, inf, -inf])
def test_no_row_is_made_of_a_number_that_is_not_finite(column: str, value: float) -> None:
    numbers: dict[str, Any] = {column: {"iteration_time_s": value}}
    trial = Trial(number=0, design={}, evaluation=Evaluation(state="complete", **numbers))
    with pytest.raises(ValueError, match="not JSON compliant"):
        row_of("trial", trial)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("platform.npu.efficiency.product_memory", [0.8, 1e-12]),
        ("platform.npu.efficiency.gemm", [0.8, 1e-15]),
        ("platform.npu.efficiency.memory", [0.8, 1e-300]),
    ],
)
def test_designs_too_slow_to_count_are_infeasible_by_name(path: str, values: list[float]) -> None:
    axes = {**STUDY["space"]["axes"], path: {"choices": values}}
    study = compile_study(set_path({**STUDY, "constraints": []}, "space.axes", axes))
    evaluator = build_evaluator(study.evaluator_input)
    design = next(d for d in study.space.designs() if d[path] == values[1])
    outcome = evaluate(evaluator, study.goals, design)
    assert outcome.state == "infeasible"
    assert outcome.reason.startswith(f"time_in_range: {path}: with {values[1]:g}, ")


@pytest.mark.parametrize(
    "change",
    [
        {"space.axes": {"plan.micro_batch": {"choices": [1, inf]}}},
        {"space.axes": {"plan.micro_batch": {"choices": [1, nan]}}},
        {"space.axes": {MICRO_BATCH: ONE, RATE: {"low": "1 GB/s", "high": "1e999 GB/s"}}},
        {"space.axes": {MICRO_BATCH: ONE, RATE: {"ladder": ["1 GB/s", "1e400 GB/s"]}}},
        {"run.platform.dimensions[0].bandwidth": "1e400 GB/s"},
        {"run.workload.global_batch": inf},
        {"constraints": [{"objective": "iteration_time", "at_most": "1e999 s"}]},
        {"constraints": [{"objective": "mfu", "at_least": inf}]},
        {"constraints": [{"objective": "mfu", "at_least": nan}]},
        {"search.trials": inf},
        {"reference_point": {"iteration_time": "1e400 s", "capital_cost": "1 USD"}},
    ],
)
def test_a_study_has_no_number_that_is_not_finite(change: dict[str, Any]) -> None:
    data = STUDY
    for path, value in change.items():
        data = set_path(data, path, value)
    with pytest.raises(ConfigError, match=r"^[^\n]*, but got [^\n]*\.$"):
        build_evaluator(compile_study(data).evaluator_input).check()


def test_metrics_are_written_as_json_writes_them() -> None:
    numbers = [0.0, -0.0, 1.0, 0.1, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, 1 / 3, 123456789.0]
    for first in range(len(numbers)):
        turned = numbers[first:] + numbers[:first]
        metrics = {f'100 % of "\u00e4" {place}': value for place, value in enumerate(turned)}
        for given in (metrics, Metrics.of(metrics), Metrics.of(dict.fromkeys(metrics, -0.0))):
            evaluation = Evaluation(state="complete", metrics=given)
            row = row_of("trial", Trial(number=0, design={}, evaluation=evaluation))
            assert row[6] == json.dumps(dict(given), separators=(",", ":"))
    packed: Any = Metrics.of({"a": nan})
    with pytest.raises(ValueError, match="JSON"):
        row_of(
            "trial",
            Trial(number=0, design={}, evaluation=Evaluation(state="complete", metrics=packed)),
        )


def test_numbers_of_metrics_are_written_as_json_writes_them() -> None:
    metrics = {"a_s": 0.0, "b_s": -0.0, "50%_s": 1e16, "d_s": 0.1 + 0.2, "e_s": 5e-324, "f_s": 0.0}
    for _ in range(2):  # the second time from what is kept
        evaluation = Evaluation(state="complete", metrics=Metrics.of(metrics))
        row = row_of("trial", Trial(number=0, design={}, evaluation=evaluation))
        assert row[6] == json.dumps(metrics, separators=(",", ":"))
