"""Computes that lose time to communication on links that messages share."""

from random import Random

import pytest
from outside_movers import Nobody
from test_in_step import system_of

from simcore.config import Run
from simcore.errors import ConfigError
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.movers import Cores, Mover
from simcore.simulation import Simulator
from simcore.workload import ParallelPlan, TrainingWorkload
from simcore.workload.kinds.transformer.model import Model

NOBODY = "outside_movers:Nobody"
SIMULATOR = Simulator()
MOVERS: dict[str, Mover] = {"cores": Cores(count=108, taken=24), NOBODY: Nobody()}


def run_of(seed: int, backend: str, mover: str, **system: object) -> Run:
    """A small iteration on full meshes, whose gradients are reduced beside its computes."""
    rng = Random(seed)
    npu = load_npu("a100_80").model_copy(update={"movers": MOVERS})
    dimensions = tuple(
        Dimension(topology="fully_connected", npus=n, bandwidth_bytes_per_s=1e12, latency_s=5e-7)
        for n in (4, 2)
    )
    tp, pp = rng.choice([(1, 1), (2, 1), (2, 2), (4, 1)])
    model = Model.build(
        name="small", layers=4, hidden=768, heads=24, ffn=3072, vocabulary=0, causal=True
    )
    plan = ParallelPlan(tp=tp, pp=pp, dp=8 // (tp * pp), zero_stage=rng.choice([0, 1, 3]))
    named = system_of(2, rng).model_copy(
        update={"mover": mover, "all_reduce": ("ring", "ring"), "chunks": 1, **system}
    )
    return Run(
        workload=TrainingWorkload(model=model, sequence=256, global_batch=plan.dp * 2),
        platform=Platform(npu=npu, dimensions=dimensions),
        plan=plan,
        system=named,
        backend=backend,
        compute="ideal",
    )


@pytest.mark.parametrize("backend", ["flow", "congestion_aware_multidim"])
@pytest.mark.parametrize("seed", range(6))
def test_an_engine_that_takes_nothing_changes_nothing_and_one_that_takes_cores_what_it_does_idle(
    seed: int, backend: str
) -> None:
    """On full meshes the messages of a ring have links of their own, as where none meet."""
    without = SIMULATOR.simulate(run_of(seed, backend, ""))
    if without.engine != "stages":
        with pytest.raises(ConfigError, match=r"system.phase_end: must be together where a mover"):
            SIMULATOR.simulate(run_of(seed, backend, "cores"))
        return
    idle_without, idle = (
        SIMULATOR.simulate(run_of(seed, "congestion_unaware", mover)) for mover in ("", "cores")
    )
    nobody, cores = (SIMULATOR.simulate(run_of(seed, backend, who)) for who in (NOBODY, "cores"))
    assert nobody.engine == cores.engine == "nodes"
    assert nobody.iteration_time_s == without.iteration_time_s
    lost, lost_idle = (
        one.iteration_time_s - none.iteration_time_s
        for one, none in ((cores, without), (idle, idle_without))
    )
    assert lost == pytest.approx(lost_idle, rel=1e-3, abs=2e-8)


def test_computes_lose_time_where_gradients_are_reduced_beside_them() -> None:
    busy = {"phase_end": "together", "all_reduce": ("direct", "direct")}
    lost = []
    for seed in range(8):
        cores, none, nobody = (
            SIMULATOR.simulate(run_of(seed, "flow", who, **busy)).iteration_time_s
            for who in ("cores", "", NOBODY)
        )
        assert nobody == none
        lost.append(cores - none)
    assert min(lost) >= 0
    assert max(lost) > 0


def test_engines_slower_than_links_that_messages_share_are_refused() -> None:
    run = run_of(0, "flow", "cores")
    slow = {"cores": Cores(count=108, taken=2, bandwidth_bytes_per_s=1e9)}
    npu = run.platform.npu.model_copy(update={"movers": slow})
    platform = run.platform.model_copy(update={"npu": npu})
    with pytest.raises(ConfigError, match=r"system.mover: must be as fast as links and memory"):
        SIMULATOR.simulate(run.model_copy(update={"platform": platform}))


def test_packets_refuse_engines() -> None:
    with pytest.raises(ConfigError, match=r"system.mover: must be left out with packet"):
        SIMULATOR.simulate(run_of(0, "packet", "cores"))
