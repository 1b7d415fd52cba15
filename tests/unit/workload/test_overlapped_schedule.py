"""The schedule whose forward and backward passes run beside each other."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_sums import bytes_by_axis, total_flop
from plain_executor import run

from simcore.config import load_run
from simcore.memory.footprint import footprint
from simcore.simulation import simulate_run
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    PassPhase,
    StageGraph,
    TrainingGraph,
    TrainingWorkload,
    build_graph,
)

LAYERS, HIDDEN, SEQUENCE = 8, 64, 32
BARE = Model(name="m", kind="llama", layers=LAYERS, hidden=HIDDEN, heads=8, ffn=160)
EXPERTS = Model.model_validate(
    BARE.model_dump()
    | {"vocabulary": 512, "ffn": 0, "experts": {"count": 4, "active": 2, "ffn": 96}}
)


def graph_of(
    model: Model, batches: int, schedule: str = "1f1b_overlapped", **plan: Any
) -> TrainingGraph:
    workload = TrainingWorkload(
        model=model, sequence=SEQUENCE, global_batch=batches * plan.get("dp", 1)
    )
    return build_graph(workload, ParallelPlan(schedule=schedule, **plan))


@pytest.mark.parametrize(("forward", "backward"), [(1.0, 2.0), (3.0, 4.0)])
@pytest.mark.parametrize(("pp", "batches"), [(1, 4), (2, 4), (4, 8), (8, 16), (4, 2)])
def test_without_communication_it_takes_as_long_as_1f1b(
    pp: int, batches: int, forward: float, backward: float
) -> None:
    graph = graph_of(BARE, batches, pp=pp)

    def duration(stage: StageGraph, node: int) -> float:
        if stage.kind[node] != NodeKind.COMPUTE:
            return 0.0
        phase = graph.operators[stage.item[node]].phase
        return {PassPhase.FORWARD: forward, PassPhase.BACKWARD: backward}.get(phase, 0.0)

    passes = LAYERS // pp * (forward + backward)
    assert run(graph, duration).makespan == (batches + pp - 1) * passes


@pytest.mark.parametrize("pp", [1, 4])
@pytest.mark.parametrize(("compute", "travel"), [(4.0, 1.0), (2.0, 1.0), (1.0, 3.0)])
def test_a_pair_lasts_as_long_as_its_work_or_its_messages(
    pp: int, compute: float, travel: float
) -> None:
    def duration(graph: TrainingGraph, stage: StageGraph, node: int) -> float:
        if stage.kind[node] == NodeKind.COMPUTE:
            phase = graph.operators[stage.item[node]].phase
            return 0.0 if phase is PassPhase.OPTIMIZER else compute
        if stage.kind[node] != NodeKind.COLLECTIVE:
            return 0.0
        kind = graph.collectives[stage.item[node]].kind
        return travel if kind is CollectiveKind.ALL_TO_ALL else 0.0

    def step(schedule: str) -> float:
        """What each further micro-batch costs."""
        fewer, more = (graph_of(EXPERTS, n, schedule, pp=pp, dp=4, ep=4) for n in (40, 80))
        ends = [run(g, partial(duration, g)).makespan for g in (fewer, more)]
        return (ends[1] - ends[0]) / 40

    graph = graph_of(EXPERTS, 2, pp=pp, dp=4, ep=4)
    busy = []
    for stage in graph.stages:
        for kind in (NodeKind.COMPUTE, NodeKind.COLLECTIVE):
            own = np.flatnonzero((stage.microbatch == 0) & (stage.kind == kind)).tolist()
            busy.append(sum(duration(graph, stage, node) for node in own))
    # where a pair begins and ends, both of its passes ask for the same
    assert max(busy) <= step("1f1b_overlapped") <= max(busy) + 2 * (compute + travel)
    assert step("1f1b") >= max(busy) + 2 * LAYERS // pp * min(compute, travel)


PLANS: list[dict[str, Any]] = [
    {"dp": 4, "ep": 4},
    {"pp": 2, "dp": 2, "ep": 2},
    {"pp": 4, "interleave": 2, "dp": 2, "ep": 2},
    {"pp": 2, "tp": 2, "dp": 2, "ep": 2, "sequence_parallel": True, "zero_stage": 1},
    {"pp": 2, "dp": 2, "zero_stage": 3},
    {"pp": 2, "dp": 2, "recompute": "full"},
]


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize("batches", [4, 8])
def test_work_and_traffic_are_those_of_1f1b(plan: dict[str, Any], batches: int) -> None:
    pair, plain = (graph_of(EXPERTS, batches, name, **plan) for name in ("1f1b_overlapped", "1f1b"))
    assert total_flop(pair) == total_flop(plain)
    sums = [{a: s.tolist() for a, s in bytes_by_axis(g).items()} for g in (pair, plain)]
    assert sums[0] == sums[1]
    for stage in pair.stages:
        before = np.repeat(np.arange(stage.nodes), np.diff(stage.dep_start))
        assert (stage.dep < before).all()
    ends = run(pair, lambda stage, node: 1.0).ends
    assert [len(end) for end in ends] == [stage.nodes for stage in pair.stages]


def test_twice_as_many_micro_batches_are_alive_as_in_1f1b() -> None:
    workload = TrainingWorkload(model=BARE, sequence=SEQUENCE, global_batch=16)
    pair, plain = (
        [s.activations_bytes for s in footprint(workload, ParallelPlan(pp=4, schedule=name)).stages]
        for name in ("1f1b_overlapped", "1f1b")
    )
    assert pair == [2 * alive for alive in plain]


def test_the_expert_traffic_of_a_machine_is_hidden() -> None:
    table = {
        "version": 1,
        "workload": {"model": "mixtral_8x7b", "sequence": 4096, "global_batch": 512},
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "450 GB/s", "latency": "1 us"},
                {"topology": "switch", "npus": 4, "bandwidth": "50 GB/s", "latency": "2 us"},
            ],
        },
        "plan": {"dp": 8, "ep": 8, "pp": 4, "zero_stage": 1},
        "system": {"all_to_all": "direct1"},
    }
    plain = simulate_run(load_run(table))
    pair = simulate_run(load_run(table, {"plan.schedule": "1f1b_overlapped"}))
    # the last stage, which has the head, sets the pace: the others wait for it either way
    before, after = (r.stages[-1].exposed_communication_s[str(Axis.EP)] for r in (plain, pair))
    assert after < 0.2 * before
    assert plain.iteration_time_s - pair.iteration_time_s > 0.8 * before
    assert pair.compute_s == pytest.approx(plain.compute_s, rel=1e-9)
