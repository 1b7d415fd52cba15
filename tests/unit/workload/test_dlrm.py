"""Recommendation models against closed forms of lookups, exchanges, memory and FLOP."""

from typing import Any

import pytest
from graph_sums import bytes_by_axis, total_flop

from simcore.checks import check_memory
from simcore.errors import ConfigError, InfeasibleError
from simcore.machine import Dimension, Platform, load_npu
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
from simcore.workload.kinds.dlrm import RecommendationNet

SMALL = {
    "name": "small",
    "kind": "dlrm",
    "dense_features": 16,
    "bottom": [64, 32],
    "top": [128, 1],
    "width": 32,
    "tables": [{"count": 16, "rows": 1000, "pooling": 5}],
}
TABLES, WIDTH, POOLING, SAMPLES = 16, 32, 5, 256


def job(model: Any = "small", batch: int = SAMPLES, **tables: Any) -> Workload:
    table = SMALL if model == "small" else model
    return load_workload({"kind": "dlrm", "model": table, "global_batch": batch, "tables": tables})


def built(workload: Workload, npus: int, batch: int = SAMPLES) -> TrainingGraph:
    return build_graph(workload, ParallelPlan(dp=npus, micro_batch=batch // npus))


def exchanged(graph: TrainingGraph) -> list[tuple[str, CollectiveKind, int]]:
    stage = graph.stages[0]
    items = stage.item[stage.kind == NodeKind.COLLECTIVE].tolist()
    found = [graph.collectives[item] for item in items]
    return [(c.name, c.kind, c.size_bytes) for c in found if c.axis is Axis.TABLES]


def test_the_shipped_models_have_their_published_sizes() -> None:
    criteo, large = load_net("dlrm_dcnv2"), load_net("dlrm_2p6t")
    assert isinstance(criteo, RecommendationNet)
    assert isinstance(large, RecommendationNet)
    assert (criteo.table_count, criteo.table_rows, criteo.lookups) == (26, 204_184_588, 214)
    bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128
    cross = 3 * (2 * 27 * 128 * 512 + 27 * 128)
    top = 27 * 128 * 1024 + 1024 + 1024**2 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 257
    assert criteo.dense_parameters == bottom + cross + top
    assert large.table_parameters == 512 * 40_000_000 * 128  # 2.62e12
    assert large.dense_parameters == pytest.approx(28.7e6, rel=1e-3)


@pytest.mark.parametrize("npus", [2, 4, 8, 16])
@pytest.mark.parametrize(("sharding", "columns"), [("table", 1), ("column", 2), ("column", 4)])
def test_vectors_go_home_in_all_to_alls_of_the_vectors_of_own_samples(
    npus: int, sharding: str, columns: int
) -> None:
    graph = built(job(sharding=sharding, columns=columns), npus)
    own = SAMPLES // npus
    vectors = 2 * own * TABLES * WIDTH
    indices = 8 * own * TABLES * POOLING * columns
    all_to_all = CollectiveKind.ALL_TO_ALL
    assert exchanged(graph) == [
        ("indices", all_to_all, indices),
        ("vectors", all_to_all, vectors),
        ("vector gradients", all_to_all, vectors),
    ]


@pytest.mark.parametrize("npus", [2, 8])
def test_rows_are_summed_by_a_reduce_scatter_and_fetch_gradients_by_an_all_gather(
    npus: int,
) -> None:
    graph = built(job(sharding="row"), npus)
    own = SAMPLES // npus
    assert exchanged(graph) == [
        ("indices", CollectiveKind.ALL_TO_ALL, 8 * own * TABLES * POOLING),
        ("vectors", CollectiveKind.REDUCE_SCATTER, 2 * SAMPLES * TABLES * WIDTH),
        ("vector gradients", CollectiveKind.ALL_GATHER, 2 * own * TABLES * WIDTH),
    ]


def test_vectors_travel_in_the_format_that_is_asked_for() -> None:
    two, four = (exchanged(built(job(exchange_format=f), 4)) for f in ("bf16", "fp32"))
    assert [size for *_, size in four[1:]] == [2 * size for *_, size in two[1:]]


@pytest.mark.parametrize("sharding", ["table", "row"])
@pytest.mark.parametrize("npus", [1, 2, 4, 8])
def test_all_npus_together_look_up_every_row_once_and_update_it_by_reading_and_writing(
    npus: int, sharding: str
) -> None:
    graph = built(job(sharding=sharding, exchange_format="fp32"), npus)
    moved = {
        operator.phase: sum(k.bytes for k in operator.kernels if k.kind == "embedding")
        for operator in graph.operators
        if any(kernel.kind == "embedding" for kernel in operator.kernels)
    }
    rows = SAMPLES * TABLES * POOLING
    summed = 4 * SAMPLES * TABLES * WIDTH * (npus if sharding == "row" else 1)
    assert npus * moved[PassPhase.FORWARD] == 4 * rows * WIDTH + summed
    assert npus * moved[PassPhase.BACKWARD] == 2 * 4 * rows * WIDTH + 2 * 4 * rows + summed


def test_part_of_the_lookups_goes_to_the_host_but_for_cached_rows() -> None:
    near = built(job(), 4)
    far = built(job(host_part=0.5, cached_part=0.6), 4)
    total, of_host = [], []
    for graph in (near, far):
        kernels = [k for operator in graph.operators for k in operator.kernels]
        host = sum(k.bytes for k in kernels if k.kind == "host")
        of_host.append(host)
        total.append(host + sum(k.bytes for k in kernels if k.kind == "embedding"))
    rows = SAMPLES * TABLES * POOLING / 4
    assert of_host == [0, pytest.approx(0.5 * 0.4 * (3 * 4 * rows * WIDTH + 2 * 4 * rows))]
    assert total[0] == pytest.approx(total[1])


@pytest.mark.parametrize("npus", [1, 2, 8, 32])
def test_products_and_gradient_bytes_are_the_closed_forms(npus: int) -> None:
    workload = job()
    graph = built(workload, npus)
    net = workload.model
    assert isinstance(net, RecommendationNet)
    pairs = 17 * 16 // 2
    flop = 2 * (16 * 64 + 64 * 32 + (32 + pairs) * 128 + 128) + 17 * 17 * 32
    assert net.flop_per_sample == flop
    assert total_flop(graph, "gemm") == workload.model_flop == 3 * SAMPLES * flop
    if npus > 1:
        norm_bytes = 0  # replicas have the same gradients
        summed = bytes_by_axis(graph)[Axis.DP].tolist()
        assert summed == [4 * net.dense_parameters + norm_bytes]


def test_the_npu_with_most_stands_for_all_where_tables_cannot_be_dealt_out_evenly() -> None:
    uneven = {**SMALL, "tables": [{"count": 3, "rows": 10, "pooling": 4}, {"rows": 70}]}
    graph = built(job(uneven), 2)
    own = SAMPLES // 2
    # two tables on either NPU, or three with one lookup each at most: 4 + 4 against 4 + 1
    assert exchanged(graph)[0][2] == 8 * own * 2 * 8
    assert exchanged(graph)[1][2] == 2 * own * 2 * 2 * WIDTH


def test_memory_holds_tables_with_a_number_per_row_and_the_rest_is_the_hosts() -> None:
    plan = ParallelPlan(dp=4, micro_batch=SAMPLES // 4)
    bare = footprint(job(host_part=1.0), plan)
    full, half = footprint(job(), plan), footprint(job(host_part=0.5), plan)
    rows = TABLES * 1000 // 4
    stage, without = full.fullest, bare.fullest
    assert stage.weights_bytes - without.weights_bytes == 4 * rows * WIDTH
    assert stage.optimizer_bytes - without.optimizer_bytes == 4 * rows
    assert bare.host_bytes == 4 * rows * (WIDTH + 1)
    assert half.host_bytes == bare.host_bytes // 2
    assert full.host_bytes == 0


def test_tables_beyond_the_memory_of_the_host_are_refused() -> None:
    link = Dimension(topology="switch", npus=4, bandwidth_bytes_per_s=1e11, latency_s=1e-6)
    plan = ParallelPlan(dp=4, micro_batch=SAMPLES // 4)
    large = {**SMALL, "tables": [{"count": 16, "rows": 10**9}]}
    platform = Platform(npu=load_npu("h100_80"), dimensions=(link,))
    check_memory(job(host_part=1.0), platform, plan)
    with pytest.raises(InfeasibleError, match=r"^fits_in_host_memory: "):
        check_memory(job(large, host_part=1.0), platform, plan)
    bare = Platform(npu=load_npu("v100_16"), dimensions=(link,))
    with pytest.raises(ConfigError, match=r"^platform.npu.host: is needed"):
        check_memory(job(host_part=1.0), bare, plan)


def test_what_does_not_fit_is_told_by_its_rule() -> None:
    with pytest.raises(InfeasibleError, match=r"^tp_is_one: "):
        build_graph(job(), ParallelPlan(tp=2))
    with pytest.raises(InfeasibleError, match=r"^columns_need_column_sharding: "):
        built(job(columns=2), 2)
    with pytest.raises(InfeasibleError, match=r"^width_divides_by_columns: "):
        built(job(sharding="column", columns=3), 2)
    with pytest.raises(ConfigError, match=r"^workload.model.bottom: must end with width = 32"):
        job({**SMALL, "bottom": [64]})
    with pytest.raises(ConfigError, match=r"cross_layers and cross_rank"):
        job({**SMALL, "interaction": "cross"})
