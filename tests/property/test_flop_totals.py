"""Every split of GPT-3 175B over 1,024 NPUs executes the FLOP of the closed form."""

import pytest
from graph_sums import total_flop

from simcore.errors import InfeasibleError
from simcore.workload import (
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    check_plan,
    load_model,
    total_model_flop,
)

NPUS = 1024
POWERS = [2**i for i in range(11)]
SPLITS = [
    (tp, pp, NPUS // (tp * pp))
    for tp in POWERS
    for pp in POWERS
    if tp * pp <= NPUS
]  # fmt: skip


def test_every_valid_split_executes_the_flop_of_the_closed_form() -> None:
    workload = TrainingWorkload(model=load_model("gpt3_175b"), sequence=2048, global_batch=2048)
    checked = 0
    for tp, pp, dp in SPLITS:
        plan = ParallelPlan(tp=tp, pp=pp, dp=dp)
        try:
            check_plan(workload, plan, NPUS)
        except InfeasibleError:
            continue
        graph = build_graph(workload, plan)
        # the fused attention kernel computes its scores twice in the backward pass: 14 for 12
        model, tokens = workload.model, workload.tokens
        again = 2 * 0.5 * model.layers * tokens * workload.sequence * model.hidden
        expected = total_model_flop(workload) + again
        executed = total_flop(graph, "gemm") + total_flop(graph, "attention")
        assert executed == pytest.approx(expected, rel=1e-3), plan
        checked += 1
    assert checked >= 30
