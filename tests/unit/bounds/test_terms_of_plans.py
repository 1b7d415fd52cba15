"""Terms of plans whose programs have one structure are read once, and are those of each plan."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from simcore import RunTemplate
from simcore.bounds.plans import plan_terms as plan_terms_of_bounds
from simcore.bounds.plans.plan_terms import PlanTerms, plan_terms
from simcore.bounds.plans.term_rows import TermRows
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


def terms_of(values: Mapping[str, Any], memo: Memo, template: RunTemplate = TEMPLATE) -> PlanTerms:
    run = template.with_values(values)
    compute = COMPUTE_MODELS[run.compute]()
    return plan_terms(run.workload, run.plan, run.platform.npu, compute, memo)


def told(terms: PlanTerms) -> tuple[object, ...]:
    """All fields; arrays as lists."""
    rows = [getattr(terms.rows, name) for name in TermRows.__slots__]
    fields = [getattr(terms, name) for name in PlanTerms.__slots__ if name != "rows"]
    return tuple([one.tolist() if isinstance(one, np.ndarray) else one for one in fields + rows])


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
        assert other.rows is first.rows, "read once"
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


PIPELINES = [
    {"plan.pp": 4, "plan.tp": 1, "plan.dp": 4},
    {"plan.pp": 4, "plan.dp": 2, "plan.zero_stage": 1, "plan.overlap_gradients": True},
    {"plan.pp": 4, "plan.dp": 2, "plan.zero_stage": 2, "plan.overlap_weights": True},
    {"plan.pp": 4, "plan.interleave": 2, "plan.dp": 2, "plan.overlap_gradients": True},
    {"plan.pp": 4, "plan.schedule": "gpipe", "plan.dp": 2},
    {"plan.pp": 4, "plan.schedule": "zb_h1", "plan.dp": 2},
]
DEEP = RunTemplate.from_table(
    {**TABLE, "workload": {"model": "gpt3_175b", "sequence": 128, "global_batch": 64}}
)


def of_each_stage(terms: PlanTerms) -> list[object]:
    """The sums of each stage, whichever stages share them."""
    rows = terms.rows
    ends = [*rows.sums.tolist(), rows.terms.size]
    columns = zip(
        rows.sum_of_term.tolist(), rows.terms.tolist(), rows.factors.tolist(), strict=True
    )
    each = list(columns)
    return [
        (each[ends[kind] : ends[kind + 1]], rows.constants[kind].tolist())
        for kind in rows.kind_of_stage.tolist()
    ]


@pytest.mark.parametrize("values", PIPELINES, ids=str)
def test_stages_that_share_their_sums_would_have_the_same_alone(
    values: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = terms_of(values, Memo(), DEEP)
    monkeypatch.setattr(plan_terms_of_bounds, "content_key", lambda *_: object())
    alone = terms_of(values, Memo(), DEEP)
    assert of_each_stage(shared) == of_each_stage(alone)
    assert shared.rows.nodes.tolist() == alone.rows.nodes.tolist()
    assert shared.rooms == alone.rooms
    assert shared.rows.sums.size < len(of_each_stage(shared)), "some do"
