"""Ways to split the sequence through attention, against their closed forms."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop
from plain_executor import run

from simcore.errors import InfeasibleError
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
)

LAYERS, HIDDEN, SEQUENCE, BATCH = 4, 96, 96, 8
GROUPED = Model(name="m", kind="llama", layers=LAYERS, hidden=HIDDEN, heads=12, kv_heads=4, ffn=192)
EQUAL = GROUPED.model_copy(update={"kv_heads": 12})


def graph_of(model: Model = GROUPED, **plan: Any) -> TrainingGraph:
    workload = TrainingWorkload(model=model, sequence=SEQUENCE, global_batch=BATCH)
    return build_graph(workload, ParallelPlan(**plan))


@pytest.mark.parametrize("kind", ["all_gather", "ring", "ulysses"])
@pytest.mark.parametrize("plan", [{"cp": 2}, {"cp": 4}, {"cp": 2, "tp": 2}, {"cp": 2, "pp": 2}])
def test_work_does_not_depend_on_how_the_sequence_is_split(kind: str, plan: dict[str, Any]) -> None:
    whole, split = graph_of(), graph_of(cp_kind=kind, **plan)
    for work in ("gemm", "attention"):
        assert total_flop(split, work) == pytest.approx(total_flop(whole, work), rel=1e-12)


@pytest.mark.parametrize("model", [GROUPED, EQUAL], ids=["grouped", "equal"])
@pytest.mark.parametrize(("tp", "cp"), [(1, 2), (1, 4), (2, 2), (2, 6)])
def test_exchange_of_heads_moves_queries_keys_values_and_outputs(
    model: Model, tp: int, cp: int
) -> None:
    graph = graph_of(model, tp=tp, cp=cp, cp_kind="ulysses")
    stream = 2 * SEQUENCE // cp * HIDDEN // tp
    held = model.key_value_heads // tp
    copies = max(1, cp // held)  # fewer heads than NPUs: some hold the same
    keys = copies * stream * held // (12 // tp)
    expected = 2 * BATCH * LAYERS * (2 * stream + 2 * keys)
    assert bytes_by_axis(graph)[Axis.CP].tolist() == [expected]
    kinds = {operation.kind for operation in graph.collectives if operation.axis is Axis.CP}
    assert kinds == {CollectiveKind.ALL_TO_ALL}


@pytest.mark.parametrize("cp", [2, 3, 4])
def test_ring_sends_keys_round_forward_and_with_their_gradients_backward(cp: int) -> None:
    graph = graph_of(cp=cp, cp_kind="ring", recompute="none")
    keys = 2 * 2 * SEQUENCE // cp * (HIDDEN // 12 * 4)
    # an all-gather of a part is sent by each NPU cp - 1 times
    sent = int(bytes_by_axis(graph)[Axis.CP][0]) * (cp - 1)
    forward, backward = (cp - 1) * keys, (cp - 1) * keys + cp * keys
    assert sent == BATCH * LAYERS * (forward + backward)


@pytest.mark.parametrize("cp", [2, 4])
def test_ring_hides_its_steps_behind_the_blocks_but_for_the_last_gradients(cp: int) -> None:
    graph = graph_of(cp=cp, cp_kind="ring")

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            return float(graph.operators[stage.item[node]].name == "attention")
        return float(graph.collectives[stage.item[node]].axis is Axis.CP)

    # forward cp blocks hide cp - 1 steps; backward the 2 cp - 1 steps keep the network busy
    assert run(graph, duration).makespan == BATCH * LAYERS * (cp + 2 * cp - 1)


def test_ring_without_flash_attention_is_refused() -> None:
    with pytest.raises(InfeasibleError, match="ring_needs_flash_attention"):
        graph_of(cp=2, cp_kind="ring", flash_attention=False)


@pytest.mark.parametrize(
    ("rule", "plan"),
    [("heads_divide_by_cp", {"cp": 8}), ("kv_heads_divide_by_cp", {"cp": 6})],
)
def test_exchange_needs_heads_that_divide(rule: str, plan: dict[str, Any]) -> None:
    with pytest.raises(InfeasibleError) as caught:
        graph_of(cp_kind="ulysses", **plan)
    assert caught.value.rule == rule
