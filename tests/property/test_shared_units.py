"""Plans that share what is known of units, orders and codes come to what each comes to alone."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simcore.compute.roofline import Roofline
from simcore.engines.stages.counts import counts_of_graph, counts_of_program
from simcore.engines.stages.plan_code import PlanCode
from simcore.errors import InfeasibleError
from simcore.kernels.stages.piece_rows import PART_DEP, PART_NODES, lay_out
from simcore.machine import load_npu
from simcore.memo import Memo
from simcore.memory.footprint import footprint, footprint_with
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingWorkload,
    Updates,
    Workload,
    build_graph,
    load_workload,
)
from simcore.workload.kinds.transformer.model_parts import Experts
from simcore.workload.offload import Offload
from simcore.workload.rules import check_splits

DENSE = Model(name="dense", layers=6, hidden=192, heads=12, ffn=768, vocabulary=1200)
TIED = DENSE.model_copy(update={"name": "tied", "tied_embeddings": True})
MIXED = Model(
    name="mixed", layers=6, hidden=192, heads=12, ffn=768, vocabulary=1200, window=32,
    global_every=3, experts=Experts(count=4, active=2, ffn=192, first_layer=1),
)  # fmt: skip
SMALL = {"layers": 4, "hidden": 64, "heads": 4, "ffn": 128, "vocabulary": 256}
BOTH = {**SMALL, "name": "both", "encoder_layers": 2}
IMAGE = {**SMALL, "name": "image", "causal": False, "vocabulary": 0}
IMAGE["vision"] = {"patch": 4, "classes": 16}
SPLIT = {"both": BOTH, "image": IMAGE, "served": {**SMALL, "name": "served"}}
CNN = {
    "name": "net",
    "kind": "cnn",
    "groups": [
        {
            "times": 2,
            "rows": [
                {"op": "conv", "inputs": 8, "outputs": 8, "kernel": 3, "size": 16},
                {"op": "norm", "inputs": 8, "size": 16},
            ],
        }
    ],
}
DLRM = {
    "name": "recommendation", "kind": "dlrm", "dense_features": 8, "bottom": [32, 16],
    "top": [32, 1], "width": 16, "tables": [{"count": 8, "rows": 100}],
}  # fmt: skip
PLACED = ("weights", "gradients", "optimizer", "activations")
UPDATES = [
    Updates(),
    Updates(),
    Updates(kind="servers", servers=1),
    Updates(kind="gossip"),
    Updates(kind="servers", servers=2),
    Updates(kind="servers", servers=2, staleness=1),
    Updates(kind="servers", servers=1, staleness=3),
    Updates(kind="local", every=0),
    Updates(kind="local", every=4),
]
CHECKED = settings(derandomize=True, deadline=None, max_examples=300)
SHARED = Memo()
NPU = load_npu("a100_80")


SPLIT_SCHEDULES = ("zb_h1", "dualpipe")


@st.composite
def jobs(draw: st.DrawFn, offloads: bool = False) -> tuple[TrainingWorkload, ParallelPlan]:
    """Few sizes, so that many plans have the same units, and all that may tell them apart.

    What would be refused for sure is not drawn: to draw takes longer than to check.
    """
    cp, pp, dp = (draw(st.sampled_from(sizes)) for sizes in ([1, 2], [1, 2, 3], [1, 2, 4]))
    split = SPLIT_SCHEDULES if pp > 1 else ()
    schedule = draw(st.sampled_from(["1f1b", "1f1b_overlapped", "gpipe", *split]))
    chunks = [1, 1, 2] if pp > 1 and schedule not in ("gpipe", "zb_h1") else [1]
    recompute = (
        "none" if schedule in split else draw(st.sampled_from(["none", "full", "selective"]))
    )
    repeats_parts = recompute != "full" and schedule != "zb_h1"
    zero_stage = draw(st.integers(0, 1 if schedule in split else 3))
    plan = ParallelPlan(
        tp=draw(st.sampled_from([1, 2])),
        cp=cp,
        pp=pp,
        dp=dp,
        shard=draw(st.sampled_from([None, 2])) if cp * dp > 1 and not offloads else None,
        micro_batch=draw(st.sampled_from([1, 2])),
        interleave=2 if schedule == "dualpipe" else draw(st.sampled_from(chunks)),
        sequence_parallel=True,
        zero_stage=zero_stage,
        reshard=draw(st.booleans()),
        prefetch=draw(st.sampled_from([0, 1, 2])),
        bucket_bytes=draw(st.sampled_from([None, 1e5])),
        overlap_tensor=draw(st.booleans()),
        overlap_gradients=draw(st.booleans()),
        overlap_weights=not offloads and draw(st.booleans()),
        recompute=recompute,
        recompute_parts=draw(st.sampled_from([(), ("norms",)])) if repeats_parts else (),
        recompute_layers=draw(st.sampled_from([None, 1])) if recompute == "full" else None,
        schedule=schedule,
        flash_attention=draw(st.sampled_from([True, True, False])),
        scatter_each=zero_stage < 2 or draw(st.sampled_from([True, True, False])),
        average_loss=draw(st.booleans()),
        scale_loss=draw(st.booleans()),
    )
    batch = draw(st.sampled_from([6, 12])) * plan.dp * plan.micro_batch
    model = draw(st.sampled_from([DENSE, TIED, MIXED]))
    workload = TrainingWorkload(model=model, sequence=128, global_batch=batch)
    try:
        check_splits(workload, plan)
    except InfeasibleError:
        assume(False)
    return workload, plan


@st.composite
def other_jobs(draw: st.DrawFn) -> tuple[Workload, ParallelPlan]:
    """Likewise for nets of other kinds, and for replicas that agree on their weights otherwise."""
    kind = draw(st.sampled_from(["both", "image", "served", "cnn", "dlrm"]))
    updates = draw(st.sampled_from(UPDATES)) if kind != "served" else Updates()
    tp, pp = draw(st.sampled_from([(1, 1), (2, 2), (1, 4)])) if kind in SPLIT else (1, 1)
    plan = ParallelPlan(
        tp=tp,
        pp=pp,
        dp=draw(st.sampled_from([1, 2, 4])),
        zero_stage=draw(st.sampled_from([0, 3])) if updates == Updates() else 0,
        chunk_layers=(1, *[1] * (pp - 2), 5 - pp) if pp > 1 and draw(st.booleans()) else (),
        updates=updates,
        fused_loss=kind == "cnn" or draw(st.booleans()),
        fused_gradients=kind == "cnn" or draw(st.booleans()),
        schedule="forward" if kind == "served" else "1f1b",
    )
    if kind in SPLIT:
        data: dict[str, object] = {"model": SPLIT[kind], "sequence": 64}
        if kind == "both":
            data["encoder_sequence"] = draw(st.sampled_from([64, 128]))
        if kind == "served":
            data |= {"kind": "inference", "step": draw(st.sampled_from(["prefill", "decode"]))}
            if data["step"] == "decode" and draw(st.booleans()):
                data["chunk"] = {"prompt": 32, "tokens": 8, "prompts": 16}
                data["speculation"] = {"tokens": 2, "acceptance": 0.5}
    elif kind == "cnn":
        data = {"kind": "cnn", "model": {**CNN, "synced_norms": draw(st.booleans())}}
    else:
        tables = {"sharding": draw(st.sampled_from(["table", "row"]))}
        data = {"kind": "dlrm", "model": DLRM, "tables": tables}
    batch = draw(st.sampled_from([8, 16]))
    workload = load_workload({**data, "global_batch": batch})
    try:
        check_splits(workload, plan)
    except InfeasibleError:
        assume(False)
    return workload, plan


JOBS = st.booleans().flatmap(lambda known: jobs() if known else other_jobs())


@CHECKED
@given(job=JOBS)
def test_plans_come_to_the_same_with_what_others_left(job: tuple[Workload, ParallelPlan]) -> None:
    alone, among_others = PlanCode(*job, Memo()), PlanCode(*job, SHARED)
    assert among_others.program.message_bytes == alone.program.message_bytes
    assert among_others.program.operators == alone.program.operators
    assert among_others.program.collectives == alone.program.collectives
    assert among_others.counts.nodes == alone.counts.nodes
    assert among_others.counts.matrix_flop == alone.counts.matrix_flop
    assert (among_others.counts.collectives == alone.counts.collectives).all()
    times = [each.operator_ns(NPU, Roofline()) for each in (among_others, alone)]
    assert times[0].tolist() == times[1].tolist()
    assert footprint_with(*job, SHARED) == footprint(*job)
    for batches in alone.runs:
        code, same = alone.code(batches), among_others.code(batches)
        assert (code is None) == (same is None)
        if code is not None and same is not None:
            assert code.categories == same.categories
            shared = [[(one.item, one.stages) for one in own.shared] for own in (code, same)]
            assert shared[0] == shared[1]
            assert np.array_equal(code.fixed, same.fixed)


@st.composite
def offloaded_jobs(draw: st.DrawFn) -> tuple[TrainingWorkload, ParallelPlan]:
    """Jobs whose weights, gradients, state or activations may lie in a tier of memory."""
    workload, plan = draw(jobs(offloads=True))
    parts = {part: draw(st.sampled_from(["npu", "npu", "host"])) for part in PLACED}
    offload = Offload.model_validate(parts).model_copy(
        update={
            "update": draw(st.sampled_from(["npu", "npu", "tier"])),
            "reduce": draw(st.sampled_from(["network", "network", "tier"])),
            "group": draw(st.sampled_from([1000, 100_000_000])),
        }
    )
    plan = plan.model_copy(update={"offload": offload})
    try:
        check_splits(workload, plan)
    except InfeasibleError:
        assume(False)
    return workload, plan


@CHECKED
@given(job=offloaded_jobs())
def test_footprints_are_the_same_with_what_others_left(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    needed = footprint_with(*job, SHARED)
    assert needed == footprint(*job)
    assert needed.total_bytes == max([stage.total_bytes for stage in needed.stages])
    assert sum(needed.components().values()) == needed.total_bytes


@pytest.mark.parametrize("sizes", [{"micro_batch": 4}, {"tp": 4}, {"dp": 8}, {"cp": 4}])
def test_plans_of_other_sizes_have_the_same_layout(sizes: dict[str, int]) -> None:
    memo = Memo()
    plan = ParallelPlan(tp=2, cp=2, pp=3, dp=4, micro_batch=2, zero_stage=1, sequence_parallel=True)
    workload = TrainingWorkload(model=MIXED, sequence=128, global_batch=192)
    programs = [
        PlanCode(workload, plan.model_copy(update=update), memo).program
        for update in ({}, sizes, {"zero_stage": 0})
    ]
    layouts = [program.layout for program in programs]
    assert layouts[0] is layouts[1]
    assert layouts[0] is not layouts[2]
    assert programs[0].operators != programs[1].operators
    assert programs[0].collectives != programs[1].collectives


@CHECKED
@given(job=JOBS)
def test_counts_are_those_of_the_graph(job: tuple[Workload, ParallelPlan]) -> None:
    known = PlanCode(*job, SHARED)
    counts, nodes = known.counts, counts_of_graph(build_graph(*job))
    assert counts.nodes == nodes.nodes
    assert counts.matrix_flop == pytest.approx(nodes.matrix_flop, rel=1e-12)
    # with two stages the graph does not tell the next one from the one before
    assert counts.messages.sum(axis=0).tolist() == nodes.messages.sum(axis=0).tolist()
    sent = [(each.messages * each.message_bytes).sum(axis=0).tolist() for each in (counts, nodes)]
    assert sent[0] == sent[1]
    assert counts.collectives.tolist() == nodes.collectives.tolist()
    assert counts_of_program(known.program, known.batches).nodes == nodes.nodes


@CHECKED
@given(job=jobs())
def test_the_kernel_lays_out_the_nodes_of_the_graphs(
    job: tuple[TrainingWorkload, ParallelPlan],
) -> None:
    table = PlanCode(*job, SHARED).program.table
    part = np.zeros((len(table.pieces), 5), np.int64)
    node, dep = lay_out(
        table.runs, table.section_nodes, table.section_deps, table.node, table.dep, part
    )
    nodes = table.nodes()
    assert np.array_equal(node[[0, 1, 3]], nodes.node[[0, 1, 3]])
    assert np.array_equal(dep, nodes.dep)
    assert part[:, PART_NODES].tolist() == nodes.nodes.tolist()
    assert part[:, PART_DEP].tolist() == (np.cumsum(nodes.deps) - nodes.deps).tolist()


def test_plans_with_the_same_units_share_their_writer_and_their_code() -> None:
    parts = Memo()
    workload = TrainingWorkload(model=DENSE, sequence=128, global_batch=24)
    one = PlanCode(workload, ParallelPlan(tp=2, pp=2, dp=2), parts)
    other = PlanCode(workload, ParallelPlan(tp=4, pp=2, dp=2), parts)
    assert one.code(one.runs[0]) is other.code(other.runs[0])
    again = PlanCode(workload, ParallelPlan(tp=2, pp=3, dp=2), parts)
    assert set(one.program.operators) & set(again.program.operators)
    units = {operator for operator in one.program.operators if operator.phase != "optimizer"}
    assert {id(operator) for operator in units} <= {id(op) for op in again.program.operators}


def test_under_zero_3_more_replicas_gather_smaller_shards_in_the_same_units() -> None:
    parts, sizes, operators = Memo(), [], []
    for dp in (2, 4):
        workload = TrainingWorkload(model=DENSE, sequence=128, global_batch=6 * dp)
        program = PlanCode(workload, ParallelPlan(pp=2, dp=dp, zero_stage=3), parts).program
        gathered = [op.size_bytes for op in program.collectives if op.name == "layer weights"]
        sizes.append(gathered)
        operators.append({id(one) for one in program.operators if one.phase != "optimizer"})
    assert operators[0] == operators[1]
    assert sizes[0]
    assert sizes[0] == [2 * size for size in sizes[1]]
