"""Every layer of convolutional nets and recommendation models, against formulas of its own."""

from dataclasses import dataclass
from math import isclose
from typing import Any, get_args

import pytest

from simcore.terms import CollectiveKind
from simcore.workload import Axis, ParallelPlan, PassPhase, load_workload
from simcore.workload.graph import CollectiveOp, Operator
from simcore.workload.kinds.cnn import LayerRowFile
from simcore.workload.kinds.dlrm import RecommendationNet
from simcore.workload.kinds.dlrm.dense import SampleLayer
from simcore.workload.program.layer import LayerRow, LayerWork
from simcore.workload.program.work import Catalog, Means, PassWriter, under

BATCH, ELEMENT, FP32 = 8, 2, 4
C, K, SIZE, R, STRIDE = 6, 10, 14, 3, 2


@dataclass(frozen=True)
class Formula:
    """A layer by its table.

    Attributes:
        flop: Of the products of one sample, forward.
        elements: Of inputs and outputs of these products, for one sample.
        parameters: All of them.
        weights: Those of the products.
        summed: Numbers that replicas add up in each pass.
    """

    row: dict[str, Any]
    flop: float = 0.0
    elements: int = 0
    parameters: int = 0
    weights: int = 0
    summed: int = 0


IMAGES: dict[str, Formula] = {
    "conv": Formula(
        {"op": "conv", "inputs": C, "outputs": K, "size": SIZE, "kernel": R, "stride": STRIDE},
        flop=2 * K * C * R * R * SIZE * SIZE,
        elements=C * (SIZE * STRIDE) ** 2 + K * SIZE**2,
        parameters=K * C * R * R,
        weights=K * C * R * R,
    ),
    "dense": Formula(
        {"op": "dense", "inputs": C, "outputs": K},
        flop=2 * C * K,
        elements=C + K,
        parameters=C * K + K,
        weights=C * K,
    ),
    "norm": Formula({"op": "norm", "inputs": C, "size": SIZE}, parameters=2 * C, summed=2 * C),
    "pool": Formula({"op": "pool", "inputs": C, "size": SIZE, "kernel": R}),
    "add": Formula({"op": "add", "inputs": C, "size": SIZE}),
}
SYNCED = [False, True]


@dataclass
class Pass:
    """What one NPU does in a pass, and what it hands over."""

    operators: list[Operator]
    collectives: list[CollectiveOp]

    def of(self, kind: str) -> tuple[float, float]:
        """FLOP and bytes of the kernels of one *kind*."""
        kernels = [k for operator in self.operators for k in operator.kernels if k.kind == kind]
        return sum(k.flop for k in kernels), sum(k.bytes for k in kernels)


def written(layer: LayerRow, workload: Any, plan: ParallelPlan) -> tuple[LayerWork, Pass, Pass]:
    share = workload.share(plan)
    done, passes = layer.work(share, plan), []
    for phase, write in ((PassPhase.FORWARD, done.forward), (PassPhase.BACKWARD, done.backward)):
        catalog = Catalog()
        work = PassWriter(Means(plan=plan, share=share, catalog=catalog))
        work.phase(phase)
        write(work)
        entries = under(plan, catalog.named(work.section().item))
        operators = [entry for entry in entries if isinstance(entry, Operator)]
        passes.append(Pass(operators, [e for e in entries if isinstance(e, CollectiveOp)]))
    return done, passes[0], passes[1]


