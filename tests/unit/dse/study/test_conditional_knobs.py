"""Routing over few nodes, pipeline schedules and rails as knobs that have conditions."""

from typing import Any

import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.run.runner import Runner
from dse.space import Design, Value
from dse.study.compile import Study, compile_study

STUDY: dict[str, Any] = {
    "version": 1,
    "run": {
        "workload": {"model": "deepseek_v3", "sequence": 4096, "global_batch": 2048},
        "platform": {
            "npu": "h800",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "160 GB/s", "latency": "936 ns"},
                {"topology": "switch", "npus": 128, "bandwidth": "40 GB/s", "latency": "1700 ns"},
            ],
        },
        "plan": {"pp": 16, "dp": 64, "ep": 32},
    },
    "space": {
        "products": [
            {"of": ["plan.pp", "plan.dp"], "equals": 1024, "limits": {"plan.pp": [8, 16, 32]}}
        ],
        "axes": {
            "plan.ep": {"choices": [8, 32]},
            "plan.dispatch_group": {"choices": [1, 8], "when": "plan.ep > 8"},
            "workload.model.experts.node_limit": {
                "choices": [2, 4],
                "when": "plan.dispatch_group == 8",
            },
            "plan.schedule": {"choices": ["1f1b", "zb_h1", "dualpipe"]},
            "plan.interleave": {"choices": [1, 2], "when": "plan.schedule != 'zb_h1'"},
            "platform.dimensions[1].rails": {
                "choices": [True, False],
                "when": "plan.dispatch_group == 8",
            },
        },
        "require": [
            "plan.dp % plan.ep == 0",
            "plan.interleave == 2 if plan.schedule == 'dualpipe' else True",
        ],
    },
    "objectives": {"iteration_time": "minimise", "capital_cost": "minimise"},
    "cost": {"model": "whole_machine"},
    "search": {"trials": 30},
    "execution": {"executor": "serial"},
}


@pytest.fixture(scope="module")
def study() -> Study:
    return compile_study(STUDY)


def test_every_knob_stands_where_its_condition_holds_and_nowhere_else(study: Study) -> None:
    designs = list(study.space.designs())
    assert len(designs) == study.space.counts.valid
    for design in designs:
        by_node = design.get("plan.dispatch_group") == 8
        assert ("plan.dispatch_group" in design) == (design["plan.ep"] == 32)
        assert ("workload.model.experts.node_limit" in design) == by_node
        assert ("platform.dimensions[1].rails" in design) == by_node
        assert ("plan.interleave" in design) == (design["plan.schedule"] != "zb_h1")
    # 3 splits, ep 8 or ep 32 with all at once or by node (2 limits, with rails or not), and
    # 1f1b with 1 or 2 chunks, zb_h1, dualpipe with 2
    assert len(designs) == 3 * (1 + 1 + 2 * 2) * (2 + 1 + 1)


def test_fewer_nodes_per_token_and_rails_tell_in_what_they_are_for(study: Study) -> None:
    evaluator = build_evaluator(study.evaluator_input)
    evaluator.check()

    def of(**knobs: Value) -> dict[str, float]:
        base: Design = {"plan.pp": 16, "plan.dp": 64, "plan.ep": 32, "plan.dispatch_group": 8}
        base |= {"workload.model.experts.node_limit": 4, "plan.schedule": "zb_h1"}
        names = {"limit": "workload.model.experts.node_limit"}
        names |= {"rails": "platform.dimensions[1].rails", "schedule": "plan.schedule"}
        design: Design = base | {"platform.dimensions[1].rails": False}
        design |= {names[key]: value for key, value in knobs.items()}
        ordered = {name: design[name] for name in study.space.parameters if name in design}
        return dict(evaluate(evaluator, study.goals, ordered).objectives)

    assert of(limit=2)["iteration_time"] < of(limit=4)["iteration_time"]
    assert of(rails=True)["capital_cost"] < of(rails=False)["capital_cost"]


def test_the_search_proposes_them(study: Study) -> None:
    found = Runner(study, out=None, resume=False, watcher=None).search(None)
    assert found.summary["failed"] == 0
    assert {row.design.get("workload.model.experts.node_limit") for row in found.rows} >= {2, 4}
    assert {row.design["plan.schedule"] for row in found.rows} == {"1f1b", "zb_h1", "dualpipe"}
