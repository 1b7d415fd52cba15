"""NPUs that fall out of step, followed class by class, against the engine that runs every NPU."""

from collections import Counter
from collections.abc import Callable, Sequence
from math import prod
from random import Random

import numpy as np
import pytest
from every_case import with_every
from every_message import FOLLOW
from outside_algorithms import OUTSIDE
from outside_topologies import OUTSIDE_TOPOLOGIES
from small_models import DLRM

from simcore.collectives import ALGORITHMS as registered
from simcore.compute import COMPUTE_MODELS
from simcore.engines.classes import by_classes
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.topologies import TOPOLOGIES
from simcore.workload import ParallelPlan, TrainingWorkload, Workload, build_graph, load_workload
from simcore.workload.kinds.transformer.model import Model
from simcore.workload.kinds.transformer.model_parts import Experts

SHAPES = ((4,), (8,), (4, 2), (2, 4), (4, 4), (8, 2), (2, 2, 4), (2, 8), (3, 4), (6,))
SHAPES_OF_LINES = ("ring", "fully_connected", "switch")
ALGORITHMS = ("ring", "direct", "halving_doubling", "double_binary_tree", "double_binary_tree")
SHAPES_FAR_APART = ((2, 8), (8, 2), (2, 2, 4), (2, 4, 2))
ENDED_BEFORE_OTHERS_BEGIN = (182, 229, 523, 669, 722, 928)
"""Seeds of cases in which a group is done before one with NPUs at like places has begun."""
EXPERTS_THAT_WAIT, TABLES_THAT_WAIT = 398, 456
"""Seeds of cases whose members take chunks or collectives in different orders."""
SEEN: Counter[str] = Counter()

Case = tuple[Workload, ParallelPlan, Platform, System]


def case_of(
    seed: int, experts: Experts | None = None, shapes: Sequence[tuple[int, ...]] = SHAPES
) -> Case:
    """A small iteration, most of them with collectives whose members end one by one."""
    rng = Random(seed)
    shape = rng.choice(shapes)
    npus = prod(shape)
    tp = rng.choice([d for d in (1, 2, 3, 4, 8) if npus % d == 0])
    pp = rng.choice([d for d in (1, 2, 4) if npus % (tp * d) == 0])
    cp = rng.choice([d for d in (1, 1, 2) if npus % (tp * pp * d) == 0])
    dp = npus // (tp * pp * cp)
    model = Model.build(
        name="small",
        layers=max(pp, rng.choice([pp, 2 * pp, 4])),
        hidden=384,
        heads=24,
        ffn=1536,
        vocabulary=1536,
        tied_embeddings=rng.random() < 0.3,
        experts=experts,
    )
    batches = rng.choice([1, 2, 3, 5, 8, 40])
    workload = TrainingWorkload(model=model, sequence=96, global_batch=dp * batches)
    dimensions = tuple(
        Dimension(
            topology=rng.choice(SHAPES_OF_LINES),
            npus=size,
            bandwidth_bytes_per_s=rng.choice([20e9, 50e9, 333e9]),
            latency_s=rng.choice([0.0, 25e-9, 700e-9]),
        )
        for size in shape
    )
    plan = ParallelPlan(
        tp=tp,
        cp=cp,
        pp=pp,
        dp=dp,
        sequence_parallel=rng.random() < 0.5,
        zero_stage=rng.choice([0, 1, 2, 3]),
        recompute=rng.choice(["none", "selective", "full"]),
        schedule=rng.choice(["1f1b", "1f1b", "gpipe"]),
    )
    system = System(
        chunks=rng.choice([1, 2, 3, 4, 8]),
        active_chunks_per_dimension=rng.choice([1, 1, 2]),
        collective_optimization=rng.choice(["baseline", "local_bw_aware"]),
        scheduling=rng.choice(["lifo", "fifo"]),
        endpoint_delay_s=rng.choice([10e-9, 0.0, 137e-9]),
        all_reduce=tuple(rng.choice(ALGORITHMS) for _ in shape),
    )
    return workload, plan, Platform(npu=load_npu("a100_80"), dimensions=dimensions), system


