"""Jobs whose NPUs are alike, or share no link, at sizes at which no NPU could be followed alone."""

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from simcore.engines.events.input import EngineInput
from simcore.engines.events.several import ProgramRun, SharedRun
from simcore.engines.limits import memory
from simcore.errors import ConfigError
from simcore.jobs.alone import run_alone
from simcore.jobs.file import Jobs, load_jobs
from simcore.jobs.simulate import JobsSimulator, _Simulation, simulate_jobs
from simcore.memo import Memo
from simcore.network import Flow

RAILS = {
    "family": "rails",
    "params": {"servers": 4, "npus_per_server": 4, "servers_per_pod": 4, "spines": 2},
    "bandwidth": "5 GB/s",
    "latency": "500 ns",
    "routing": {"rule": "spray"},
}
STAR = {"family": "star", "params": {"n": 16}, "bandwidth": "5 GB/s", "latency": "300 ns"}


def of(network: dict[str, Any], *jobs: dict[str, Any]) -> _Simulation:
    platform = {"npu": "h100_80", "network": network}
    return _Simulation(load_jobs({"platform": platform, "jobs": list(jobs)}), Memo())


def job(rng: Random, npus: Sequence[int], count: int) -> dict[str, Any]:
    tp, pp = rng.choice([(1, 1), (2, 1), (1, 2), (2, 2)])
    dp = count // (tp * pp)
    model = {"name": "tiny", "layers": 2, "hidden": 256, "heads": 8, "ffn": 1024}
    model["vocabulary"] = rng.choice([0, 1000])
    return {
        "workload": {"model": model, "sequence": 100, "global_batch": dp * rng.choice([1, 4])},
        "plan": {"tp": tp, "pp": pp, "dp": dp},
        "npus": list(npus),
        "iterations": rng.choice([1, 2]),
        "start": rng.choice(["0 s", "33 us"]),
        "system": {"chunks": rng.choice([1, 2]), "all_reduce": rng.choice(["ring", "direct"])},
    }


def followed(simulation: _Simulation) -> list[ProgramRun]:
    """All jobs at once, every NPU and message."""
    ready = simulation._ready
    inputs: list[EngineInput] = [one.make_inputs(one.where) for one in ready]
    times = [one.job.iterations for one in ready]
    return SharedRun(inputs, times, Flow(simulation._dimensions)).run()


def test_a_job_alone_takes_what_it_takes_with_every_message_followed() -> None:
    compared = 0
    for seed in range(6):
        rng = Random(seed)
        drawn = rng.sample(range(16), 8)
        npus: list[int] = rng.choice([list(range(8)), sorted(drawn), drawn])
        simulation = of(rng.choice([RAILS, STAR]), job(rng, npus, 8))
        (ready,) = simulation._ready
        alone = run_alone(ready.job, ready.where, "flow", simulation._dimensions, Memo())
        if alone is None:
            continue
        (every,) = followed(simulation)
        assert (alone.start_ns, alone.end_ns) == (every.start_ns, every.end_ns)
        assert alone.sent_bytes == +every.sent_bytes
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize("seed", range(5))
def test_jobs_that_share_links_take_what_they_take_with_every_message_followed(seed: int) -> None:
    rng = Random(seed)
    block = rng.choice([1, 2])
    first = np.arange(16).reshape(-1, 2, block)[:, 0].ravel().tolist()
    second = [npu for npu in range(16) if npu not in first]
    one = job(rng, first, 8)
    simulation = of(
        RAILS, one, {**one, "npus": second} if rng.random() < 0.6 else job(rng, second, 8)
    )
    alone = [simulation._alone(ready) for ready in simulation._ready]
    for found, every in zip(simulation._together(alone), followed(simulation), strict=True):
        assert (found.start_ns, found.end_ns) == (every.start_ns, every.end_ns)
        assert +found.sent_bytes == +every.sent_bytes


def test_two_jobs_of_eight_million_nodes_each_on_their_own_servers_are_as_alone() -> None:
    work = {"model": "gpt3_175b", "sequence": 2048, "global_batch": 768}
    each = {"workload": work, "plan": {"tp": 8, "pp": 8, "dp": 8, "recompute": "full"}}
    network = {
        **RAILS,
        "params": {"servers": 128, "npus_per_server": 8, "servers_per_pod": 128, "spines": 8},
        "routing": {"rule": "ecmp_hash"},
    }
    jobs = [{**each, "npus": "0-511"}, {**each, "npus": "512-1023", "start": "1 s"}]
    platform = {"npu": "a100_80", "network": network}
    found = simulate_jobs(load_jobs({"platform": platform, "jobs": jobs}))
    first, second = found.jobs
    assert first.iterations_s == (first.alone_s,)
    assert second.iterations_s == pytest.approx((second.alone_s,))
    assert found.links == ()


def _messages_that_meet() -> Jobs:
    """One job on links where messages wait for each other, so that its NPUs are followed."""
    work = {**job(Random(1), range(8), 8), "name": "a"}
    network = {**STAR, "params": {"n": 16}}
    return load_jobs(
        {
            "platform": {"npu": "h100_80", "network": network},
            "backend": "congestion_aware_multidim",
            "jobs": [work],
        }
    )


def test_jobs_beyond_what_a_run_may_take_are_refused_on_every_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "MOST_BYTES", 10_000)
    for machine_bytes in (None, 1_000, 10**15):
        monkeypatch.setattr(memory, "memory_bytes", lambda most=machine_bytes: most)
        rule = r"nodes, some .* GB, of 1e-05 GB that a run may take, but got 'a'"
        with pytest.raises(ConfigError, match=rule):
            JobsSimulator().simulate(_messages_that_meet())


def test_a_machine_with_too_little_memory_is_told_apart_from_a_run_that_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "memory_bytes", lambda: 10_000)
    with pytest.raises(MemoryError, match=r"nodes take some .* GB, and this machine has 1e-05 GB"):
        JobsSimulator().simulate(_messages_that_meet())


def test_computes_of_jobs_lose_time_to_their_own_messages_unless_links_are_shared() -> None:
    work = {
        "model": {
            "name": "tiny",
            "layers": 4,
            "hidden": 768,
            "heads": 8,
            "ffn": 3072,
            "vocabulary": 0,
        },
        "sequence": 256,
        "global_batch": 8,
    }
    star = {**STAR, "bandwidth": "600 GB/s"}
    each = {"workload": work, "plan": {"dp": 4, "tp": 2}, "compute": "ideal"}
    times = []
    for system in ({}, {"mover": "cores"}):
        jobs = [{**each, "npus": npus, "system": system} for npus in ("0-7", "8-15")]
        found = simulate_jobs(
            load_jobs({"platform": {"npu": "a100_80", "network": star}, "jobs": jobs})
        )
        times.append(found.jobs[0].iterations_s[0])
        assert found.jobs[1].iterations_s == found.jobs[0].iterations_s
    assert times[1] > times[0]
    leaves = {
        **RAILS,
        "family": "leaf_spine",
        "params": {"leaves": 2, "npus_per_leaf": 8, "spines": 1},
    }
    shared = [
        {**each, "npus": npus, "system": {"mover": "cores"}} for npus in ("0-3,8-11", "4-7,12-15")
    ]
    with pytest.raises(ConfigError, match=r"system.mover: goes with jobs on flow alone that share"):
        simulate_jobs(
            load_jobs({"platform": {"npu": "a100_80", "network": leaves}, "jobs": shared})
        )
