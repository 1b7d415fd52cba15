"""Computes that lose time to communication beside them: the law node by node, signs, fast paths."""

from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pytest
from outside_movers import Nobody
from test_classes_of_npus import case_of

from simcore.config import Run
from simcore.engines.iteration import Iteration
from simcore.errors import InfeasibleError, SimulationError
from simcore.kernels.classes import layout as f
from simcore.kernels.npu import layout as n
from simcore.machine import Npu
from simcore.machine.movers import CopyEngines, Cores, Mover, Nic
from simcore.simulation import Simulator

SEEDS = (1, 9, 12, 25, 26, 38, 41, 44, 52, 53, 57, 60, 64, 78)
NOBODY = "outside_movers:Nobody"
SIMULATOR = Simulator()


@cache
def run_of(seed: int, together: bool = True) -> Run:
    """A small iteration with engines of several kinds."""
    workload, plan, platform, system = case_of(seed)
    rng = Random(seed)
    npu = with_movers(
        platform.npu,
        {
            "cores": Cores(count=108, taken=rng.choice([4, 24, 90])),
            "copy_engines": CopyEngines(),
            "nic": Nic(reduction_bytes_per_s=1e15),
            NOBODY: Nobody(),
        },
    )
    links = [
        one.model_copy(
            update={
                "bandwidth_bytes_per_s": 40 * one.bandwidth_bytes_per_s,
                "latency_s": one.latency_s / 40,
            }
        )
        for one in platform.dimensions
    ]
    return Run(
        workload=workload,
        platform=platform.model_copy(update={"npu": npu, "dimensions": tuple(links)}),
        plan=plan,
        system=system.model_copy(update={"phase_end": "together" if together else "each"}),
        compute="ideal",
    )


def with_movers(npu: Npu, movers: dict[str, Mover]) -> Npu:
    return npu.model_copy(update={"movers": movers})


def equipped(run: Run, movers: dict[str, Mover]) -> Run:
    npu = with_movers(run.platform.npu, movers)
    return run.model_copy(update={"platform": run.platform.model_copy(update={"npu": npu})})


def moved(run: Run, mover: str, reducer: str = "", **changes: object) -> Run:
    system = run.system.model_copy(update={"mover": mover, "reducer": reducer, **changes})
    return run.model_copy(update={"system": system})


def iteration_of(run: Run, *, every_node: bool = False) -> Iteration:
    return SIMULATOR.run(run, every_node=every_node)[1]


def time_of(run: Run) -> int:
    return int(iteration_of(run).finish_ns.max())


def part_lost(run: Run) -> float:
    booked = iteration_of(run)
    return float(booked.booked_ns[:, booked.categories.index("lost")].sum())


@pytest.mark.parametrize("seed", SEEDS)
def test_a_compute_lasts_its_own_time_and_what_communication_takes_while_it_runs(seed: int) -> None:
    nodes = iteration_of(moved(run_of(seed), "cores"), every_node=True).nodes
    assert nodes is not None
    node, start, end = nodes.lowered.node, nodes.execution.start_ns.copy(), nodes.execution.end_ns
    for shared in nodes.lowered.shared:  # the first members wait for the last one
        start[list(shared.nodes)] = max(start[at] for at in shared.nodes)
    kind = node[:, n.KIND]
    talks = np.isin(kind, (n.COMMUNICATION, n.SEND, n.SHARED))
    met = 0
    for at in np.flatnonzero(kind == n.COMPUTE).tolist():
        beside = np.flatnonzero(
            talks & (node[:, f.STAGE] == node[at, f.STAGE]) & (start < end[at]) & (end > start[at])
        )
        moments = np.unique([*start[beside], *end[beside], start[at], end[at]])
        moments = moments[(moments >= start[at]) & (moments <= end[at])]
        lost = 0
        for first, last in zip(moments[:-1].tolist(), moments[1:].tolist(), strict=True):
            now = beside[(start[beside] <= first) & (end[beside] >= last)]
            cores, memory = node[now][:, [f.CORES, f.MEMORY]].max(axis=0, initial=0).tolist()
            part = (cores * node[at, f.CORES] + memory * node[at, f.MEMORY]) >> f.WHOLE_BITS
            lost += (last - first) * min(int(part), f.MOST_LOST)
        assert end[at] - start[at] == node[at, n.DURATION] + (lost >> f.WHOLE_BITS)
        met += lost > 0
    assert met or not talks.any() or part_lost(moved(run_of(seed), "cores")) == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_steady_state_that_is_leapt_over_is_that_of_every_node(seed: int) -> None:
    for mover in ("cores", "nic"):
        run = moved(run_of(seed), mover)
        whole, short = iteration_of(run, every_node=True), iteration_of(run)
        np.testing.assert_array_equal(short.finish_ns, whole.finish_ns)
        np.testing.assert_array_equal(short.booked_ns, whole.booked_ns)


