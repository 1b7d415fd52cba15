"""NPUs that stay in step on links that all groups load at once, against every NPU and message."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from every_message import follow_every_message

from simcore.collectives import Offset, algorithm_named
from simcore.compute import COMPUTE_MODELS
from simcore.config import RunTemplate
from simcore.engines.choose import Engine
from simcore.engines.collectives.phases import Phase
from simcore.engines.in_step.loads import LoadedLinks
from simcore.engines.in_step.meeting import Use, keep_apart
from simcore.engines.iteration import Iteration, IterationRunner
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.graphs.families import FAMILIES
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.network.base import LinkRule
from simcore.network.dimensions import engine_dimensions
from simcore.simulation import Simulator
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan, TrainingWorkload, Workload, build_graph
from simcore.workload.kinds.transformer.model import Model

FAMILY_SAMPLES: dict[str, list[dict[str, object]]] = {
    "ring": [{"n": 4}, {"n": 8}],
    "mesh": [{"dims": [2, 2]}, {"dims": [2, 4]}],
    "torus": [{"dims": [4, 2]}, {"dims": [4, 4]}],
    "torus_slice": [{"cubes": [2]}, {"cubes": [1, 1]}],
    "twisted_torus": [{"dims": [2, 4], "twist": 2}, {"dims": [4, 4], "twist": 2}],
    "hypercube": [{"d": 2}, {"d": 3}],
    "fully_connected": [{"n": 4}, {"n": 8}],
    "star": [{"n": 4}, {"n": 8}],
    "hyperx": [{"dims": [2, 2], "terminals": 2}, {"dims": [2, 4], "terminals": 2}],
    "leaf_spine": [{"leaves": 2, "npus_per_leaf": 4, "spines": 2}],
    "fat_tree": [{"k": 4}],
    "rails": [
        {"servers": 2, "npus_per_server": 4, "servers_per_pod": 2, "spines": 0},
        {"servers": 4, "npus_per_server": 2, "servers_per_pod": 2, "spines": 2},
    ],
    "nvl_rails": [{"racks": 2, "npus_per_rack": 4, "nvswitches": 2, "rails": 2, "spines": 2}],
    "domains": [
        {
            "npus_per_domain": 4,
            "nvswitches": 1,
            "networks": {"star": {"family": "star", "params": {"n": 2}}},
            "outside": "star",
        }
    ],
    "dragonfly": [{"p": 2, "a": 4, "h": 1, "groups": 2}, {"p": 1, "a": 2, "h": 1, "groups": 2}],
    "dragonfly_plus": [{"p": 2, "leaves": 2, "spines": 2, "h": 1, "groups": 2}],
    "hybrid_cube_mesh": [{"generation": "p100"}],
    "islands": [{"sizes": [4, 4], "joins": [[0, 4], [1, 5], [2, 6], [3, 7]]}],
    "bcube": [{"n": 2, "k": 1}, {"n": 4, "k": 1}],
    "dcell": [{"n": 3, "k": 1}],
    "slim_fly": [{"q": 3, "terminals": 1}],
}

Case = tuple[Workload, ParallelPlan, Platform, System]
RULES = ("ecmp_hash", "minimal_lowest", "spray", "spray", "dmodk", "dimension_order")
SEEDS = 3
GRIDS = ("ring", "mesh", "torus", "hypercube")
ALGORITHMS = ("ring", "ring", "direct", "halving_doubling", "recursive_doubling")
SHAPES = ((4,), (8,), (4, 2), (2, 4), (4, 4), (8, 2), (2, 2, 4))
AWARE = "congestion_aware_multidim"
SEEN: Counter[str] = Counter()


def network_of(family: str, rng: Random) -> dict[str, object]:
    rules = [rule for rule in RULES if rule != "dimension_order" or family in GRIDS]
    rule = rng.choice(rules)
    divisors = {"divisors": [1, 1, 1, 1]} if rule == "dmodk" else {}
    return {
        "family": family,
        "params": rng.choice(FAMILY_SAMPLES[family]),
        "bandwidth": rng.choice(["50 GB/s", "7 GB/s"]),
        "latency": rng.choice(["500 ns", "37 ns"]),
        "routing": {"rule": rule, **divisors},
    }


def case_of(family: str, seed: int) -> Case:
    """A small iteration on a small network of a family, with one stage or more."""
    rng = Random(f"{family} {seed}")
    platform = Platform.model_validate(
        {"npu": load_npu("a100_80"), "network": network_of(family, rng)}
    )
    return (*plan_of(platform.npus, rng), platform, system_of(len(platform.dimensions), rng))


def stacked(seed: int) -> Case:
    """A random design on a stack of dimensions."""
    rng = Random(seed)
    shape = rng.choice(SHAPES)
    dimensions = tuple(
        Dimension(
            topology=rng.choice(("ring", "fully_connected", "switch")),
            npus=npus,
            bandwidth_bytes_per_s=rng.choice([20e9, 333e9]),
            latency_s=rng.choice([25e-9, 700e-9]),
        )
        for npus in shape
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    return (*plan_of(platform.npus, rng), platform, system_of(len(shape), rng))


def plan_of(npus: int, rng: Random) -> tuple[Workload, ParallelPlan]:
    tp = rng.choice([d for d in (1, 2, 4, 8) if npus % d == 0])
    pp = rng.choice([d for d in (1, 1, 1, 2) if npus % (tp * d) == 0])
    dp = npus // (tp * pp)
    model = Model.build(
        name="small", layers=pp, hidden=384, heads=24, ffn=1536, vocabulary=0, causal=True
    )
    batches = rng.choice([1, 2, 6])
    plan = ParallelPlan(
        tp=tp,
        pp=pp,
        dp=dp,
        zero_stage=rng.choice([0, 1, 3]),
        sequence_parallel=tp > 1 and rng.random() < 0.5,
    )
    return TrainingWorkload(model=model, sequence=96, global_batch=dp * batches), plan


def system_of(levels: int, rng: Random) -> System:
    return System(
        chunks=rng.choice([1, 1, 2, 3]),
        collective_optimization=rng.choice(["baseline", "local_bw_aware"]),
        scheduling=rng.choice(["lifo", "fifo"]),
        endpoint_delay_s=rng.choice([10e-9, 137e-9]),
        all_reduce=tuple(rng.choice(ALGORITHMS) for _ in range(levels)),
    )


def runner(platform: Platform, system: System, backend: str) -> IterationRunner:
    return IterationRunner(platform, system, COMPUTE_MODELS["roofline"](), backend=backend)


def both_ways(case: Case, backend: str) -> tuple[Iteration, Iteration] | None:
    """In step and NPU by NPU; None: the design is refused, or NPUs need not stay in step."""
    workload, plan, platform, system = case
    try:
        found = runner(platform, system, backend).run(workload, plan)
        SEEN[f"ran {backend}"] += 1
        if found.choice.engine is Engine.EVENTS:
            return None
        graph = build_graph(workload, plan)
        return found, follow_every_message(runner(platform, system, backend), graph)
    except (InfeasibleError, SimulationError, ConfigError):
        return None


def compared(case: Case, backend: str, name: str) -> None:
    pair = both_ways(case, backend)
    if pair is None:
        return
    found, expected = pair
    np.testing.assert_array_equal(found.finish_ns, expected.finish_ns)
    np.testing.assert_array_equal(found.booked_ns, expected.booked_ns)
    SEEN[name] += 1


@pytest.mark.parametrize("family", FAMILIES)
def test_npus_in_step_end_when_every_npu_and_message_ends(family: str) -> None:
    for seed in range(SEEDS):
        compared(case_of(family, seed), "flow", family)


@pytest.mark.parametrize("backend", [AWARE, "flow"])
def test_npus_in_step_on_stacks_of_dimensions_end_when_all_end(backend: str) -> None:
    for seed in range(8):
        compared(stacked(seed), backend, backend)


def test_most_families_were_compared() -> None:
    if not SEEN["flow"]:
        pytest.skip("the cases above were not part of this session")
    assert sum(SEEN[family] > 0 for family in FAMILIES) >= 12
    assert SEEN["flow"] >= 3
    assert SEEN[AWARE] >= 3


def links(**network: object) -> LoadedLinks:
    table = {"bandwidth": "50 GB/s", "latency": "500 ns", **network}
    platform = Platform.model_validate({"npu": load_npu("a100_80"), "network": table})
    return LoadedLinks(engine_dimensions(platform.dimensions))


def test_messages_of_all_groups_share_an_oversubscribed_tier() -> None:
    params = {"leaves": 2, "npus_per_leaf": 4, "spines": 1}
    across = Phase(
        dimension=1,
        kind=CollectiveKind.ALL_REDUCE,
        algorithm=algorithm_named("ring"),
        members=2,
        stride=1,
    )
    load = links(family="leaf_spine", params=params).of_peers(across, (Offset(1),))
    assert load.even
    # four NPUs of a leaf send over its one cable: four links long, a quarter of the rate
    assert load.times_ns(1_000_000) == (4 * 500 + 80_000,) * 2


def test_activities_keep_apart_only_where_their_links_carry_them_together() -> None:
    star = links(family="star", params={"n": 4})
    npus = np.arange(2)

    def use(target: int, number: int, rate: float) -> Use:
        source = npus[number : number + 1]
        activity = np.full(1, number)
        return Use(source=source, target=source * 0 + target, activity=activity, bytes_per_ns=rate)

    full = [use(2, 0, 50.0), use(3, 1, 50.0)]
    assert keep_apart(star, full, LinkRule.FAIR)
    assert keep_apart(star, full, LinkRule.QUEUED)
    to_one = [use(2, 0, 50.0), use(2, 1, 50.0)]
    assert not keep_apart(star, to_one, LinkRule.FAIR)
    assert not keep_apart(star, to_one, LinkRule.QUEUED)
    # half a link each fits, but either could go faster while the other is not there
    assert not keep_apart(star, [use(2, 0, 25.0), use(2, 1, 25.0)], LinkRule.FAIR)


def test_a_large_machine_is_simulated_where_every_node_would_be_too_many() -> None:
    table = {
        "workload": {"model": "gpt3_175b", "sequence": 2048, "global_batch": 1536},
        "platform": {
            "npu": "a100_80",
            "network": {
                "family": "rails",
                "params": {
                    "servers": 128,
                    "npus_per_server": 8,
                    "servers_per_pod": 128,
                    "spines": 0,
                },
                "bandwidth": "25 GB/s",
                "latency": "500 ns",
                "cables": {"npu-nvswitch": {"bandwidth": "300 GB/s", "latency": "350 ns"}},
            },
        },
        "plan": {"tp": 8, "pp": 8, "dp": 16, "recompute": "selective"},
        "backend": "flow",
        "system": {"phase_end": "together"},
    }
    simulator, run = Simulator(), RunTemplate.from_table(table).with_values({})
    found = simulator.simulate(run)
    assert found.engine == "stages"
    assert "held in step" in found.engine_reason
    idle = simulator.simulate(run.model_copy(update={"backend": "congestion_unaware"}))
    # every rail has a port for each server, so no message waits for another of its collective
    assert found.iteration_time_s == pytest.approx(idle.iteration_time_s, rel=1e-3)
