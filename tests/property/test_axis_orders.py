"""Whatever axis is innermost, one NPU per stage gives the times of the run with every NPU."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from every_case import with_every

from simcore.compute import COMPUTE_MODELS
from simcore.engines.collectives.ends import is_shared
from simcore.engines.each_npu import NodeTimes, execute_each, expand
from simcore.engines.events.run import run_unfolded
from simcore.engines.iteration import IterationRunner
from simcore.engines.stages.times import operator_times_ns, place_groups
from simcore.errors import ConfigError, InfeasibleError
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.workload import (
    Axis,
    Model,
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    check_plan,
    load_plan,
)
from simcore.workload.groups import group_layouts

AXES = ("tp", "cp", "ep", "dp", "pp")
DENSE = Model(
    name="m", kind="llama", layers=4, hidden=256, heads=8, ffn=512, vocabulary=1024,
    tied_embeddings=True,
)  # fmt: skip
EXPERTS = Model.model_validate(
    DENSE.model_dump() | {"experts": {"count": 4, "active": 2, "ffn": 256}}
)
SYSTEM = System(phase_end="together", all_reduce=("ring",), chunks=2)
COMPARED: list[tuple[str, ...]] = []


def platform_of(*npus: int) -> Platform:
    dimensions = tuple(
        Dimension(
            topology="switch",
            npus=count,
            bandwidth_bytes_per_s=200e9 / 4**level,
            latency_s=1e-6,
        )
        for level, count in enumerate(npus)
    )
    return Platform(npu=load_npu("a100_80"), dimensions=dimensions)


@with_every("order", list(permutations(AXES))[::5])
@with_every(
    "model, plan",
    [
        (DENSE, {"tp": 2, "dp": 2, "pp": 2, "zero_stage": 1, "sequence_parallel": True}),
        (DENSE, {"dp": 4, "pp": 2, "zero_stage": 3, "shard": 2}),
        (EXPERTS, {"tp": 2, "dp": 2, "pp": 2, "ep": 2, "sequence_parallel": True}),
        (EXPERTS, {"dp": 4, "pp": 2, "ep": 2}),
    ],
)
def test_folded_run_equals_that_of_all_npus_in_every_order(
    order: tuple[str, ...], model: Model, plan: dict[str, Any]
) -> None:
    job = ParallelPlan.model_validate(plan | {"order": order})
    workload = TrainingWorkload(model=model, sequence=64, global_batch=16)
    platform, compute = platform_of(2, 4), COMPUTE_MODELS["roofline"]()
    try:
        check_plan(workload, job, 8)
        graph = build_graph(workload, job)
        placements = place_groups(graph.groups, platform.dimensions)
    except InfeasibleError as error:
        assert error.rule in ("order_places_experts", "placement")  # noqa: PT017
        return
    shared = [axis for axis in Axis if axis in graph.groups and is_shared(job, axis)]
    times = operator_times_ns(graph.operators, platform.npu, workload.precision, compute)
    inputs = expand(graph, platform, SYSTEM, NodeTimes(times), placements, shared)
    folded = IterationRunner(platform, SYSTEM, compute).run_graph(graph)
    assert folded.nodes is not None
    if any("held members" in note for note in folded.notes):
        return
    execution, whole, first = folded.nodes.execution, run_unfolded(inputs), 0
    for stage in graph.stages:
        expected = execution.end_ns[first : first + stage.nodes]
        for member in range(job.npus_per_stage):
            npu = job.npu(stage.stage, member)
            np.testing.assert_array_equal(whole.node_end_ns[npu], expected)
        first += stage.nodes
    accounts = execute_each(graph, folded.nodes.lowered, inputs).booked_ns
    np.testing.assert_array_equal(accounts, folded.booked_ns)
    COMPARED.append(order)


def test_most_orders_were_compared() -> None:
    if not COMPARED:
        pytest.skip("runs after the comparison")
    assert len(COMPARED) > 60


@with_every("order", list(permutations(AXES)))
def test_ids_of_stages_and_members_cover_the_machine_once(order: tuple[str, ...]) -> None:
    plan = ParallelPlan.model_validate({"tp": 2, "cp": 3, "dp": 5, "pp": 4, "order": order})
    pairs = [(stage, member) for stage in range(4) for member in range(30)]
    npus = [plan.npu(stage, member) for stage, member in pairs]
    assert sorted(npus) == list(range(120))
    assert [plan.stage_and_member(npu) for npu in npus] == pairs


def test_innermost_axis_has_neighbouring_npus() -> None:
    workload = TrainingWorkload(model=EXPERTS, sequence=64, global_batch=16)
    plan = {"tp": 2, "dp": 4, "pp": 2, "ep": 4, "etp": 1, "order": ("dp", "ep", "tp", "cp", "pp")}
    groups = group_layouts(workload, ParallelPlan.model_validate(plan))
    layout = {axis: (group.stride, group.size) for axis, group in groups.items()}
    assert layout[Axis.DP] == (1, 4)
    assert layout[Axis.TP] == (4, 2)
    assert layout[Axis.EDP] == (1, 2)
    assert layout[Axis.EP] == (2, 4)
    assert layout[Axis.PP] == (8, 2)
    assert layout[Axis.EMBEDDING] == (8, 2)


def test_tensor_parallelism_across_nodes_takes_longer() -> None:
    workload = TrainingWorkload(model=DENSE, sequence=4096, global_batch=64)
    runner = IterationRunner(platform_of(4, 4), SYSTEM, COMPUTE_MODELS["roofline"]())
    inside, across = (
        runner.run(workload, ParallelPlan.model_validate({"tp": 4, "dp": 4, "order": order}))
        for order in (AXES, ("dp", "tp", "cp", "ep", "pp"))
    )
    assert int(across.finish_ns.max()) > int(inside.finish_ns.max())
    exposed_ns = [run.booked_ns[0, run.categories.index("tp")] for run in (inside, across)]
    assert exposed_ns[1] > 1.5 * exposed_ns[0]


@pytest.mark.parametrize(
    ("order", "rule"),
    [
        (("cp", "tp", "ep", "dp", "pp"), "order_joins_replicas"),
        (("cp", "dp", "pp", "tp", "ep"), "order_places_experts"),
    ],
)
def test_order_that_tears_groups_apart_names_its_rule(order: tuple[str, ...], rule: str) -> None:
    workload = TrainingWorkload(model=EXPERTS, sequence=64, global_batch=16)
    values = {"tp": 2, "cp": 2, "dp": 2, "pp": 2, "ep": 4, "etp": 1, "sequence_parallel": True}
    with pytest.raises(InfeasibleError) as caught:
        build_graph(workload, ParallelPlan.model_validate(values | {"order": order}))
    assert caught.value.rule == rule


def test_order_must_name_every_axis() -> None:
    with pytest.raises(ConfigError, match=r"plan.order: must name each of tp, cp, ep, dp and pp"):
        load_plan({"order": ["tp", "dp", "pp", "tp", "ep"]})
