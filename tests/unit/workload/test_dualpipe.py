"""The schedule of stages that hold a chunk from each end of the model."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis, total_flop
from plain_executor import run

from simcore.bounds import lower_bounds
from simcore.config import load_run
from simcore.errors import InfeasibleError
from simcore.memory.footprint import footprint
from simcore.simulation import simulate_run
from simcore.terms import NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
)
from simcore.workload.schedules import SCHEDULES

LAYERS, HIDDEN, SEQUENCE = 16, 64, 32
BARE = Model(name="m", kind="llama", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=160)
TABLED = BARE.model_copy(update={"vocabulary": 512})
TIED = TABLED.model_copy(update={"tied_embeddings": True})


def graph_of(model: Model, batches: int, **plan: Any) -> TrainingGraph:
    chosen = {"schedule": "dualpipe", "interleave": 2, **plan}
    workload = TrainingWorkload(
        model=model, sequence=SEQUENCE, global_batch=batches * plan.get("dp", 1)
    )
    return build_graph(workload, ParallelPlan(**chosen))


Pass = tuple[bool, int, int]
"""Whether backward, chunk of the model, micro-batch."""


class Pairs:
    """Runs the schedule where each pair is one piece of work and messages take no time."""

    def __init__(self, stages: int, batches: int, forward: float, inputs: float) -> None:
        schedule = SCHEDULES["dualpipe"]()
        self.orders = [schedule.units(stage, stages, batches, 2) for stage in range(stages)]
        self.forward, self.inputs, self.weights = forward, inputs, 1.0
        self.free, self.at = [0.0] * stages, [0] * stages
        self.ends: dict[Pass, float] = {}

    def makespan(self) -> float:
        moved = True
        while moved:
            moved = any(self.move(stage) for stage in range(len(self.orders)))
        assert self.at == [order.microbatch.size for order in self.orders]
        return max(self.free)

    def move(self, stage: int) -> bool:
        """Do the next work of *stage*, if it can be done."""
        order, first = self.orders[stage], self.at[stage]
        assert order.beside is not None
        if first == order.microbatch.size:
            return False
        pair = first + 1 < order.beside.size and bool(order.beside[first + 1])
        parts = [self.unit(stage, first + part) for part in range(1 + pair)]
        awaited = [before for _, needs, _ in parts for before in needs]
        if any(before not in self.ends for before in awaited):
            return False
        start = max([self.free[stage], *[self.ends[before] for before in awaited]])
        self.free[stage] = start + sum(duration for duration, _, _ in parts)
        self.ends |= {given: self.free[stage] for _, _, given in parts if given}
        self.at[stage] += len(parts)
        return True

    def unit(self, stage: int, unit: int) -> tuple[float, list[Pass], Pass | None]:
        """Duration of a unit, the passes that it waits for, and the one that it is."""
        order = self.orders[stage]
        assert order.weights is not None
        assert order.without_weights is not None
        last = 2 * len(self.orders) - 1
        chunk = stage if order.chunk[unit] == 0 else last - stage
        batch = int(order.microbatch[unit])
        if order.weights[unit]:
            return self.weights, [], None
        if not order.backward[unit]:
            return self.forward, [(False, chunk - 1, batch)] * (chunk > 0), (False, chunk, batch)
        duration = self.inputs + self.weights * (not order.without_weights[unit])
        needs = [(False, chunk, batch)] + [(True, chunk + 1, batch)] * (chunk < last)
        return duration, needs, (True, chunk, batch)


@pytest.mark.parametrize("stages", [2, 3, 4, 8])
@pytest.mark.parametrize("more", [0, 3, 16])
def test_bubble_is_the_published_one_for_passes_of_equal_parts(stages: int, more: int) -> None:
    # arXiv:2412.19437, table 2: (PP / 2 - 1) (F&B + B - 3 W), with PP / 2 stages of two chunks
    batches, forward, backward, weights = 2 * stages + more, 1.0, 2.0, 1.0
    bubble = (stages - 1) * (forward + backward + backward - 3 * weights)
    whole = Pairs(stages, batches, forward, backward - weights).makespan()
    assert whole == 2 * batches * (forward + backward) + bubble


@pytest.mark.parametrize("stages", [2, 4, 8])
def test_as_many_chunks_are_alive_as_published(stages: int) -> None:
    schedule = SCHEDULES["dualpipe"]()
    first = schedule.units(0, stages, 4 * stages, 2)
    with_head = np.where(first.backward, -1, 1) * (first.chunk == 1) * ~np.asarray(first.weights)
    assert np.cumsum(with_head).max() == schedule.alive_losses(4 * stages)
    for stage in range(stages):  # arXiv:2412.19437, table 2: PP + 1
        assert schedule.alive_units(stage, stages, 4 * stages, 2) == 2 * stages + 1


def products_alone(graph: TrainingGraph) -> Callable[[StageGraph, int], float]:
    """Passes of equal parts: products take time by their FLOP, and nothing else does."""

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] != NodeKind.COMPUTE:
            return 0.0
        kernels = graph.operators[stage.item[node]].kernels
        return float(sum(kernel.flop for kernel in kernels if kernel.kind == "gemm"))

    return duration


@pytest.mark.parametrize("pp", [2, 4, 8])
def test_an_iteration_without_communication_has_at_most_the_published_bubble(pp: int) -> None:
    batches, graph = 3 * pp, graph_of(BARE, 3 * pp, pp=pp)
    chunk = total_flop(graph, "gemm") / 3 / batches / (2 * pp)  # a forward pass of a chunk
    whole = run(graph, products_alone(graph)).makespan
    bubble = whole / chunk - 2 * batches * 3
    # the first pass of a pair is sooner done here than the second one, for others to go on with
    assert bubble == pytest.approx(pp - 1)
    assert bubble <= (pp - 1) * (3 + 2 - 3)


PLANS: list[dict[str, Any]] = [
    {},
    {"tp": 2},
    {"tp": 2, "sequence_parallel": True},
    {"dp": 2, "zero_stage": 1},
    {"dp": 2, "bucket_bytes": 2e5},
    {"cp": 2, "recompute_parts": ("norms", "activations")},
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("pp", [2, 4])
@pytest.mark.parametrize("model", [BARE, TABLED, TIED], ids=["bare", "tabled", "tied"])
def test_all_work_and_bytes_are_those_of_1f1b_but_for_the_way_back(
    model: Model, pp: int, plan: dict[str, Any]
) -> None:
    batches = 2 * pp + 1
    graph = graph_of(model, batches, pp=pp, **plan)
    plain = graph_of(model, batches, **{"schedule": "1f1b", "interleave": 1, "pp": pp, **plan})
    for kind in ("gemm", "attention", "element-wise", "optimizer"):
        untied = total_flop(plain, kind)
        if not (model.tied_embeddings and kind in ("element-wise", "optimizer")):
            assert total_flop(graph, kind) == untied
    ours, theirs = bytes_by_axis(graph), bytes_by_axis(plain)
    assert Axis.EMBEDDING not in ours  # both uses of a tied table are on one NPU
    for axis in ours.keys() - {Axis.PP}:
        whole = int(theirs[axis].sum())
        if model.tied_embeddings and axis is Axis.DP:  # and it has one gradient
            table = 512 * HIDDEN // plan.get("tp", 1)
            whole -= (4 + (plan.get("zero_stage", 0) > 0)) * table
        assert int(ours[axis].sum()) == whole
    norm = 4 * pp
    assert int(ours[Axis.PP].sum()) - norm == 2 * (int(theirs[Axis.PP].sum()) - norm)


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_graph_runs_to_its_end_whatever_the_durations(plan: dict[str, Any], seed: int) -> None:
    random = np.random.default_rng(seed)
    graph = graph_of(TABLED, 9, pp=4, **plan)
    found = run(graph, lambda stage, node: float(random.integers(1, 9)))
    for stage, ends in zip(graph.stages, found.ends, strict=True):
        assert len(ends) == stage.nodes


def test_stages_hold_a_chunk_from_each_end_of_the_model() -> None:
    graph = graph_of(TABLED, 8, pp=4)
    held = [(2 * r, 2 * r + 1, 14 - 2 * r, 15 - 2 * r) for r in range(4)]
    assert [stage.layers for stage in graph.stages] == held
    for stage in graph.stages:
        names = {graph.operators[item].name for item in stage.item[stage.kind == NodeKind.COMPUTE]}
        assert ("embedding" in names) == ("head to loss" in names) == (stage.stage == 0)


def test_a_micro_batch_turns_once_it_has_passed_the_first_chunk_of_the_last_stage() -> None:
    graph = graph_of(BARE, 8, pp=4, tp=2)  # an all-reduce ends each chunk
    stage, unit = graph.stages[-1], SCHEDULES["dualpipe"]().units(3, 4, 8, 2)
    ends = run(
        graph, lambda stage, node: 1.0 + 3.0 * (stage.kind[node] == NodeKind.COLLECTIVE)
    ).ends
    bounds = [*stage.unit_start.tolist()]
    spans: dict[tuple[bool, int, int], list[float]] = {}
    assert unit.weights is not None
    for number in np.flatnonzero(~unit.weights):
        nodes = range(bounds[number], bounds[number + 1])
        key = bool(unit.backward[number]), int(unit.chunk[number]), int(unit.microbatch[number])
        own = [ends[-1][node] for node in nodes if stage.kind[node] != NodeKind.RECV]
        spans[key] = [min(own), max(own)]
    for batch in range(8):
        assert spans[False, 1, batch][0] > spans[False, 0, batch][1]
        assert spans[True, 0, batch][0] > spans[True, 1, batch][0]


def test_memory_is_that_of_all_chunks_that_are_alive() -> None:
    workload = TrainingWorkload(model=BARE, sequence=SEQUENCE, global_batch=16)
    plan = ParallelPlan(schedule="dualpipe", interleave=2, pp=4)
    plain = ParallelPlan(schedule="1f1b", interleave=2, pp=4)
    ours, theirs = (footprint(workload, each).stages for each in (plan, plain))
    alive = SCHEDULES["1f1b"]().alive_units(0, 4, 16, 2, 4)
    of_chunk = theirs[0].activations_bytes // alive
    assert [stage.activations_bytes for stage in ours] == [9 * of_chunk] * 4
    assert sum(stage.weights_bytes for stage in ours) == 2 * BARE.parameters
    parts = plan.model_copy(update={"recompute_parts": ("norms", "activations")})
    repeated = footprint(workload, parts).stages
    for less, more in zip(repeated, ours, strict=True):
        assert less.activations_bytes < more.activations_bytes


@pytest.mark.parametrize(
    ("plan", "rule"),
    [
        ({"pp": 2, "interleave": 1}, "mirrored_chunks_are_two"),
        ({"pp": 2, "interleave": 4}, "mirrored_chunks_are_two"),
        ({"pp": 1}, "needs_pp"),
        ({"pp": 8}, "microbatches_fill_mirrored_pipeline"),
        ({"pp": 2, "interleave_group": 2}, "mirrored_chunks_have_no_groups"),
        ({"pp": 2, "recompute": "full"}, "split_keeps_layers"),
        ({"pp": 2, "dp": 2, "zero_stage": 2}, "split_keeps_layers"),
    ],
)
def test_what_it_cannot_do_is_refused_by_name(plan: dict[str, Any], rule: str) -> None:
    with pytest.raises(InfeasibleError, match=rule):
        graph_of(BARE, 12, **plan)


def test_an_iteration_is_sooner_done_than_with_1f1b_in_pairs_or_alone() -> None:
    experts = {"count": 16, "active": 4, "ffn": 1408}
    model = {"name": "moe", "kind": "llama", "layers": 16, "hidden": 2048, "heads": 16,
             "ffn": 0, "vocabulary": 32000, "experts": experts}  # fmt: skip
    data = {
        "stack": "maxtext",  # whose steps of routing leave room for traffic beside other work
        "workload": {"model": model, "sequence": 4096, "global_batch": 96},
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "50 GB/s", "latency": "1 us"},
                {"topology": "switch", "npus": 4, "bandwidth": "25 GB/s", "latency": "2 us"},
            ],
        },
        "plan": {"dp": 8, "pp": 4, "ep": 8, "micro_batch": 1},
        "system": {"all_to_all": "direct1"},
    }
    times_s = [
        simulate_run(
            load_run(data, {"plan.schedule": schedule, "plan.interleave": interleave})
        ).iteration_time_s
        for schedule, interleave in (("dualpipe", 2), ("1f1b_overlapped", 2), ("1f1b", 1))
    ]
    assert times_s == sorted(times_s)
    both = {"plan.schedule": "dualpipe", "plan.interleave": 2}
    assert 0 <= lower_bounds(data, [both])[0] <= times_s[0]
