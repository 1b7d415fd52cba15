"""Parameter servers and local training against closed forms of bytes, time and memory."""

from typing import Any

import pytest

from simcore import Dimension, Model, ParallelPlan, Platform, System, load_npu, simulate
from simcore.errors import ConfigError, InfeasibleError
from simcore.memory.footprint import footprint
from simcore.result import IterationResult
from simcore.terms import CollectiveKind, NodeKind
from simcore.workload import Axis, PassPhase, TrainingGraph, TrainingWorkload, build_graph

MODEL = Model.build(name="small", layers=4, hidden=256, heads=8, ffn=1024, vocabulary=512)
PARAMETERS = MODEL.parameters
WORKERS = 8
RATE = 1e9


def job(batch: int = 16) -> TrainingWorkload:
    return TrainingWorkload(model=MODEL, sequence=64, global_batch=batch)


def built(npus: int = WORKERS, **updates: Any) -> TrainingGraph:
    return build_graph(job(), ParallelPlan(dp=npus, updates=updates))


def traffic(graph: TrainingGraph, stage: int = 0) -> dict[PassPhase, int]:
    one = graph.stages[stage]
    items = one.item[one.kind == NodeKind.COLLECTIVE].tolist()
    found = [graph.collectives[i] for i in items if graph.collectives[i].axis is Axis.DP]
    sums: dict[PassPhase, int] = {}
    for operation in found:
        if operation.size_bytes > 4:  # but for the norm of the gradients
            sums[operation.phase] = sums.get(operation.phase, 0) + operation.size_bytes
    return sums


def timed(all_to_all: str = "direct1", **updates: Any) -> IterationResult:
    link = Dimension(topology="switch", npus=WORKERS, bandwidth_bytes_per_s=RATE, latency_s=0.0)
    platform = Platform(npu=load_npu("a100_80"), dimensions=(link,))
    system = System(all_to_all=all_to_all, chunks=1)
    plan = ParallelPlan(dp=WORKERS, micro_batch=2, updates=updates)
    return simulate(job(), platform, plan, system=system)


@pytest.mark.parametrize("servers", [1, 2, 4, 8])
def test_a_server_gets_its_part_of_the_gradients_from_every_worker_and_sends_it_weights(
    servers: int,
) -> None:
    graph = built(kind="servers", servers=servers)
    parts = [c for c in graph.collectives if c.axis is Axis.DP and c.size_bytes > 4]
    assert {operation.kind for operation in parts} == {CollectiveKind.ALL_TO_ALL}
    gradients, weights = 4 * PARAMETERS // servers, 2 * PARAMETERS // servers
    assert traffic(graph) == {PassPhase.GRADIENTS: WORKERS * (gradients + weights)}


def test_as_many_servers_as_workers_carry_what_a_ring_all_reduce_carries() -> None:
    served = traffic(built(kind="servers", servers=WORKERS))[PassPhase.GRADIENTS]
    reduced = traffic(built())[PassPhase.GRADIENTS]
    assert served == pytest.approx(reduced * (1 + 2 / 4))  # weights come back in 2 bytes


@pytest.mark.parametrize("servers", [1, 2, 8])
def test_the_links_of_a_server_decide_how_long_an_exchange_takes(servers: int) -> None:
    result = timed(kind="servers", servers=servers)
    parts = 6 * PARAMETERS / servers * (WORKERS - 1)
    assert result.sent_bytes[0] == pytest.approx(parts, rel=1e-3)
    compute = sum(result.compute_by_phase_s().values())
    assert result.iteration_time_s <= parts / RATE + compute + 1e-6
    assert result.iteration_time_s >= parts / RATE


def test_messages_that_do_not_share_links_are_told_of() -> None:
    apart = timed("direct", kind="servers")
    assert apart.dimension_utilization[0] > 1
    assert any("dimension 0 carried" in note for note in apart.notes)
    assert not any("carried" in note for note in timed(kind="servers").notes)


def test_fewer_servers_take_longer() -> None:
    times = [timed(kind="servers", servers=n).iteration_time_s for n in (1, 2, 4, 8)]
    assert times == sorted(times, reverse=True)
    assert times[0] > 1.8 * times[1]


