"""Studies whose designs are services of two pools."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from click.testing import CliRunner
from small_service import STUDY

import dse
from dse.cli import main
from dse.evaluate import build_evaluator
from dse.evaluate.serving.evaluator import METRICS, ServiceEvaluator
from dse.objectives import OBJECTIVES
from dse.rank.pareto import non_dominated
from dse.study.compile import compile_study
from simcore import ConfigError, ServiceTemplate, shipped_folder, simulate_service


def changed(**parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(STUDY), **parts}


def written(data: dict[str, Any], folder: Path) -> Path:
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def test_a_design_has_the_metrics_of_the_service_that_it_means() -> None:
    study = compile_study(STUDY)
    evaluator = build_evaluator(study.evaluator_input)
    assert isinstance(evaluator, ServiceEvaluator)
    template = ServiceTemplate.from_table(STUDY["run"])
    designs = [design for design in study.space.designs() if evaluator.admits(design)]
    assert designs
    for design in designs[:8]:
        rate = {"platform.dimensions[0].bandwidth": "{:g} B/s"}
        values = {name: rate.get(name, "{}").format(value) for name, value in design.items()}
        named = {name: text if name in rate else int(text) for name, text in values.items()}
        own = simulate_service(template.with_values(named))
        found = evaluator.metrics(design)
        assert own.metrics().items() <= found.items()
        assert found.keys() >= METRICS
        # a token costs what the machine costs in the time in which it comes out
        usd_per_s = found["usd_per_hour"] / 3600
        assert found["usd_per_token"] == pytest.approx(usd_per_s / own.tokens_per_s)
        assert found["memory_fill"] <= 1


def test_the_front_of_a_search_is_that_of_all_designs(tmp_path: Path) -> None:
    file = written(STUDY, tmp_path)
    whole = dse.enumerate_study(file)
    rows = [row for row in whole.rows if row.is_feasible]
    assert {row.state for row in whole.rows} == {"complete", "infeasible"}
    found = dse.run_study(file, sampler="design", trials=200)
    names = list(STUDY["objectives"])
    points = np.array([[row.evaluation.objectives[name] for name in names] for row in rows])
    best = {tuple(point) for point in points[non_dominated(points)].tolist()}
    front = [found.rows[index].evaluation.objectives for index in found.front]
    assert {tuple(own[name] for name in names) for own in front} == best
    for row in rows:
        assert row.evaluation.metrics["requests_per_s"] >= 10


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    file, tables = written(STUDY, tmp_path), []
    for name, workers in (("one", 1), ("two", 2)):
        executor = "serial" if workers == 1 else "local"
        dse.run_study(file, out=tmp_path / name, executor=executor, workers=workers)
        frame = pd.read_parquet(tmp_path / name / "trials.parquet")
        kept = ("number", "state", "params.", "objectives.", "constraints.", "metrics.")
        tables.append(frame[[name for name in frame if str(name).startswith(kept)]].to_csv())
    assert len(tables[0].splitlines()) == 21
    assert tables[0] == tables[1]


def test_report_and_front_say_that_nothing_was_measured(tmp_path: Path) -> None:
    recorded = changed(run=STUDY["run"] | {"compute": "recorded"})
    result = dse.run_study(written(recorded, tmp_path), out=tmp_path / "out")
    assert result.front
    page = (tmp_path / "out" / "report.html").read_text()
    assert "a prior, not validated here: load tests were predicted with compute: measured" in page
    assert "time per output token" in page


def test_a_service_under_several_loads_is_what_it_is_under_each(tmp_path: Path) -> None:
    loads: list[dict[str, Any]] = [
        {"name": "chat"},
        {"name": "summaries", "run": {"prompt": 2048, "answer": 16}},
        {"name": "busy_links", "bandwidth": "10%"},
    ]
    study = compile_study(changed(scenarios=loads, aggregate="worst", constraints=[]))
    evaluator = build_evaluator(study.evaluator_input)
    design = next(filter(evaluator.admits, study.space.designs()))
    found = evaluator.metrics(design)
    own = {"prompt": 2048, "answer": 16}
    alone = {
        "chat": STUDY["run"],
        "summaries": {**STUDY["run"], **own},
    }
    for name, run in alone.items():
        single = compile_study(changed(run=run))
        metrics = build_evaluator(single.evaluator_input).metrics(design)
        assert {f"{metric}@{name}": value for metric, value in metrics.items()}.items() <= (
            found.items()
        )
    # the links are slower, the machine is as dear
    assert found["request_s@busy_links"] > found["request_s@chat"]
    assert found["capital_cost_usd@busy_links"] == found["capital_cost_usd@chat"]
    result = dse.run_study(written(changed(scenarios=loads), tmp_path), trials=8)
    assert "regret" in result.summary
    assert "load tests with pools" in evaluator.measured_against(design)


@pytest.mark.parametrize(
    ("change", "parts"),
    [
        ({"evaluator": "simulator"}, ["evaluator", "must be service", "prefill and decode"]),
        ({"evaluator": "model0"}, ["evaluator", "must be service", "prefill and decode"]),
        (
            {"objectives": {"time_bandwidth": "minimise"}},
            ["objectives.time_bandwidth: a service has", "time_to_first_token", "time_bandwidth"],
        ),
        (
            {"constraints": [{"objective": "iteration_time", "at_most": "1 s"}]},
            ["constraints: a service has", "time_to_first_token", "iteration_time_at_most"],
        ),
        ({"cost": None}, ["cost", "required"]),
        (
            {"space": {"axes": {"prefill.plan.tp": {"choices": [2, 4]}}}},
            ["space.require: both pools must use the 8 NPUs", "6"],
        ),
        (
            {"space": {"axes": {"prefill.plann.tp": {"choices": [2, 4]}}}},
            ["space: prefill.plann.tp", "unknown key", "did you mean 'plan'?"],
        ),
        (
            {"space": {"axes": {"decode.batch": {"choices": [0, 8]}}}},
            ["space: decode.batch", "greater than or equal to 1"],
        ),
        ({"run": {**STUDY["run"], "model": "lama3_8b"}}, ["run.model", "lama3_8b"]),
        ({"run": {**STUDY["run"], "answer": 1}}, ["run.answer"]),
        (
            {"scenarios": [{"name": "odd", "run": {"prompt": 0}}]},
            ["scenarios.odd.run.prompt", "greater than or equal to 1"],
        ),
    ],
)
def test_a_mistake_is_told_with_its_place(
    change: dict[str, Any], parts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        dse.check_study(written(changed(**change), tmp_path))
    for part in parts:
        assert part in str(caught.value)


def test_the_gap_of_services_is_told_by_their_own_objectives(tmp_path: Path) -> None:
    ended = CliRunner().invoke(main, ["gap", str(written(STUDY, tmp_path)), "--gap", "0"])
    assert ended.exit_code == 0, ended.output
    assert "time per output token: best found" in ended.output
    assert "gap of 0.000% closed" in ended.output


def test_a_study_without_a_design_to_evaluate_says_why(tmp_path: Path) -> None:
    run = {**STUDY["run"], "prompt": 10**12}
    file = written(changed(run=run, search={"sampler": "design", "trials": 20}), tmp_path)
    ended = CliRunner().invoke(main, ["study", str(file), "--out", str(tmp_path / "out")])
    assert ended.exit_code == 0, ended.output
    assert "0 proposals" in ended.output
    told = ended.output[ended.output.index("No feasible design") :]
    assert "none passes the checks" in told
    assert "of them: size_in_range: prefill: " in told


def test_objectives_of_services_are_those_that_they_can_have() -> None:
    wanted = {"time_to_first_token", "time_per_output_token", "requests_per_s", "tokens_per_s"}
    for name in wanted:
        assert METRICS.issuperset(OBJECTIVES[name].metrics)


def test_kernel_times_of_one_s_own_are_read_before_anything_is_evaluated(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    table = tmp_path / "mine" / "product.csv"
    study = copy.deepcopy(STUDY)
    npu = yaml.safe_load((shipped_folder("configs") / "npus" / "h100_80.yaml").read_text())
    path = tmp_path / "npu.yaml"
    path.write_text(yaml.safe_dump({**npu, "kernels": {"tables": "./mine"}}))
    study["run"]["platform"]["npu"] = "npu.yaml"
    table.write_text("format,m,n,k,us\nbf16,64,64,64,9\n")
    compiled = compile_study(study, folder=str(tmp_path))
    build_evaluator(compiled.evaluator_input).check()
    table.write_text("format,m,n,k,us\nbf16,64,64,64,-9\n")
    with pytest.raises(ConfigError, match=r"product.csv:2: must have format, m, n, k and us"):
        build_evaluator(compile_study(study, folder=str(tmp_path)).evaluator_input).check()
