"""Data in tiers of memory: bytes against closed forms, times against those without offload."""

from dataclasses import dataclass
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simcore.bounds.work_floor import WorkFloor
from simcore.checks import RunChecks
from simcore.config import Run
from simcore.errors import ConfigError, InfeasibleError
from simcore.formats.chakra.generate import write_iteration
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.machine.tiers import Tier, TierLevel
from simcore.memory.footprint import footprint
from simcore.result import IterationResult
from simcore.simulation import Simulator, attribute_run, timeline_run
from simcore.workload import (
    Model,
    ParallelPlan,
    TrainingWorkload,
    build_graph,
    load_workload,
)
from simcore.workload.kinds import InferenceWorkload
from simcore.workload.offload import Offload

LAYERS, HIDDEN, SEQUENCE, BATCH, ROWS = 4, 256, 128, 16, 1024
NORM = 2 * HIDDEN
"""Parameters of a LayerNorm."""
MODEL = Model(name="m", layers=LAYERS, hidden=HIDDEN, heads=4, ffn=4 * HIDDEN, vocabulary=ROWS)
JOB = TrainingWorkload(model=MODEL, sequence=SEQUENCE, global_batch=BATCH)
SIMULATOR = Simulator()
STATE = 12
"""Bytes of main copy and two moments of a parameter."""
GRADIENT, WEIGHT = 4, 2
UNLIMITED = 1e30
ALL = {"weights": "host", "gradients": "host", "optimizer": "host", "activations": "host"}
THERE = {"gradients": "host", "optimizer": "host", "update": "tier"}


def tier(rate: float = 2e9, **fields: Any) -> Tier:
    known = {"kind": "per_npu", "memory_bytes": 1e12, "bandwidth_bytes_per_s": rate}
    return Tier.model_validate(
        {**known, "update_bytes_per_s": 10 * rate, **fields}, by_name=True, by_alias=False
    )


def run_of(plan: ParallelPlan, tiers: dict[str, Tier], job: Any = JOB, **fields: Any) -> Run:
    degrees = [size for size in (plan.tp, plan.dp, plan.pp) if size > 1]
    dimensions = tuple(
        Dimension(topology="switch", npus=n, bandwidth_bytes_per_s=50e9, latency_s=700e-9)
        for n in degrees
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions, tiers=tiers)
    return Run(workload=job, platform=platform, plan=plan, system=System(**fields))


def result(plan: ParallelPlan, rate: float, job: Any = JOB, **fields: Any) -> IterationResult:
    return SIMULATOR.simulate(run_of(plan, {"host": tier(rate)}, job, **fields))


def plan_with(offload: dict[str, Any], **fields: Any) -> ParallelPlan:
    return ParallelPlan(**{"dp": 4, "zero_stage": 3, **fields}, offload=Offload(**offload))


@dataclass(frozen=True)
class Sizes:
    """Parameters of the model: four and eight squares of its width, two norms, and its ends."""

    layer: int = 12 * HIDDEN**2 + 2 * NORM
    table: int = ROWS * HIDDEN

    @property
    def owned(self) -> int:
        outer = 0 if MODEL.tied_embeddings else self.table
        return LAYERS * self.layer + self.table + outer + NORM


SIZES = Sizes()


def test_the_sizes_are_those_of_the_model() -> None:
    assert SIZES.owned == MODEL.parameters