def with_experts(seed: int) -> Case:
    """One whose tokens go to experts within or across its replicas."""
    rng = Random(seed)
    workload, plan, platform, system = case_of(seed, Experts(count=4, active=2, ffn=384))
    share = plan.dp * plan.cp
    orders = (("tp", "cp", "ep", "dp", "pp"), ("tp", "cp", "dp", "ep", "pp"))
    spread = {
        "ep": rng.choice([d for d in (1, 2, 4) if share % d == 0]),
        "order": rng.choice(orders),
    }
    return workload, plan.model_copy(update=spread), platform, all_to_all(rng, platform, system)


def with_tables(seed: int) -> Case:
    """A recommendation model: two collectives at once, which may begin in any order."""
    rng = Random(seed)
    _, _, platform, system = case_of(seed)
    samples = rng.choice([4, 32])
    tables = {
        "sharding": rng.choice(["table", "row", "column"]),
        "host_part": rng.choice([0.0, 0.3]),
        "prefetched_indices": rng.random() < 0.5,
    }
    workload = load_workload(
        {
            "kind": "dlrm",
            "model": DLRM,
            "global_batch": platform.npus * samples,
            "tables": tables,
        }
    )
    plan = ParallelPlan(dp=platform.npus, micro_batch=samples)
    return workload, plan, platform, all_to_all(rng, platform, system)


def all_to_all(rng: Random, platform: Platform, system: System) -> System:
    chosen = tuple(rng.choice(["direct1", "ring", "direct"]) for _ in platform.dimensions)
    return system.model_copy(update={"all_to_all": chosen})


def runner(platform: Platform, system: System) -> IterationRunner:
    return IterationRunner(platform, system, COMPUTE_MODELS["roofline"]())


def every_npu(case: Case) -> Iteration | str | None:
    """By the engine of every NPU and message: who waits for ever if so; None: it cannot."""
    workload, plan, platform, system = case
    try:
        return runner(platform, system).run_graph(build_graph(workload, plan), FOLLOW)
    except SimulationError as error:
        return str(error) if "waits for its" in str(error) else None
    except ConfigError:
        return None


def compare_nodes(case: Case, ours_by: IterationRunner, expected: Iteration) -> None:
    """See whether each node of the NPUs that end last is told as the engine of every NPU does.

    *ours_by* has run the case, and knows when members of its collectives end.
    """
    workload, plan, _, _ = case
    told = ours_by.run_graph(build_graph(workload, plan))
    assert told.nodes is not None
    assert expected.nodes is not None
    ours, theirs = told.nodes.execution, expected.nodes.execution
    np.testing.assert_array_equal(ours.start_ns, theirs.start_ns)
    np.testing.assert_array_equal(ours.end_ns, theirs.end_ns)
    np.testing.assert_array_equal(told.finish_ns, expected.finish_ns)
    np.testing.assert_array_equal(told.booked_ns, expected.booked_ns)
    SEEN["told of another than the first"] += ours.last is not None and bool(ours.last.any())


def held_together(case: Case) -> Iteration:
    workload, plan, platform, system = case
    together = system.model_copy(update={"phase_end": "together"})
    return runner(platform, together).run(workload, plan)


@with_every(
    "kind, seed",
    [
        *((case_of, seed) for seed in range(60)),
        *((with_experts, seed) for seed in (*range(40), EXPERTS_THAT_WAIT)),
        *((with_tables, seed) for seed in (*range(40), TABLES_THAT_WAIT)),
    ],
)
def test_classes_end_when_every_single_npu_ends(kind: Callable[[int], Case], seed: int) -> None:
    case = kind(seed)
    workload, plan, platform, system = case
    try:
        bound = held_together(case)
    except (InfeasibleError, ConfigError):
        return  # the groups do not tile the machine, or an algorithm does not run in all of them
    if not bound.held_ns:
        return  # all members behave alike
    expected = every_npu(case)
    if expected is None:
        return
    if isinstance(expected, str):
        with pytest.raises(InfeasibleError, match="collectives_end"):
            runner(platform, system).run(workload, plan)
        SEEN[f"waited for ever, {kind.__name__}"] += 1
        return
    ours = runner(platform, system)
    found = ours.run(workload, plan)
    np.testing.assert_array_equal(found.finish_ns, expected.finish_ns)
    np.testing.assert_array_equal(found.booked_ns, expected.booked_ns)
    compare_nodes(case, ours, expected)
    last = int(found.finish_ns.max())
    assert last <= int(bound.finish_ns.max())  # holding members never makes them faster
    SEEN["compared"] += 1
    SEEN["fewer than all NPUs"] += found.simulated_npus < platform.npus
    SEEN["leapt over a steady state"] += found.repeated > 0


