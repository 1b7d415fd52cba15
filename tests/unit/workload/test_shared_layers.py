"""Layers that plans have in common: of kinds that promise it, and of no others."""

from dataclasses import replace
from typing import ClassVar

import pytest

from simcore.memo import Memo
from simcore.memory.footprint import footprint, footprint_with
from simcore.workload import ParallelPlan, Workload, load_workload
from simcore.workload.kinds.transformer.share import Share
from simcore.workload.kinds.transformer.workload import TrainingWorkload
from simcore.workload.program.npu_layers import npu_layers
from simcore.workload.program.write import ProgramWriter

PLANS = [
    ParallelPlan(tp=2, pp=4, dp=2, micro_batch=1, schedule=schedule, zero_stage=zero)
    for schedule in ("1f1b", "gpipe")
    for zero in (0, 1)
]


class Wilful(TrainingWorkload):
    """A transformer whose NPUs have more rows where the schedule is GPipe."""

    def share(self, plan: ParallelPlan) -> Share:
        own = super().share(plan)
        return replace(own, rows=own.rows * 2) if plan.schedule == "gpipe" else own


class Promising(TrainingWorkload):
    """A transformer like all others."""

    shares_layers: ClassVar[bool] = True


def job(kind: type[TrainingWorkload]) -> Workload:
    plain = load_workload(
        {"kind": "transformer", "model": "gpt3_175b", "sequence": 2048, "global_batch": 64}
    )
    return kind.model_validate(plain.model_dump())


@pytest.mark.parametrize("kind", [TrainingWorkload, Promising, Wilful])
def test_what_plans_have_in_common_changes_no_footprint_and_no_program(
    kind: type[TrainingWorkload],
) -> None:
    workload, known = job(kind), Memo()
    for plan in PLANS:
        assert footprint_with(workload, plan, known) == footprint(workload, plan)
        ours = ProgramWriter(workload, plan, known).program(8)
        alone = ProgramWriter(workload, plan, Memo()).program(8)
        assert ours.operators == alone.operators
        assert ours.collectives == alone.collectives
    rows = {npu_layers(workload, plan, known).share.rows for plan in PLANS}
    assert len(rows) == (2 if kind is Wilful else 1), "so that it can fail"


@pytest.mark.parametrize(
    ("kind", "count"), [(TrainingWorkload, 2), (Promising, 2), (Wilful, len(PLANS))]
)
def test_a_promise_to_share_layers_is_not_inherited(
    kind: type[TrainingWorkload], count: int
) -> None:
    known = Memo()
    found = [npu_layers(job(kind), plan, known) for plan in PLANS]
    assert len({id(one) for one in found}) == count
