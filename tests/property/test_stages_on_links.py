"""Stages that meet on links, one NPU for each, against every NPU and message."""

from collections import Counter
from random import Random

import numpy as np
import pytest
from every_message import follow_every_message
from test_in_step import AWARE, Case, network_of, runner, system_of

from simcore.engines.choose import Engine
from simcore.engines.in_step.loads import LoadedLinks
from simcore.engines.in_step.stage_links import Activity, StageLinks, _Sharing
from simcore.engines.in_step.ways import stage_ways
from simcore.errors import ConfigError, InfeasibleError, SimulationError
from simcore.machine import Dimension, Platform, load_npu
from simcore.network.base import LinkRule
from simcore.network.dimensions import engine_dimensions
from simcore.network.queued import QueuedLinks
from simcore.workload import ParallelPlan, TrainingWorkload, Workload, build_graph
from simcore.workload.kinds.transformer.model import Model

SHAPES = ((8,), (4, 4), (2, 8), (8, 2), (4, 2, 4), (8, 4))
FAMILIES = ("star", "rails", "leaf_spine", "fully_connected", "fat_tree", "hyperx")
SEEN: Counter[str] = Counter()


def plan_of(npus: int, rng: Random) -> tuple[Workload, ParallelPlan]:
    """Several stages, whose first and last may have one embedding."""
    pp = rng.choice([d for d in (2, 4, 8) if npus % d == 0])
    tp = rng.choice([d for d in (1, 2, 4) if npus % (pp * d) == 0])
    interleave = rng.choice([1, 1, 2])
    model = Model.build(
        name="small",
        layers=pp * interleave * rng.choice([1, 2]),
        hidden=rng.choice([384, 768]),
        heads=24,
        ffn=1536,
        vocabulary=rng.choice([0, 960, 50304]),
        causal=True,
    )
    dp, batches = npus // (pp * tp), pp * rng.choice([1, 2, 3])
    plan = ParallelPlan(
        tp=tp,
        pp=pp,
        dp=dp,
        interleave=interleave,
        zero_stage=rng.choice([0, 1]),
        recompute=rng.choice(["none", "full"]),
    )
    sequence = rng.choice([96, 512])
    return TrainingWorkload(model=model, sequence=sequence, global_batch=dp * batches), plan


def stacked(seed: int) -> Case:
    rng = Random(f"stages {seed}")
    dimensions = tuple(
        Dimension(
            topology=rng.choice(("switch", "switch", "fully_connected", "ring")),
            npus=npus,
            bandwidth_bytes_per_s=rng.choice([2e9, 20e9, 333e9]),
            latency_s=rng.choice([0.0, 25e-9, 700e-9]),
        )
        for npus in rng.choice(SHAPES)
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions)
    return (*plan_of(platform.npus, rng), platform, system_of(len(dimensions), rng))


def on_family(family: str) -> Case:
    rng = Random(f"stages {family}")
    network = network_of(family, rng)
    platform = Platform.model_validate({"npu": load_npu("a100_80"), "network": network})
    return (*plan_of(platform.npus, rng), platform, system_of(len(platform.dimensions), rng))


def compare(case: Case, backend: str) -> None:
    workload, plan, platform, system = case
    try:
        found = runner(platform, system, backend).run(workload, plan)
    except (InfeasibleError, SimulationError, ConfigError):
        return
    SEEN[str(found.choice.engine)] += 1
    if found.choice.engine is Engine.LINKS:
        graph = build_graph(workload, plan)
        every = follow_every_message(runner(platform, system, backend), graph)
        np.testing.assert_array_equal(found.finish_ns, every.finish_ns)
        np.testing.assert_array_equal(found.booked_ns, every.booked_ns)
        assert found.simulated_npus == plan.pp
        assert found.held_ns == 0


@pytest.mark.parametrize("backend", [AWARE, "flow"])
@pytest.mark.parametrize("seed", range(9))
def test_messages_between_stages_on_links_end_as_those_of_every_npu(
    seed: int, backend: str
) -> None:
    compare(stacked(seed), backend)