def test_with_staleness_the_exchange_hides_the_passes_or_the_other_way_round() -> None:
    waiting, stale = (timed(kind="servers", servers=8, staleness=s) for s in (0, 1))
    exchange = 6 * PARAMETERS / 8 * (WORKERS - 1) / RATE
    assert stale.iteration_time_s < waiting.iteration_time_s
    assert stale.iteration_time_s >= exchange
    assert stale.sent_bytes == pytest.approx(waiting.sent_bytes, rel=1e-3)
    assert (waiting.staleness, stale.staleness) == (0, 1)
    assert any("lack the updates of 1 iteration" in note for note in stale.notes)
    later = timed(kind="servers", servers=8, staleness=5)
    assert later.iteration_time_s <= stale.iteration_time_s
    assert any("lack the updates of 2 iterations" in note for note in later.notes)


def test_the_mean_of_local_training_is_that_of_its_iterations() -> None:
    apart, last = timed(kind="local", every=0), timed(kind="local", every=1)
    mean = timed(kind="local", every=50)
    assert apart.sent_bytes == (0.0,)
    assert last.sent_bytes[0] == pytest.approx(2 * 4 * PARAMETERS * (WORKERS - 1) / WORKERS)
    expected = (49 * apart.iteration_time_s + last.iteration_time_s) / 50
    assert mean.iteration_time_s == pytest.approx(expected, abs=2e-9)
    assert mean.sent_bytes[0] == pytest.approx(last.sent_bytes[0] / 50)
    parts = mean.compute_s + mean.exposed_communication_s + mean.bubble_s
    assert parts == pytest.approx(mean.iteration_time_s, abs=1e-7)
    assert any("every 50th iteration" in note for note in mean.notes)


@pytest.mark.parametrize("distance", [1, 2, 4])
def test_partners_send_each_other_their_weights(distance: int) -> None:
    graph = built(kind="gossip", distance=distance)
    group = graph.groups[Axis.PARTNER]
    assert (group.stride, group.size) == (distance, 2)
    (exchange,) = [c for c in graph.collectives if c.axis is Axis.PARTNER]
    assert (exchange.kind, exchange.size_bytes) == (CollectiveKind.ALL_GATHER, 4 * PARAMETERS)
    assert not [c for c in graph.collectives if c.axis is Axis.DP]
    result = timed(kind="gossip", distance=distance)
    assert result.sent_bytes == (4 * PARAMETERS,)
    apart = timed(kind="local", every=0)
    added = result.iteration_time_s - apart.iteration_time_s
    assert 4 * PARAMETERS / RATE < added < 4 * PARAMETERS / RATE + 1e-3


def test_memory_follows_who_keeps_what() -> None:
    def parts(**updates: Any) -> tuple[int, int]:
        stage = footprint(job(), ParallelPlan(dp=WORKERS, updates=updates)).fullest
        return stage.gradients_bytes, stage.optimizer_bytes

    assert parts() == (4 * PARAMETERS, 12 * PARAMETERS)
    assert parts(kind="servers", servers=4) == (4 * PARAMETERS, 12 * PARAMETERS // 4)
    assert parts(kind="servers", servers=4, staleness=1)[0] == 8 * PARAMETERS
    assert parts(kind="local", every=10)[1] == (12 + 8) * PARAMETERS


def test_what_does_not_go_together_is_refused() -> None:
    with pytest.raises(InfeasibleError, match=r"^servers_divide_replicas: "):
        built(kind="servers", servers=3)
    with pytest.raises(InfeasibleError, match=r"^updates_need_whole_weights: "):
        build_graph(job(), ParallelPlan(dp=2, zero_stage=1, updates={"kind": "local"}))
    with pytest.raises(InfeasibleError, match=r"^partners_divide_replicas: "):
        built(kind="gossip", distance=8)
    with pytest.raises(ConfigError, match=r"distance"):
        ParallelPlan.build(updates={"kind": "local", "distance": 2})
    with pytest.raises(ConfigError, match=r"servers and staleness"):
        ParallelPlan.build(updates={"staleness": 1})
    with pytest.raises(ConfigError, match=r"every"):
        ParallelPlan.build(updates={"kind": "servers", "every": 2})