def test_shards_of_weights_move_twice_per_micro_batch_and_once_back() -> None:
    found = result(plan_with({"weights": "host"}), 2e9).tier_bytes
    batches, shards = BATCH // 4, 4
    layer = ceil(WEIGHT * -(-SIZES.layer // shards))
    ends = [SIZES.table] if MODEL.tied_embeddings else [SIZES.table, SIZES.table + NORM]
    outer = sum(ceil(WEIGHT * -(-end // shards)) for end in ends)
    assert found["host_load"] == batches * (2 * LAYERS * layer + outer)
    owned = -(-SIZES.owned // shards)
    assert found["host_store"] == found["host_held"] == WEIGHT * owned


def test_gradients_go_out_after_each_backward_pass_and_come_back_once() -> None:
    found = result(plan_with({"gradients": "host"}, zero_stage=2), 2e9).tier_bytes
    batches, shards = BATCH // 4, 4
    buckets = LAYERS * [SIZES.layer] + [SIZES.table, SIZES.table + NORM]
    assert found["host_store"] == batches * sum(GRADIENT * -(-one // shards) for one in buckets)
    assert found["host_load"] == found["host_held"] == GRADIENT * -(-SIZES.owned // shards)


@pytest.mark.parametrize("zero", [0, 1])
@pytest.mark.parametrize("overlap", [True, False])
def test_the_state_of_what_an_npu_updates_moves_both_ways_once(zero: int, overlap: bool) -> None:
    offload = {"optimizer": "host", "group": 1000, "overlap": overlap}
    found = result(plan_with(offload, zero_stage=zero), 2e9).tier_bytes
    owned = SIZES.owned if zero == 0 else -(-SIZES.owned // 4)
    assert found["host_load"] == found["host_store"] == found["host_held"] == STATE * owned


@pytest.mark.parametrize("recompute", ["none", "full"])
def test_activations_of_every_layer_move_out_and_in_per_micro_batch(recompute: str) -> None:
    plan = plan_with({"activations": "host"}, recompute=recompute)
    found = result(plan, 2e9).tier_bytes
    tokens, batches = SEQUENCE, BATCH // 4
    numbers = 2 if recompute == "full" else 34  # Korthikanti et al., flash attention, no dropout
    kept = footprint(JOB, plan_with({}, recompute=recompute)).stages[0].kept_bytes
    assert kept <= numbers * tokens * HIDDEN * LAYERS
    assert found["host_load"] == found["host_store"] == batches * kept
    if recompute == "full":
        assert kept == 2 * tokens * HIDDEN * LAYERS


def test_an_update_beside_the_memory_touches_state_gradient_and_weight() -> None:
    found = result(plan_with(THERE, zero_stage=2), 2e9).tier_bytes
    owned = -(-SIZES.owned // 4)
    assert found["host_update"] == (2 * STATE + GRADIENT + WEIGHT) * owned
    assert found["host_load"] == WEIGHT * owned
    assert found["host_held"] == (STATE + GRADIENT) * owned


PLANS: list[dict[str, Any]] = [
    {"zero_stage": 3},
    {"zero_stage": 3, "recompute": "full", "prefetch": 0},
    {"tp": 2, "dp": 2, "pp": 2, "zero_stage": 3, "interleave": 2},
    {"dp": 2, "pp": 4, "zero_stage": 3, "schedule": "gpipe"},
]


@pytest.mark.parametrize("fields", PLANS, ids=str)
@pytest.mark.parametrize("part", [*ALL, "all"])
def test_with_unlimited_bandwidth_nothing_takes_longer(fields: dict[str, Any], part: str) -> None:
    offload = ALL if part == "all" else {part: "host"}
    without = result(plan_with({}, **fields), 1.0)
    found = result(plan_with(offload, **fields), UNLIMITED)
    assert found.iteration_time_s == without.iteration_time_s
    assert sum(found.tier_bytes.values()) > 0


@pytest.mark.parametrize("fields", PLANS, ids=str)
def test_situations_and_single_nodes_agree(fields: dict[str, Any]) -> None:
    run = run_of(plan_with(ALL, **fields), {"host": tier()})
    short, each = SIMULATOR.run(run)[0], SIMULATOR.run(run, every_node=True)[0]
    assert short.engine == "stages"
    assert short.iteration_time_s == each.iteration_time_s
    waits = short.exposed_by_axis_s()
    assert waits["host_load"] + waits["host_store"] > 0
    assert waits == pytest.approx(each.exposed_by_axis_s(), abs=1e-8)
    parts = attribute_run(run).parts_ns
    assert sum(parts.values()) == round(each.iteration_time_s * 1e9)
    assert any("from tier host" in str(reason) for reason in parts)


def test_classes_of_npus_agree_with_npus_in_step() -> None:
    plan = plan_with(ALL, dp=8)
    each = run_of(plan, {"host": tier()}, all_reduce="double_binary_tree", phase_end="each")
    together = run_of(plan, {"host": tier()})
    assert SIMULATOR.simulate(each).tier_bytes == SIMULATOR.simulate(together).tier_bytes


def test_less_bandwidth_never_ends_sooner_and_ports_are_never_overfull() -> None:
    plan, times = plan_with(ALL), list[float]()
    for rate in (UNLIMITED, 1e11, 1e10, 1e9, 1e8):
        found = result(plan, rate)
        times.append(found.iteration_time_s)
        most = max(found.tier_bytes["host_load"], found.tier_bytes["host_store"])
        assert most / rate <= found.iteration_time_s
    assert times == sorted(times)


def test_offloaded_data_leaves_the_npu() -> None:
    here = footprint(JOB, plan_with({}))
    there = footprint(JOB, plan_with({**ALL, "group": 10_000}))
    assert there.total_bytes < here.total_bytes / 2
    state = footprint(JOB, plan_with(THERE, zero_stage=2))
    assert state.stages[0].optimizer_bytes == 0


def test_kinds_of_tiers_have_the_times_of_remote_memory() -> None:
    """Latency + bytes over bandwidth, one NPU after the other where they share a port."""
    each = {"latency_s": 100e-9, "rate": 10e9}
    size = 1000

    def last(npus: int, **fields: Any) -> float:
        return tier(**each, **fields).transfer_ns(size, npus, int, write=False)

    assert last(3) == 200
    assert last(3, kind="pool") == 600
    assert last(3, kind="per_node", npus_per_node=2) == 400


def test_a_hierarchy_streams_and_its_switches_pass_equal_data_once() -> None:
    levels = [TierLevel(npus=1, bandwidth_bytes_per_s=50e9)]
    levels.append(TierLevel(npus=8, bandwidth_bytes_per_s=100e9))
    fields: dict[str, Any] = {"kind": "hierarchical", "levels": tuple(levels), "rate": 20e9}
    plain, reducing = tier(**fields), tier(**fields, reduces=True)
    size = 10**6
    assert plain.transfer_ns(size, 32, int, write=True) == 32 * size / 20
    assert reducing.transfer_ns(size, 32, lambda npus: 1, write=True) == size / 20
    fast = tier(**{**fields, "rate": 1e12}, reduces=True)
    assert fast.transfer_ns(size, 32, lambda npus: 1, write=False) == size / 50
    assert fast.transfer_ns(size, 32, lambda npus: min(npus, 8), write=False) == 8 * size / 100


def test_gradients_that_are_added_up_on_the_way_need_no_network() -> None:
    offload = {"weights": "pool", "gradients": "pool", "optimizer": "pool", "update": "tier"}
    plan = plan_with({**offload, "reduce": "tier"}, zero_stage=0)
    pool = tier(kind="hierarchical", reduces=True)
    run = run_of(plan, {"pool": pool})
    found = SIMULATOR.simulate(run)
    assert "dp" not in {name for name, time in found.exposed_by_axis_s().items() if time > 1e-5}
    held = (STATE + GRADIENT + WEIGHT) * SIZES.owned  # once, whatever the number of replicas
    assert found.tier_bytes["pool_held"] == held


def test_caches_of_answers_come_in_layer_by_layer() -> None:
    data = {"kind": "inference", "model": MODEL.model_dump(exclude_none=True)}
    table = {**data, "step": "decode", "sequence": 512, "global_batch": 8}
    job = load_workload({**table, "model": MODEL})
    assert isinstance(job, InferenceWorkload)
    plain = ParallelPlan(dp=2, schedule="forward")
    plan = plain.model_copy(update={"offload": Offload(weights="host", cache="host")})
    without, found = result(plain, 1.0, job), result(plan, UNLIMITED, job)
    assert found.iteration_time_s == without.iteration_time_s
    cache = 4 * 512 * LAYERS * 2 * HIDDEN * WEIGHT
    assert found.tier_bytes["host_held"] == cache + WEIGHT * SIZES.owned
    weights = WEIGHT * (LAYERS * SIZES.layer + SIZES.table + SIZES.table + NORM)
    assert found.tier_bytes["host_load"] == 4 * weights + cache
    assert found.tier_bytes["host_store"] == cache / 512


WRONG: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"weights": "host"}, {"zero_stage": 2}, "offloaded_weights_are_whole_or_shards"),
    ({"gradients": "host"}, {"zero_stage": 1}, "offloaded_gradients_are_scattered"),
    ({"cache": "host"}, {}, "offload_suits_kind"),
    ({**THERE, "reduce": "tier"}, {"zero_stage": 2}, "tier_sums_whole_gradients"),
    ({"reduce": "tier"}, {}, "tier_uses_its_sums"),
    ({"update": "tier"}, {}, "tier_updates_what_it_holds"),
    ({**THERE, "weights": "cxl"}, {}, "tier_updates_its_weights"),
    ({"activations": "host"}, {"pp": 2, "dp": 2, "zero_stage": 0, "schedule": "zb_h1"}, "whole_p"),
]


@pytest.mark.parametrize(("offload", "fields", "rule"), WRONG, ids=[one[2] for one in WRONG])
def test_what_cannot_be_is_refused(
    offload: dict[str, Any], fields: dict[str, Any], rule: str
) -> None:
    with pytest.raises(InfeasibleError, match=rule):
        result(plan_with(offload, **fields), 1e9)


def test_what_a_machine_lacks_is_named() -> None:
    run = run_of(plan_with({"optimizer": "nvme"}), {"host": tier()})
    with pytest.raises(ConfigError, match=r"plan\.offload: must name npu or one of .*: host"):
        SIMULATOR.simulate(run)
    small = run_of(plan_with({"optimizer": "host"}), {"host": tier(memory_bytes=1e6)})
    with pytest.raises(InfeasibleError, match="fits_in_tier"):
        RunChecks().check(small)
    slow = run_of(plan_with(THERE, zero_stage=2), {"host": tier(update_bytes_per_s=None)})
    with pytest.raises(ConfigError, match=r"tiers\.host\.update_bandwidth: is needed"):
        SIMULATOR.simulate(slow)
    with pytest.raises(ConfigError, match="goes with no other"):
        Tier.build(kind="pool", memory_bytes=1.0, bandwidth_bytes_per_s=1.0, npus_per_node=2)


def test_a_timeline_and_bounds_know_of_tiers_and_traces_refuse_them(tmp_path: Path) -> None:
    run = run_of(plan_with(ALL, dp=2), {"host": tier()})
    timeline = timeline_run(run)
    assert "layer weights (host_load)" in timeline.trace()
    floor_ns = WorkFloor().time_ns(run)
    assert 0 < floor_ns <= SIMULATOR.simulate(run).iteration_time_s * 1e9
    graph = build_graph(run.workload, run.plan)
    with pytest.raises(ConfigError, match=r"plan\.offload: must be npu alone"):
        write_iteration(graph, np.zeros(len(graph.operators), np.int64), tmp_path / "t", [0])