@pytest.mark.parametrize("backend", [AWARE, "flow"])
def test_a_steady_state_is_repeated_as_if_every_message_had_been_followed(backend: str) -> None:
    repeated = 0
    for seed in (0, 8, 13):
        workload, plan, platform, system = stacked(seed)
        batches = plan.dp * plan.pp * 20
        workload = workload.model_copy(update={"global_batch": batches})
        found = runner(platform, system, backend).run(workload, plan)
        if found.choice.engine is Engine.LINKS and found.repeated:
            graph = build_graph(workload, plan)
            every = follow_every_message(runner(platform, system, backend), graph)
            np.testing.assert_array_equal(found.finish_ns, every.finish_ns)
            np.testing.assert_array_equal(found.booked_ns, every.booked_ns)
            repeated += 1
    assert repeated == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_messages_between_stages_on_a_network_end_as_those_of_every_npu(family: str) -> None:
    compare(on_family(family), "flow")


def test_most_of_those_designs_were_followed_by_stages() -> None:
    if not SEEN:
        pytest.skip("the designs above were not part of this session")
    assert SEEN["links"] >= 9
    assert SEEN["events"] >= 1  # where a collective met a message


def stage_links(topology: str, rule: LinkRule, npus: int = 8) -> LoadedLinks:
    one = Dimension(topology=topology, npus=npus, bandwidth_bytes_per_s=1e9, latency_s=1e-7)
    return LoadedLinks(engine_dimensions([one]))


def test_links_are_alike_where_the_same_messages_cross_them() -> None:
    npus = np.arange(4)
    ends = {(0, 1): (npus, npus + 4), (1, 0): (npus + 4, npus)}
    # up and down, of NPUs of either stage; shared out, a message has as much of one as of the other
    for rule, classes in ((LinkRule.QUEUED, 4), (LinkRule.FAIR, 2)):
        ways = stage_ways(stage_links("switch", rule), ends, rule)
        assert ways is not None
        assert len(ways.bytes_per_ns) == classes
    ring = stage_links("ring", LinkRule.QUEUED)
    neighbours = {(0, 1): (2 * npus, 2 * npus + 1)}
    assert stage_ways(ring, neighbours, LinkRule.QUEUED) is not None
    # links in the middle of half a ring carry more of the messages that pass it
    assert stage_ways(ring, {(0, 1): (npus, npus + 4)}, LinkRule.QUEUED) is None


def test_messages_that_come_to_one_link_at_once_are_tied() -> None:
    for apart_ns, tied in ((0, True), (1, False)):
        links = QueuedLinks([1.0, 1.0, 1.0], [5.0, 5.0, 5.0])
        links.send(0, 1, 100, [0, 2])
        links.send(apart_ns, 2, 100, [1, 2])
        while (due_ns := links.next_event_ns()) is not None:
            links.advance(due_ns)
        assert links.tied is tied


def test_uses_of_a_link_are_apart_where_one_ends_before_the_other_begins() -> None:
    links = StageLinks.__new__(StageLinks)
    links._sharing = _Sharing(len(stage_links("switch", LinkRule.QUEUED).bytes_per_ns))

    def use(link: int, begin_ns: int, end_ns: int, group: str = "") -> Activity:
        return Activity(
            links=np.array([link]),
            begin_ns=np.array([begin_ns]),
            end_ns=np.array([end_ns]),
            group=group,
        )

    assert links.kept_apart([use(0, 0, 10), use(0, 10, 20)])
    assert links.kept_apart([use(0, 0, 10), use(1, 5, 20)])
    assert not links.kept_apart([use(0, 0, 10), use(0, 9, 20)])
    assert not links.kept_apart([use(0, 0, 10), use(0, 5, 5)])
    assert not links.kept_apart([use(0, 5, 5), use(0, 0, 10)])
    assert not links.kept_apart([use(0, 0, 10, "a"), use(1, 0, 9), use(0, 8, 9, "b")])
    assert links.kept_apart([use(0, 0, 10, "a"), use(0, 9, 20, "a")])
    assert links.kept_apart([])
