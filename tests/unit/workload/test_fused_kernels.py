"""What a plan without a fused loss and fused gradients does on top of one with them."""

import pytest

from simcore.terms import NodeKind
from simcore.workload import Model, ParallelPlan, TrainingWorkload, build_graph
from simcore.workload.graph import Kernel, TrainingGraph

LAYERS, HIDDEN, VOCABULARY, SEQUENCE = 2, 512, 1024, 256


def graph(
    *, fused: bool, gradient_format: str = "fp32", flash: bool = True, heads: int = 8
) -> TrainingGraph:
    model = Model.build(
        "model",
        name="small",
        kind="gpt",
        layers=LAYERS,
        hidden=HIDDEN,
        heads=heads,
        ffn=4 * HIDDEN,
        vocabulary=VOCABULARY,
        tied_embeddings=True,
    )
    workload = TrainingWorkload.build(
        "workload",
        model=model,
        sequence=SEQUENCE,
        global_batch=1,
        gradient_format=gradient_format,
    )
    plan = ParallelPlan.build(
        "plan", fused_loss=fused, fused_gradients=fused, flash_attention=flash
    )
    return build_graph(workload, plan)


def kernels_of(whole: TrainingGraph) -> list[Kernel]:
    (stage,) = whole.stages
    items = stage.item[stage.kind == NodeKind.COMPUTE]
    return [kernel for item in items for kernel in whole.operators[item].kernels]


def moved_by(whole: TrainingGraph, ending: str) -> float:
    return sum(k.bytes for k in kernels_of(whole) if k.name.endswith(ending))


def test_each_weight_gradient_is_copied_to_fp32_and_added_to_its_sum() -> None:
    weights = LAYERS * 12 * HIDDEN**2 + VOCABULARY * HIDDEN
    # read 2 and write 4 bytes for the copy, read both and write one of 4 bytes for the sum
    assert moved_by(graph(fused=False), "gradient sum") == 18 * weights
    assert moved_by(graph(fused=True), "gradient sum") == 0


def test_a_sum_in_the_format_of_the_gradients_needs_no_copy() -> None:
    weights = LAYERS * 12 * HIDDEN**2 + VOCABULARY * HIDDEN
    assert moved_by(graph(fused=False, gradient_format="bf16"), "gradient sum") == 6 * weights


def test_the_loss_in_steps_moves_52_bytes_per_logit() -> None:
    # to fp32 6, largest 4, difference 8, exponential 8, sum 4, quotient 8; back: scale 8, cast 6
    names = ("logits in fp32", "largest logit", "logits gradient")
    listed = kernels_of(graph(fused=False))
    moved = sum(k.bytes for k in listed if k.name in names or k.name.startswith("cross entropy"))
    assert moved == 52 * SEQUENCE * VOCABULARY


def test_products_are_the_same() -> None:
    fused, separate = (
        sum(k.flop for k in kernels_of(graph(fused=one)) if k.kind in ("gemm", "attention"))
        for one in (True, False)
    )
    assert fused == separate


@pytest.mark.parametrize(("heads", "forward", "backward"), [(8, 1, 1), (2, 5, 5)])
def test_the_softmax_is_in_steps_where_score_matrices_are_no_multiple_of_4(
    heads: int, forward: int, backward: int
) -> None:
    listed = kernels_of(graph(fused=False, flash=False, heads=heads))
    names = [kernel.name for kernel in listed if kernel.name.startswith("attention softmax")]
    back = [name for name in names if "gradient" in name]
    assert (len(names) - len(back), len(back)) == (LAYERS * forward, LAYERS * backward)


def test_the_softmax_in_steps_moves_36_bytes_per_score() -> None:
    # to fp32 6, scale 8, mask 8, softmax 8, back to 16 bits 6
    listed = kernels_of(graph(fused=False, flash=False, heads=2))
    softmax = [k for k in listed if k.name.startswith("attention softmax")]
    forward = sum(k.bytes for k in softmax if "gradient" not in k.name)
    assert forward == LAYERS * 36 * 2 * SEQUENCE**2