@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("seed", SEEDS)
def test_an_engine_that_takes_nothing_is_as_if_none_were_named(seed: int, together: bool) -> None:
    run = run_of(seed, together)
    try:
        plain = SIMULATOR.simulate(run)
    except (InfeasibleError, SimulationError):
        return
    named = SIMULATOR.simulate(moved(run, NOBODY))
    for one, other in zip(named.stages, plain.stages, strict=True):
        assert one.compute_s == {**other.compute_s, "lost": 0.0}
        assert replace(one, compute_s={}) == replace(other, compute_s={})
    alike: dict[str, Any] = {"stages": (), "events": 0, "simulated_npus": 0}
    assert replace(named, **alike) == replace(plain, **alike)


@pytest.mark.parametrize("seed", SEEDS)
def test_who_takes_less_of_an_accelerator_makes_its_computes_lose_less(seed: int) -> None:
    run = run_of(seed)
    few, many = (
        moved(equipped(run, {"cores": Cores(count=108, taken=taken)}), "cores") for taken in (2, 90)
    )
    assert 0 <= part_lost(moved(run, NOBODY)) <= part_lost(few) <= part_lost(many)
    assert time_of(run) <= time_of(few) <= time_of(many)
    assert time_of(run) <= time_of(moved(run, "nic")) <= 1.001 * time_of(moved(run, "cores"))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_faster_engine_makes_no_iteration_longer(seed: int) -> None:
    run = run_of(seed)
    times = []
    for rate in (1e9, 20e9, 1e15):
        own = Nic(bandwidth_bytes_per_s=rate, reduction_bytes_per_s=rate)
        times.append(time_of(moved(equipped(run, {"nic": own}), "nic")))
    assert times[0] >= times[1] >= times[2] >= time_of(run)
    assert times[2] == time_of(moved(run, "nic"))


def test_members_that_end_one_by_one_lose_time_as_those_that_are_held() -> None:
    uneven = [seed for seed in SEEDS if iteration_of(run_of(seed)).held_ns]
    assert uneven
    for seed in uneven[:3]:
        try:
            each = iteration_of(moved(run_of(seed, together=False), "cores"))
        except InfeasibleError:  # they wait for each other for ever
            continue
        assert each.choice.engine == "classes"
        lost = each.booked_ns[:, each.categories.index("lost")].sum()
        assert 0 < lost <= 1.5 * part_lost(moved(run_of(seed), "cores"))


@pytest.mark.parametrize("seed", SEEDS[:5])
def test_with_fewer_cores_communication_takes_longer_and_computes_lose_less(seed: int) -> None:
    run = run_of(seed)
    runs = [moved(run, "cores", mover_cores=taken) for taken in (1, 8, 64)]
    parts = [iteration_of(one, every_node=True).nodes for one in runs]
    talks, rates = [], []
    for nodes in parts:
        assert nodes is not None
        node = nodes.lowered.node
        talks.append(int(node[node[:, n.KIND] == n.COMMUNICATION, n.DURATION].sum()))
        rates.append(int(node[node[:, n.KIND] == n.COMPUTE, f.CORES].sum()))
    assert talks[0] >= talks[1] >= talks[2]
    assert rates[0] <= rates[1] <= rates[2]


def test_a_compute_goes_on_whatever_is_taken() -> None:
    class Greedy(Nobody):
        """Takes nine tenths of the cores, and more of the memory than there is."""

        @property
        def takes_cores(self) -> float:
            return 0.9

        def memory_passes(self, *, reducing: bool) -> float:
            return 1e6

    run = equipped(run_of(57), {"cores": Greedy()})
    greedy, free = iteration_of(moved(run, "cores")), iteration_of(run)
    assert int(greedy.finish_ns.max()) > int(free.finish_ns.max())
    nodes = iteration_of(run, every_node=True).nodes
    assert nodes is not None
    node = nodes.lowered.node
    everything = int(node[node[:, n.KIND] != n.RECV, n.DURATION].sum())
    assert int(greedy.finish_ns.max()) <= everything  # something is under way at any time
