"""Where a better part makes a design slower, the reasons say so."""

import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.evaluate.levers import Lever
from dse.reasons.what_if import WhatIf, what_ifs
from dse.report.why import what_if_sections
from dse.space import Design
from dse.study.compile import Study, load_study_file

# Llama 3 70B on 8 racks of 72 GB200: gathered weights and reduced sums wait for one node
TURNS: Design = {
    "plan.tp": 4,
    "plan.cp": 2,
    "plan.pp": 2,
    "plan.dp": 36,
    "platform.dimensions[0].npus": 72,
    "platform.dimensions[1].npus": 8,
    "platform.npu": "gb200",
    "plan.micro_batch": 1,
    "plan.recompute": "none",
    "plan.sequence_parallel": False,
    "plan.zero_stage": 3,
    "system.chunks": 16,
}


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study_file("llama3_70b_accelerators.yaml")


@pytest.fixture(scope="module")
def tried(study: Study) -> tuple[WhatIf, ...]:
    evaluator = build_evaluator(study.evaluator_input)
    return what_ifs(study, evaluator, TURNS, evaluate(evaluator, study.goals, TURNS))


def test_more_latency_that_makes_an_iteration_shorter_is_named(tried: tuple[WhatIf, ...]) -> None:
    moved = {(str(one.lever), round(one.factor, 2)): one for one in tried if one.lever}
    longer = moved["latency of dimension 0", 1.1]
    assert longer.changes["iteration_time"] == pytest.approx(-0.0137, abs=0.0005)
    assert longer.reorders
    assert not moved["latency of dimension 0", 0.9].reorders
    assert not moved["compute rate", 1.1].reorders
    assert not any(one.reorders for one in tried if one.lever is None)


def test_the_text_says_why(study: Study, tried: tuple[WhatIf, ...]) -> None:
    lines = {line[0]: line[2] for line in next(what_if_sections(study, tried)).lines}
    told = "against the part: what waits is taken in another order"
    assert lines["latency of dimension 0 +10%"].startswith(told)
    assert told not in lines["latency of dimension 0 -10%"]


@pytest.mark.parametrize(
    ("kind", "factor", "better"),
    [("latency", 0.9, True), ("latency", 1.1, False), ("bandwidth", 1.1, True)],
)
def test_less_latency_is_better_and_less_bandwidth_is_worse(
    kind: str, factor: float, better: bool
) -> None:
    assert Lever(kind=kind, dimension=0).betters(factor) is better  # type: ignore[arg-type]
