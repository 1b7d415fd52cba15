"""Studies whose designs are jobs that share a machine."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

import dse
from dse.cli import main
from dse.evaluate import build_evaluator
from dse.evaluate.designs.runs import DesignRuns
from dse.evaluate.jobs import JobsEvaluator
from dse.run.api import check_study
from dse.space import slot_of
from dse.study.compile import compile_study
from simcore import ConfigError, InfeasibleError, load_jobs, simulate_jobs

MODEL = {"name": "tiny", "layers": 1, "hidden": 256, "heads": 8, "ffn": 1024, "vocabulary": 1024}
JOB = {"workload": {"model": MODEL, "sequence": 128, "global_batch": 8}, "plan": {"dp": 4}}
LEAVES = {
    "family": "leaf_spine",
    "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 1},
    "bandwidth": "2 GB/s",
    "latency": "500 ns",
}
FRAGMENTED = "jobs[0].npus.rule == 'fragmented'"
STUDY: dict[str, Any] = {
    "version": 1,
    "evaluator": "jobs",
    "run": {
        "platform": {"npu": "h100_80", "network": LEAVES},
        "backend": "flow",
        "jobs": [
            {"name": "first", **JOB, "npus": {"rule": "contiguous"}},
            {"name": "2nd job", **JOB, "npus": {"rule": "fragmented"}, "start": "1 us"},
        ],
    },
    "space": {
        "axes": {
            "platform.network.params.spines": {"choices": [1, 4]},
            "jobs[0].npus.rule": {"choices": ["contiguous", "fragmented"]},
            "jobs[0].npus.options.block": {"choices": [1, 2], "when": FRAGMENTED},
            "jobs[0].plan.dp": {"choices": [4, 8]},
            "jobs[1].placement": {"choices": ["as_is", "greedy"]},
        }
    },
    "objectives": {
        "first_iteration_s": "minimise",
        "job_2nd_job_slowdown_ratio": "minimise",
        "capital_cost": "minimise",
    },
    "constraints": ["fits_in_memory", {"objective": "worst_slowdown_ratio", "at_most": 3}],
    "cost": {"model": "bill_of_materials", "network": "bill_of_materials"},
    "search": {"sampler": "exhaustive", "trials": 30},
    "execution": {"executor": "serial"},
}


def changed(**parts: Any) -> dict[str, Any]:
    return {**copy.deepcopy(STUDY), **parts}


def written(data: dict[str, Any], folder: Path) -> Path:
    file = folder / "study.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def evaluator_of(data: dict[str, Any]) -> JobsEvaluator:
    found = build_evaluator(compile_study(data).evaluator_input)
    assert isinstance(found, JobsEvaluator)
    return found


SPLIT: dict[str, bool | int | float | str] = {
    "platform.network.params.spines": 1,
    "jobs[0].npus.rule": "fragmented",
    "jobs[0].npus.options.block": 2,
    "jobs[0].plan.dp": 4,
    "jobs[1].placement": "greedy",
}


def test_a_design_has_the_times_of_the_file_that_it_means() -> None:
    told = evaluator_of(STUDY).account(SPLIT).metrics
    first, second = simulate_jobs(load_jobs(STUDY["run"], SPLIT)).jobs
    assert told["first_iteration_s"] == first.together_s
    assert told["first_alone_s"] == first.alone_s
    assert told["job_2nd_job_slowdown_ratio"] == second.slowdown
    assert told["worst_slowdown_ratio"] == max(first.slowdown, second.slowdown) > 1
    assert told["makespan_s"] == max(first.together_s, 1e-6 + second.together_s)
    tokens = 8 * 128 / first.together_s + 8 * 128 / second.together_s
    assert told["tokens_per_s"] == pytest.approx(tokens)


def test_jobs_on_leaves_of_their_own_are_as_alone_whatever_the_spines() -> None:
    evaluator = evaluator_of(STUDY)
    apart = {**SPLIT, "jobs[0].npus.rule": "contiguous"}
    del apart["jobs[0].npus.options.block"]
    metrics = evaluator.account(apart).metrics
    assert metrics["worst_slowdown_ratio"] == 1
    more = evaluator.account({**apart, "platform.network.params.spines": 4}).metrics
    assert more["first_iteration_s"] == metrics["first_iteration_s"]


def test_jobs_that_do_not_get_their_npus_are_infeasible() -> None:
    evaluator = evaluator_of(STUDY)
    large = {**SPLIT, "jobs[0].plan.dp": 8}
    with pytest.raises(InfeasibleError, match=r"jobs\[1\].npus: must"):
        evaluator.account(large)
    assert not evaluator.admits(large)
    assert evaluator.admits(SPLIT)


def test_a_study_of_jobs_is_searched_shown_and_written_as_a_file(tmp_path: Path) -> None:
    result = dse.run_study(written(STUDY, tmp_path), out=tmp_path / "out")
    assert not [row for row in result.rows if row.evaluation.state == "failed"]
    assert {row.design["jobs[0].plan.dp"] for row in result.rows} == {4}
    number = result.rows[result.front[0]].number
    file = tmp_path / "trial.yaml"
    call = ["export", str(tmp_path / "out"), str(number), "--as", "run", "--out", str(file)]
    done = CliRunner().invoke(main, call)
    assert done.exit_code == 0, done.output
    again = simulate_jobs(load_jobs(file)).jobs[0].together_s
    assert again == result.rows[result.front[0]].evaluation.objectives["first_iteration_s"]
    wrong = CliRunner().invoke(main, [*call[:4], "megatron"])
    assert wrong.exit_code == 2
    assert "must be run: the study has several jobs, but got 2" in wrong.output


def test_a_value_need_only_be_right_beside_those_that_rules_tie_it_to(tmp_path: Path) -> None:
    check_study(written(STUDY, tmp_path))  # contiguous, as the file has it, knows no blocks
    axes = {**STUDY["space"]["axes"], "jobs[0].npus.options.block": {"choices": [1, 2]}}
    with pytest.raises(ConfigError, match=r"space: jobs\[0\].npus.options.block"):
        check_study(written(changed(space={"axes": axes}), tmp_path))


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"objectives": {"iteration_time": "minimise"}}, "objectives.iteration_time: a study of"),
        ({"objectives": {"third_iteration_s": "minimise"}}, "first_iteration_s, first_alone_s"),
        ({"evaluator": "simulator"}, "evaluator: must be jobs, for a run with jobs"),
        (
            {"space": {"axes": {"backend": {"choices": ["flow", "congestion_unaware"]}}}},
            "space: backend: must be one in which messages of jobs meet",
        ),
        (
            {"run": {**STUDY["run"], "jobs": [{"name": n, **JOB} for n in ("a b", "a_b")]}},
            r"run.jobs\[1\].name: must differ",
        ),
    ],
)
def test_what_studies_of_jobs_cannot_have_is_told(
    parts: dict[str, Any], told: str, tmp_path: Path
) -> None:
    if "run" in parts:
        parts = {**parts, "objectives": {"makespan_s": "minimise"}, "constraints": []}
        parts |= {"space": {"axes": {"jobs[0].plan.dp": {"choices": [4, 2]}}}}
    with pytest.raises(ConfigError, match=told):
        check_study(written(changed(**parts), tmp_path))


@pytest.mark.parametrize(
    ("path", "slot"),
    [
        ("platform.network.params.dims[1]", None),
        ("jobs[1].plan.tp", None),
        ("platform.dimensions[2].network.params.dims[0]", 2),
        ("system.all_reduce[1]", 1),
        ("bandwidth[3]", 3),
        ("plan.tp", None),
    ],
)
def test_only_lists_of_network_dimensions_have_slots(path: str, slot: int | None) -> None:
    assert slot_of(path) == slot


def test_an_entry_of_a_networks_own_list_is_a_knob() -> None:
    torus = {"family": "torus", "params": {"dims": [2, 4]}, "bandwidth": "2 GB/s"}
    run = {"platform": {"npu": "h100_80", "network": torus}, **JOB, "backend": "flow"}
    name = "platform.network.params.dims[0]"
    data = changed(run=run, evaluator="simulator", constraints=[], cost=None, physical=False)
    data |= {"space": {"axes": {name: {"choices": [1, 2]}}}}
    data |= {"objectives": {"iteration_time": "minimise"}}
    designs = DesignRuns(compile_study(data).evaluator_input)
    assert [designs.run({name: size}).platform.npus for size in (1, 2)] == [4, 8]
