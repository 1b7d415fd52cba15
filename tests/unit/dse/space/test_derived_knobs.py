"""Knobs that follow from others, and metrics that are expressions of them."""

from typing import Any

import pytest
from small_study import STUDY, searched

from dse.evaluate import build_evaluator
from dse.run.start import starting_designs
from dse.samplers.design import GenomeSpace
from dse.study.compile import Study, compile_study
from simcore import ConfigError

SPACE = STUDY["space"]
DERIVED = {
    **STUDY,
    "space": {
        **SPACE,
        "axes": {
            name: axis
            for name, axis in SPACE["axes"].items()
            if name != "platform.dimensions[1].bandwidth"
        },
        "derive": {
            "platform.dimensions[1].bandwidth": {
                "is": "platform.dimensions[0].bandwidth / 4",
                "unit": "B/s",
            },
            "plan.zero_stage": "1 if plan.dp > 1 else 0",
        },
        "require": [*SPACE["require"], "platform.dimensions[1].bandwidth >= 1e10"],
    },
}


def compiled(**space: Any) -> Study:
    return compile_study({**DERIVED, "space": {**DERIVED["space"], **space}})


def test_a_derived_knob_has_the_value_of_its_expression_in_every_design() -> None:
    study = compile_study(DERIVED)
    designs = list(study.space.designs())
    assert len(designs) == study.space.counts.searched > 50
    for design in designs:
        inner, outer = (float(design[f"platform.dimensions[{i}].bandwidth"]) for i in (0, 1))
        assert outer == inner / 4 >= 1e10, "it is in rules too"
        assert design["plan.zero_stage"] == (0 if design["plan.dp"] == 1 else 1)


def test_it_adds_no_designs() -> None:
    without = {**DERIVED["space"], "require": SPACE["require"]}
    del without["derive"]
    plain = compile_study({**DERIVED, "space": without}).space
    ties = compiled(require=SPACE["require"]).space
    assert ties.counts.valid == plain.counts.valid
    assert ties.counts.raw == plain.counts.raw


def test_the_run_takes_it() -> None:
    study = compile_study(DERIVED)
    evaluator = build_evaluator(study.evaluator_input)
    design = next(study.space.designs())
    run = evaluator.run(design)  # type: ignore[attr-defined]
    speeds = [dimension.bandwidth_bytes_per_s for dimension in run.platform.dimensions]
    assert speeds[1] == speeds[0] / 4
    evaluator.check()


def test_bounds_see_it_so_that_nothing_good_is_pruned() -> None:
    screened = searched(DERIVED, sampler="exhaustive")
    plain = searched(DERIVED, sampler="exhaustive", screening=False)
    assert screened.summary["pruned"] > 0

    def front(result: Any) -> set[tuple[float, ...]]:
        return {tuple(result.rows[at].evaluation.objectives.values()) for at in result.front}

    assert front(screened) == front(plain)


def test_the_design_search_finds_the_best_of_such_a_space() -> None:
    found = searched(DERIVED, sampler="design", trials=80)
    best = searched(DERIVED, sampler="exhaustive")
    assert found.summary["best"]["iteration_time"] == best.summary["best"]["iteration_time"]


def test_a_start_need_not_name_it() -> None:
    design = dict(list(compile_study(DERIVED).space.designs())[-1])
    short = {k: v for k, v in design.items() if k not in DERIVED["space"]["derive"]}
    text = f"{short['platform.dimensions[0].bandwidth']} B/s"
    start = [{**short, "platform.dimensions[0].bandwidth": text}]
    study = compile_study({**DERIVED, "search": {"start": start}})
    assert starting_designs(study) == [{name: design[name] for name in starting_designs(study)[0]}]
    assert GenomeSpace(study.space).genome(design) is not None


@pytest.mark.parametrize(
    ("derive", "rule"),
    [
        ({"plan.cp": "workload.global_batch"}, "derive.plan.cp: must name a knob"),
        ({"plan.cp": "1 // (plan.dp - 1)"}, "must have a value in every design"),
        ({"plan.tp": "plan.dp"}, "a knob may stand once in the space"),
        ({"plan.cp": {"is": "plan.dp", "unit": "GB/s"}}, "must be a base unit"),
        ({"plan.cp": "plan.dq"}, "did you mean 'plan.dp'"),
        ({"plan.cp": "__import__('os')"}, "a rule may hold parameter names"),
    ],
)
def test_what_is_no_derived_knob_is_refused(derive: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        compiled(derive=derive, require=SPACE["require"])


def test_an_expression_of_knobs_run_and_metrics_is_an_objective() -> None:
    text = "iteration_time_s * platform.dimensions[0].bandwidth / workload.sequence"
    metrics = {"own": {"expression": text, "gives": ["price_bytes"]}}
    goals = {"iteration_time": "minimise", "price_bytes": "minimise"}
    found = searched({**DERIVED, "metrics": metrics, "objectives": goals}, trials=20)
    rows = [row for row in found.rows if row.state == "complete"]
    assert rows
    for row in rows:
        objectives, bandwidth = (
            row.evaluation.objectives,
            row.design["platform.dimensions[0].bandwidth"],
        )
        assert objectives["price_bytes"] == objectives["iteration_time"] * float(bandwidth) / 512
