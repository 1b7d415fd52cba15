"""Experts of an engine whose tensor parallel group holds all tokens on each NPU."""

from typing import Any

import pytest

from simcore import ParallelPlan
from simcore.errors import InfeasibleError
from simcore.files.resources import shipped_folder
from simcore.files.yaml_file import read_table
from simcore.workload import build_graph, check_plan
from simcore.workload.kinds.inference.workload import InferenceWorkload
from simcore.workload.kinds.transformer.model import Model

TABLE = read_table(shipped_folder("configs") / "models" / "qwen3_30b_a3b.yaml")
MODEL = Model.from_file_data(TABLE, at="")
TOKENS, HIDDEN = 6, 2048


def workload_of(sequences: int = TOKENS) -> InferenceWorkload:
    return InferenceWorkload.build(
        model=MODEL, step="decode", sequence=1024, global_batch=sequences
    )


def plan_of(**given: Any) -> ParallelPlan:
    return ParallelPlan.build(micro_batch=TOKENS, schedule="forward", **given)


@pytest.mark.parametrize(("etp", "ep"), [(4, 1), (1, 4), (2, 2)])
def test_each_npu_works_on_its_part_of_all_tokens_and_one_sum_joins_them(etp: int, ep: int) -> None:
    graph = build_graph(workload_of(), plan_of(tp=4, etp=etp, ep=ep))
    kernels = {kernel.name: kernel for operator in graph.operators for kernel in operator.kernels}
    picked = TOKENS * 8  # tokens times experts that each meets
    whole = 2.0 * picked * HIDDEN * 2 * 768
    assert kernels["experts up"].flop == pytest.approx(whole / 4, rel=0.05)
    assert kernels["router"].m == TOKENS
    kinds = [operation.name for operation in graph.collectives]
    assert not [name for name in kinds if "to experts" in name]
    summed = next(one for one in graph.collectives if one.name == "experts output")
    assert summed.size_bytes == 2 * TOKENS * HIDDEN


def test_fewer_tokens_than_npus_are_answered() -> None:
    workload = workload_of(1)
    plan = ParallelPlan.build(tp=4, etp=1, ep=4, micro_batch=1, schedule="forward")
    assert build_graph(workload, plan).operators


def test_experts_that_do_not_fill_the_group_are_refused() -> None:
    with pytest.raises(InfeasibleError, match=r"etp x ep = 1 x 2 must be tp = 4"):
        check_plan(workload_of(), plan_of(tp=4, etp=1, ep=2), 4)