def image_layer(op: str, dp: int, *, synced: bool) -> tuple[LayerWork, Pass, Pass]:
    net = {
        "name": "n", "kind": "cnn", "groups": [{"rows": [IMAGES[op].row]}], "synced_norms": synced,
    }  # fmt: skip
    workload = load_workload({"kind": "cnn", "model": net, "global_batch": BATCH})
    plan = ParallelPlan(dp=dp, micro_batch=BATCH // dp)
    ((layer,),) = workload.model.layer_kinds
    assert isinstance(layer, LayerRow)
    return written(layer, workload, plan)


def test_every_operation_of_a_convolutional_net_has_its_formula_here() -> None:
    assert sorted(IMAGES) == sorted(get_args(LayerRowFile.model_fields["op"].annotation))


@pytest.mark.parametrize("dp", [1, 2, 8])
@pytest.mark.parametrize("op", IMAGES)
def test_images_of_all_replicas_take_the_products_of_the_whole_batch(op: str, dp: int) -> None:
    formula = IMAGES[op]
    layer, forward, backward = image_layer(op, dp, synced=False)
    flop, moved = forward.of("gemm")
    assert dp * flop == BATCH * formula.flop
    assert moved == ELEMENT * (BATCH // dp * formula.elements + formula.weights)
    assert backward.of("gemm")[0] == 2 * flop
    assert layer.parameters.total == formula.parameters
    assert not forward.collectives
    assert not backward.collectives


@pytest.mark.parametrize("dp", [1, 4])
@pytest.mark.parametrize("op", IMAGES)
def test_synced_norms_add_up_two_fp32_sums_per_channel_each_way(op: str, dp: int) -> None:
    _, *both = image_layer(op, dp, synced=True)
    for each in both:
        found = [(c.kind, c.axis, c.size_bytes) for c in each.collectives]
        summed = FP32 * IMAGES[op].summed
        expected = [(CollectiveKind.ALL_REDUCE, Axis.DP, summed)] if summed and dp > 1 else []
        assert found == expected


@pytest.mark.parametrize("op", ["norm", "pool", "add"])
def test_layers_without_a_product_read_and_write_each_image_at_least_once(op: str) -> None:
    _, forward, backward = image_layer(op, 1, synced=False)
    least = 2 * ELEMENT * BATCH * C * SIZE**2
    assert forward.of("elementwise")[1] >= least
    assert backward.of("elementwise")[1] >= least


FEATURES, WIDTH, RANK, TABLES, ROWS, POOLING = 16, 32, 12, 7, 100, 5
VECTORS = TABLES + 1
BOTTOM, TOP = (48, WIDTH), (64, 1)
SAMPLES: dict[str, Any] = {
    "name": "n", "kind": "dlrm", "dense_features": FEATURES, "bottom": BOTTOM, "top": TOP,
    "width": WIDTH, "tables": [{"count": TABLES, "rows": ROWS, "pooling": POOLING}],
}  # fmt: skip
CROSSED = SAMPLES | {"interaction": "cross", "cross_layers": 2, "cross_rank": RANK}


def sample_layers(
    table: dict[str, Any], dp: int, **tables: Any
) -> list[tuple[LayerRow, LayerWork, Pass, Pass]]:
    workload = load_workload(
        {"kind": "dlrm", "model": table, "global_batch": BATCH, "tables": tables}
    )
    plan = ParallelPlan(dp=dp, micro_batch=BATCH // dp)
    assert isinstance(workload.model, RecommendationNet)
    found = []
    for (layer,) in workload.model.layer_kinds:
        assert isinstance(layer, LayerRow)
        found.append((layer, *written(layer, workload, plan)))
    return found


def expected(layer: LayerRow) -> tuple[float, int]:
    """FLOP of a sample, and parameters, by the name of the layer and its sizes."""
    match type(layer).__name__:
        case "DenseLayer":
            inputs, outputs = layer.inputs, layer.outputs  # type: ignore[attr-defined]
            return 2 * inputs * outputs, inputs * outputs + outputs
        case "CrossLayer":  # U (V x) and a bias: arXiv 2008.13535, equation 2
            wide = VECTORS * WIDTH
            return 4 * wide * RANK, 2 * wide * RANK + wide
        case "DotLayer":  # half of (vectors, width) times its transpose
            return VECTORS * VECTORS * WIDTH, 0
        case "FeatureLayer":  # the bottom MLP
            sizes = ((FEATURES, BOTTOM[0]), BOTTOM)
            return sum(2 * a * b for a, b in sizes), sum((a + 1) * b for a, b in sizes)
    raise AssertionError(f"{layer} has no formula here")


@pytest.mark.parametrize("dp", [1, 2, 8])
@pytest.mark.parametrize("table", [SAMPLES, CROSSED], ids=["dot", "cross"])
def test_samples_of_all_replicas_take_the_products_of_the_whole_batch(
    table: dict[str, Any], dp: int
) -> None:
    for layer, work, forward, backward in sample_layers(table, dp):
        flop, parameters = expected(layer)
        assert dp * forward.of("gemm")[0] == BATCH * flop
        assert backward.of("gemm")[0] == 2 * forward.of("gemm")[0]
        assert work.parameters.total == parameters


def test_every_layer_of_recommendation_models_is_met_here() -> None:
    rows = [row for table in (SAMPLES, CROSSED) for row in sample_layers(table, 2)]
    met = {type(layer).__name__ for layer, *_ in rows}
    assert met >= {layer.__name__ for layer in SampleLayer.__subclasses__()}


@pytest.mark.parametrize("dp", [2, 4, 8])
@pytest.mark.parametrize("sharding", ["table", "row", "column"])
def test_looked_up_vectors_reach_the_npus_of_their_samples(sharding: str, dp: int) -> None:
    tables = [{"count": 8, "rows": ROWS, "pooling": POOLING}]  # as many on each NPU
    first, *later = sample_layers(SAMPLES | {"tables": tables}, dp, sharding=sharding)
    _, _, forward, backward = first
    vectors = ELEMENT * BATCH // dp * 8 * WIDTH  # of an NPU's own samples
    sent = []
    for each in (forward, backward):
        (found,) = [c for c in each.collectives if c.name.startswith("vector")]
        part = {
            CollectiveKind.ALL_TO_ALL: (dp - 1) / dp,
            CollectiveKind.REDUCE_SCATTER: (dp - 1) / dp,
            CollectiveKind.ALL_GATHER: dp - 1,
        }[found.kind]
        sent.append(found.size_bytes * part)
    # rows: each NPU has a part of every sum, so dp times as much is sent
    assert all(
        isclose(each, vectors * (dp - 1) * (1 if sharding == "row" else 1 / dp)) for each in sent
    )
    assert not any(each.collectives for row in later for each in row[2:])


@pytest.mark.parametrize("dp", [1, 2, 8])
def test_all_npus_together_read_every_row_that_is_looked_up(dp: int) -> None:
    tables = [{"count": 8, "rows": ROWS, "pooling": POOLING}]
    _, _, forward, backward = sample_layers(SAMPLES | {"tables": tables}, dp)[0]
    rows = BATCH * 8 * POOLING
    pooled = ELEMENT * BATCH * 8 * WIDTH
    assert dp * forward.of("embedding")[1] == FP32 * rows * WIDTH + pooled
    # read and written, with a number of the optimizer for each row
    assert dp * backward.of("embedding")[1] == 2 * FP32 * rows * (WIDTH + 1) + pooled