def test_most_of_these_were_compared() -> None:
    if SEEN["compared"] == 0:
        pytest.skip("the cases above were not part of this session")
    assert SEEN["compared"] > 30
    assert SEEN["fewer than all NPUs"] > 15
    assert SEEN["waited for ever, with_experts"] > 0
    assert SEEN["waited for ever, with_tables"] > 0
    assert SEEN["leapt over a steady state"] > 0
    assert SEEN["told of another than the first"] > 10


def on_links_far_apart(seed: int) -> Case:
    """As the first kind of case, with links so unlike that a group may end before another one."""
    workload, plan, platform, system = case_of(seed, shapes=SHAPES_FAR_APART)
    rng = Random(f"far apart {seed}")
    dimensions = tuple(
        dimension.model_copy(
            update={
                "latency_s": rng.choice([0.0, 700e-9, 20e-6, 300e-6]),
                "bandwidth_bytes_per_s": rng.choice([1e9, 20e9, 333e9]),
            }
        )
        for dimension in platform.dimensions
    )
    trees = tuple(rng.choice(["double_binary_tree", "ring"]) for _ in dimensions)
    other = platform.model_copy(update={"dimensions": dimensions})
    return workload, plan, other, system.model_copy(update={"all_reduce": trees})


@pytest.mark.parametrize("seed", ENDED_BEFORE_OTHERS_BEGIN)
def test_a_group_that_ends_before_another_one_begins_parts_from_it(seed: int) -> None:
    case = on_links_far_apart(seed)
    workload, plan, platform, system = case
    expected = every_npu(case)
    assert isinstance(expected, Iteration)
    found = runner(platform, system).run(workload, plan)
    np.testing.assert_array_equal(found.finish_ns, expected.finish_ns)
    np.testing.assert_array_equal(found.booked_ns, expected.booked_ns)


def on_other_networks(seed: int) -> Case:
    """As the first kind of case, on topologies and with algorithms from outside the product."""
    rng = Random(seed)
    workload, plan, platform, system = case_of(seed, shapes=((8,), (4, 4), (8, 2), (12,), (16,)))
    dimensions = []
    for dimension in platform.dimensions:
        names = [name for name in NETWORKS if TOPOLOGIES[name].joins(dimension.npus)]
        dimensions.append(dimension.model_copy(update={"topology": rng.choice(names)}))
    chosen = {
        "all_reduce": tuple(rng.choice([*ALGORITHMS, *OUTSIDE]) for _ in dimensions),
        "all_gather": tuple(rng.choice(["ring", "zigzag", "backwards"]) for _ in dimensions),
        "reduce_scatter": tuple(rng.choice(["ring", "zigzag", "backwards"]) for _ in dimensions),
    }
    other = platform.model_copy(update={"dimensions": tuple(dimensions)})
    return workload, plan, other, system.model_copy(update=chosen)


NETWORKS = ("ring", "switch", "mesh", *OUTSIDE_TOPOLOGIES)


@with_every("seed", range(200))
def test_components_from_outside_end_when_every_single_npu_ends(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registered, "_entries", {**dict(registered.items()), **OUTSIDE})
    everywhere = {**dict(TOPOLOGIES.items()), **OUTSIDE_TOPOLOGIES}
    monkeypatch.setattr(TOPOLOGIES, "_entries", everywhere)
    workload, plan, platform, system = on_other_networks(seed)
    ours = runner(platform, system)
    try:
        found = ours.run(workload, plan)
    except (InfeasibleError, ConfigError, SimulationError):
        return  # groups do not tile the machine, or an algorithm does not run in all of them
    expected = every_npu((workload, plan, platform, system))
    if not isinstance(expected, Iteration):
        return
    assert expected.nodes is not None
    np.testing.assert_array_equal(found.finish_ns, expected.finish_ns)
    compare_nodes((workload, plan, platform, system), ours, expected)
    SEEN["on other networks"] += 1
    SEEN["as one run of the engine"] += found.nodes is not None
    SEEN["by classes, on other networks"] += 1 < found.simulated_npus < platform.npus


