"""Data in tiers of memory on every network: what holds wherever plans, tiers and rates lie."""

from typing import Any

import pytest
from every_npu import run_three_ways
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.bounds import lower_bounds
from simcore.bounds.tier_floor import tier_floor_ns
from simcore.config import Run, RunTemplate
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.machine.tiers import Tier
from simcore.memo import Memo
from simcore.network import BACKENDS
from simcore.simulation import Simulator
from simcore.workload import Model, ParallelPlan, TrainingWorkload
from simcore.workload.kinds.transformer.model_parts import Experts
from simcore.workload.offload import Offload

SIMULATOR = Simulator()
UNLIMITED = 1e30
FIELDS: dict[str, Any] = {"layers": 4, "hidden": 128, "heads": 4, "ffn": 256, "vocabulary": 512}
DENSE = Model(name="dense", **FIELDS)
EXPERTS = Model(name="experts", **FIELDS, experts=Experts(count=4, active=2, ffn=128))
PLANS: list[dict[str, Any]] = [
    {"dp": 4},
    {"tp": 2, "dp": 2, "sequence_parallel": True},
    {"dp": 2, "pp": 2},
    {"dp": 2, "pp": 2, "interleave": 2},
]


def tier(rate: float, **fields: Any) -> Tier:
    known = {"kind": "per_npu", "memory_bytes": 1e12, "bandwidth_bytes_per_s": rate}
    return Tier.model_validate(
        {"update_bytes_per_s": 10 * rate, **known, **fields}, by_name=True, by_alias=False
    )


def run_of(
    model: Model, fields: dict[str, Any], offload: dict[str, Any], tiers: dict[str, Tier]
) -> Run:
    plan = ParallelPlan(**{"zero_stage": 3, **fields}, offload=Offload(**offload))
    dimensions = tuple(
        Dimension(topology="ring", npus=n, bandwidth_bytes_per_s=50e9, latency_s=700e-9)
        for n in (plan.tp, plan.dp, plan.pp)
        if n > 1
    )
    platform = Platform(npu=load_npu("a100_80"), dimensions=dimensions, tiers=tiers)
    job = TrainingWorkload(model=model, sequence=64, global_batch=16)
    return Run(workload=job, platform=platform, plan=plan, system=System())


@st.composite
def offloaded(draw: st.DrawFn) -> Run:
    parts = draw(st.sets(st.sampled_from(["weights", "gradients", "optimizer", "activations"])))
    places = {part: draw(st.sampled_from(["host", "pool"])) for part in sorted(parts)}
    extra = {"overlap": draw(st.booleans()), "group": draw(st.sampled_from([10_000, 10**8]))}
    rates = [draw(st.sampled_from([1e8, 3e9, 1e11, UNLIMITED])) for _ in range(2)]
    pool = tier(rates[1], kind=draw(st.sampled_from(["pool", "per_npu"])))
    model = draw(st.sampled_from([DENSE, EXPERTS]))
    fields = draw(st.sampled_from(PLANS)) | {"prefetch": draw(st.integers(0, 2))}
    if model is EXPERTS and fields["dp"] > 1:
        fields |= {"ep": draw(st.sampled_from([1, 2]))}
    return run_of(model, fields, {**places, **extra}, {"host": tier(rates[0]), "pool": pool})


@settings(max_examples=15, deadline=None, derandomize=True)
@given(offloaded())
def test_every_npu_and_one_of_each_stage_agree_and_no_port_is_overfull(run: Run) -> None:
    stages, nodes, every = run_three_ways(run)
    assert stages.finish_ns.tolist() == nodes.finish_ns.tolist()
    assert stages.booked_ns.tolist() == nodes.booked_ns.tolist()
    if not nodes.work.held_ns:
        assert every.finish_ns.tolist() == stages.finish_ns.tolist()
        assert every.booked_ns.sum() == stages.booked_ns.sum()
    assert tier_floor_ns(run, Memo()) <= stages.finish_ns.max()


@pytest.mark.parametrize("model", [DENSE, EXPERTS], ids=["dense", "experts"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_with_unlimited_tiers_nothing_takes_longer_on_any_network(
    backend: str, model: Model
) -> None:
    fields = {"dp": 2, "pp": 2} if backend != "congestion_aware" else {"dp": 4}
    places = {"weights": "host", "gradients": "host", "optimizer": "host", "activations": "host"}

    def found(offload: dict[str, Any], rate: float) -> Any:
        run = run_of(model, fields, offload, {"host": tier(rate)})
        return SIMULATOR.simulate(run.model_copy(update={"backend": backend}))

    without, unlimited, slow = found({}, 1.0), found(places, UNLIMITED), found(places, 1e9)
    assert unlimited.iteration_time_s == without.iteration_time_s < slow.iteration_time_s
    plain = SIMULATOR.simulate(run_of(model, fields, places, {"host": tier(1e9)}))
    assert unlimited.tier_bytes == slow.tier_bytes == plain.tier_bytes


def test_bounds_know_the_bandwidth_of_tiers() -> None:
    template = RunTemplate.from_table(
        {
            "version": 1,
            "workload": {"model": "llama_7b", "sequence": 256, "global_batch": 16},
            "platform": {
                "npu": "a100_80",
                "dimensions": [
                    {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "700 ns"}
                ],
                "tiers": {"host": {"kind": "per_npu", "memory": "1 TB", "bandwidth": "1 GB/s"}},
            },
            "plan": {"dp": 4, "zero_stage": 3, "offload": {"weights": "host"}},
        }
    )
    rates = ["100 MB/s", "1 GB/s", "10 GB/s", "1 TB/s"]
    designs = [{"platform.tiers.host.bandwidth": rate} for rate in rates]
    bounds = lower_bounds(template, designs)
    times = [
        SIMULATOR.simulate(template.with_values(design)).iteration_time_s for design in designs
    ]
    assert all(bound <= time for bound, time in zip(bounds, times, strict=True))
    assert bounds[0] > 0.8 * times[0]  # the loads, and then the last stores
    assert bounds[0] > 5 * bounds[-1]
