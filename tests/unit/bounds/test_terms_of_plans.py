"""Terms of plans whose programs have one structure are read once, and are those of each plan."""

from collections.abc import Mapping
from typing import Any

import pytest

from simcore import RunTemplate
from simcore.bounds.plan_terms import PlanTerms, plan_terms
from simcore.compute import COMPUTE_MODELS
from simcore.memo import Memo

TABLE = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 16, "bandwidth": "300 GB/s", "latency": "700 ns"}
        ],
    },
    "plan": {"tp": 2, "dp": 4, "pp": 2, "recompute": "selective"},
}
SHARDED = {"plan.zero_stage": 2, "plan.overlap_weights": True}
INTERLEAVED = {"plan.interleave": 2, "plan.sequence_parallel": True}
TEMPLATE = RunTemplate.from_table(TABLE)


def terms_of(values: Mapping[str, Any], memo: Memo) -> PlanTerms:
    run = TEMPLATE.with_values(values)
    compute = COMPUTE_MODELS[run.compute]()
    return plan_terms(run.workload, run.plan, run.platform.npu, compute, memo)


def told(terms: PlanTerms) -> tuple[object, ...]:
    """All fields, stages by what they hold and by which of them are one."""
    own = [(dict(one.terms), dict(one.constants)) for one in terms.stages]
    alike = [terms.stages.index(one) for one in terms.stages]
    fields = [getattr(terms, name) for name in PlanTerms.__slots__ if name != "stages"]
    return *fields, own, alike


@pytest.mark.parametrize("common", [{}, SHARDED, INTERLEAVED], ids=str)
def test_a_plan_like_another_has_the_terms_that_its_own_graph_gives(
    common: Mapping[str, Any],
) -> None:
    memo = Memo()
    first = terms_of({**common, "plan.micro_batch": 1}, memo)
    for values in (
        {"plan.micro_batch": 2},
        {"plan.tp": 4, "plan.dp": 2},
        {"workload.global_batch": 32},
    ):
        other = terms_of({**common, **values}, memo)
        assert other.segments is first.segments, "read once"
        assert told(other) == told(terms_of({**common, **values}, Memo()))


def test_plans_with_other_groups_have_their_own_terms() -> None:
    memo = Memo()
    plans = [
        {"plan.tp": tp, "plan.cp": cp, "plan.dp": 8 // tp // cp}
        for tp in (1, 2, 4)
        for cp in (1, 2)
    ]
    found = [told(terms_of(values, memo)) for values in plans]
    assert found == [told(terms_of(values, Memo())) for values in plans]