def test_many_of_these_ran_by_classes() -> None:
    if SEEN["on other networks"] == 0:
        pytest.skip("the cases above were not part of this session")
    assert SEEN["on other networks"] > 100
    assert SEEN["as one run of the engine"] > 10
    assert SEEN["by classes, on other networks"] > 20


def pipeline(all_reduce: tuple[str, ...], chunks: int, batches: int) -> Case:
    model = Model.build(name="small", layers=4, hidden=384, heads=24, ffn=1536, vocabulary=0)
    dimension = Dimension(topology="switch", npus=4, bandwidth_bytes_per_s=50e9, latency_s=700e-9)
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension, dimension))
    workload = TrainingWorkload(model=model, sequence=96, global_batch=2 * batches)
    plan = ParallelPlan(tp=4, pp=2, dp=2, sequence_parallel=True)
    return workload, plan, platform, System(chunks=chunks, all_reduce=all_reduce)


@pytest.mark.parametrize("chunks", [1, 4])
def test_a_steady_state_is_leapt_over_with_the_same_end(
    chunks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, plan, platform, system = pipeline(("double_binary_tree", "ring"), chunks, 60)
    short = runner(platform, system).run(workload, plan)
    assert short.repeated > 0
    monkeypatch.setattr(by_classes, "Repeats", lambda **_: None)
    whole = runner(platform, system).run(workload, plan)
    assert whole.repeated == 0
    assert whole.events > 2 * short.events
    np.testing.assert_array_equal(short.finish_ns, whole.finish_ns)
    np.testing.assert_array_equal(short.booked_ns, whole.booked_ns)


@pytest.mark.parametrize("replicas", [2, 4, 8])
def test_collectives_that_tell_members_apart_by_two_axes_at_one_moment_all_end(
    replicas: int,
) -> None:
    experts = Experts(count=4, active=2, ffn=1536)
    model = Model.build(
        name="small", layers=4, hidden=384, heads=24, ffn=1536, vocabulary=0, experts=experts
    )
    dimension = Dimension(topology="switch", npus=2, bandwidth_bytes_per_s=50e9, latency_s=700e-9)
    other = dimension.model_copy(update={"npus": replicas})
    platform = Platform(npu=load_npu("a100_80"), dimensions=(dimension, other))
    workload = TrainingWorkload(model=model, sequence=96, global_batch=4 * replicas)
    plan = ParallelPlan(pp=2, dp=replicas, zero_stage=3)
    system = System(
        chunks=4, all_reduce=("double_binary_tree", "double_binary_tree"), execution="streams"
    )
    bound = held_together((workload, plan, platform, system))
    assert bound.held_ns
    found = runner(platform, system).run(workload, plan)
    assert found.finish_ns.max() <= bound.finish_ns.max()


def test_trees_take_turns_from_one_collective_to_the_next() -> None:
    workload, plan, platform, system = pipeline(("double_binary_tree", "ring"), 1, 3)
    found = runner(platform, system).run(workload, plan)
    expected = every_npu((workload, plan, platform, system))
    assert isinstance(expected, Iteration)
    np.testing.assert_array_equal(found.finish_ns, expected.finish_ns)


def test_members_that_wait_for_each_other_for_ever_make_a_design_infeasible() -> None:
    told = next(
        (
            why
            for why in map(why_infeasible, range(200, 400))
            if why and why[0] == "collectives_end"
        ),
        None,
    )
    assert told, "no case in which members take their chunks in different orders"
    assert "waits for its" in told[1]


def why_infeasible(seed: int) -> tuple[str, str] | None:
    """Rule and reason of a case; None: it can be run, or breaks a rule of the engine."""
    workload, plan, platform, system = case_of(seed)
    try:
        runner(platform, system).run(workload, plan)
    except InfeasibleError as error:
        return error.rule, error.reason
    except (SimulationError, ConfigError):
        return None
    return None
