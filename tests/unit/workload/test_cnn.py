"""Convolutional nets against their published sizes and the closed forms of FLOP and bytes."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import (
    Axis,
    ParallelPlan,
    PassPhase,
    TrainingGraph,
    Workload,
    build_graph,
    load_net,
    load_workload,
)
from simcore.workload.kinds.cnn import ConvolutionalNet

IMAGES = 32


def job(name: str = "resnet50", batch: int = 64, **more: Any) -> Workload:
    return load_workload({"kind": "cnn", "model": name, "global_batch": batch, **more})


def built(workload: Workload, **plan: Any) -> TrainingGraph:
    return build_graph(workload, ParallelPlan(**plan))


@pytest.mark.parametrize(
    ("name", "parameters", "products"),
    [
        # torchvision 0.20: resnet50 and resnet152, tensors of the checkpoints and GMAC at 224
        ("resnet50", 25_557_032, 4.089e9),
        ("resnet152", 60_192_808, 11.514e9),
    ],
)
def test_resnets_have_the_parameters_and_products_of_torchvision(
    name: str, parameters: int, products: float
) -> None:
    net = load_net(name)
    assert isinstance(net, ConvolutionalNet)
    assert net.parameters == parameters
    assert net.products_per_image == pytest.approx(products, rel=1e-3)


@pytest.mark.parametrize(("dp", "micro_batch"), [(1, 64), (4, 16), (4, 4), (16, 1)])
@pytest.mark.parametrize("recompute", ["none", "full"])
def test_products_are_three_forward_passes_for_every_split(
    dp: int, micro_batch: int, recompute: str
) -> None:
    workload = job()
    graph = built(workload, dp=dp, micro_batch=micro_batch, recompute=recompute)
    net = workload.model
    assert isinstance(net, ConvolutionalNet)
    passes = 4 if recompute == "full" else 3
    assert workload.model_flop == 6 * 64 * net.products_per_image
    assert total_flop(graph, "gemm") == passes * 2 * 64 * net.products_per_image


@pytest.mark.parametrize("zero_stage", [0, 1, 2, 3])
def test_gradients_are_summed_once_in_fp32_whatever_the_buckets(zero_stage: int) -> None:
    plans = [{"bucket_bytes": 25e6}, {}] if zero_stage < 2 else [{}]
    for more in plans:
        graph = built(job(), dp=4, micro_batch=16, zero_stage=zero_stage, **more)
        summed = [
            c for c in graph.collectives if c.phase is PassPhase.GRADIENTS and c.size_bytes > 4
        ]
        items = graph.stages[0].item[graph.stages[0].kind == NodeKind.COLLECTIVE].tolist()
        total = sum(graph.collectives[item].size_bytes for item in items
                    if graph.collectives[item] in summed)  # fmt: skip
        assert total == 4 * 25_557_032
        kinds = {operation.kind for operation in summed}
        assert kinds == {CollectiveKind.REDUCE_SCATTER if zero_stage else CollectiveKind.ALL_REDUCE}


def test_buckets_of_25_mb_follow_the_backward_pass() -> None:
    graph = built(job(), dp=4, micro_batch=16, bucket_bytes=25e6)
    sizes = [c.size_bytes for c in graph.collectives if c.axis is Axis.DP]
    assert len(sizes) == 4
    assert all(size >= 25e6 for size in sizes[:-1])
    head = 4 * (2048 * 1000 + 1000)
    assert sizes[0] >= head  # the last layers are complete first


def test_synced_norms_exchange_two_sums_per_channel_in_either_direction() -> None:
    local = built(job(), dp=4, micro_batch=8)
    net = {**load_net("resnet50").model_dump(), "synced_norms": True}
    synced = built(job(net), dp=4, micro_batch=8)  # type: ignore[arg-type]
    added = bytes_by_axis(synced)[Axis.DP] - bytes_by_axis(local)[Axis.DP]
    channels = 64 + 3 * (64 + 64 + 256) + 4 * (128 + 128 + 512) + 6 * (256 + 256 + 1024)
    channels += 3 * (512 + 512 + 2048) + 256 + 512 + 1024 + 2048
    assert added.tolist() == [2 * 2 * (2 * 4 * channels)]  # 2 micro-batches, forward and backward


def test_weights_and_state_take_what_sgd_with_momentum_keeps() -> None:
    stage = footprint(job(batch=IMAGES), ParallelPlan(micro_batch=IMAGES)).fullest
    parameters = 25_557_032
    assert stage.weights_bytes == 2 * parameters
    assert stage.gradients_bytes == 4 * parameters
    assert stage.optimizer_bytes == 8 * parameters  # master and momentum
    adam = footprint(job(batch=IMAGES, optimizer="adam"), ParallelPlan(micro_batch=IMAGES))
    assert adam.fullest.optimizer_bytes == 12 * parameters


def test_activations_grow_with_the_images_of_a_micro_batch_alone() -> None:
    one = footprint(job(batch=4), ParallelPlan(micro_batch=1)).fullest.activations_bytes
    four = footprint(job(batch=4), ParallelPlan(micro_batch=4)).fullest.activations_bytes
    assert four == 4 * one
    repeated = footprint(job(batch=4), ParallelPlan(micro_batch=4, recompute="full"))
    assert repeated.fullest.activations_bytes > 0


@pytest.mark.parametrize("axis", ["tp", "cp", "pp"])
def test_only_data_parallelism_fits(axis: str) -> None:
    with pytest.raises(InfeasibleError, match=f"^{axis}_is_one: "):
        built(job(), **{axis: 2})


def test_kernel_by_kernel_software_is_not_written_for_convolutions() -> None:
    with pytest.raises(InfeasibleError, match=r"^convolutions_are_fused: "):
        built(job(), fused_loss=False)


def test_wrong_kinds_are_told_with_their_place() -> None:
    with pytest.raises(ConfigError, match=r"^workload.kind: workload kind must be one of .*cnn"):
        load_workload({"kind": "cnm", "model": "resnet50", "global_batch": 1})
    with pytest.raises(ConfigError, match=r"^workload.model: "):
        load_workload({"kind": "cnn", "model": "gpt3_175b", "global_batch": 1})
    with pytest.raises(ConfigError, match=r"^workload.sequence: unknown key"):
        job(sequence=5)
