"""Every kind of workload: the folded run is that of all NPUs, and no run beats its floor."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from every_npu import run_three_ways
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import DLRM

from simcore import RunTemplate, Simulator, footprints, lower_bounds
from simcore.bounds.work_floor import WorkFloor
from simcore.checks import check_run
from simcore.config import Run
from simcore.machine import Dimension, Platform, load_npu
from simcore.machine.system import System
from simcore.simulation import run_with_iteration
from simcore.topologies import TOPOLOGIES
from simcore.workload import ParallelPlan, Updates, load_workload

CNN = {
    "name": "small",
    "kind": "cnn",
    "groups": [
        {"rows": [{"op": "conv", "inputs": 3, "outputs": 64, "kernel": 3, "size": 32}]},
        {
            "times": 3,
            "rows": [
                {"op": "conv", "inputs": 64, "outputs": 64, "kernel": 3, "size": 32},
                {"op": "norm", "inputs": 64, "size": 32, "activated": True},
                {"op": "add", "inputs": 64, "size": 32},
            ],
        },
        {"rows": [{"op": "dense", "inputs": 64, "outputs": 10}]},
    ],
}


UPDATES = [
    Updates(),
    Updates(),
    Updates(kind="servers", servers=1),
    Updates(kind="gossip"),
    Updates(kind="servers", servers=1, staleness=1),
    Updates(kind="servers", servers=1, staleness=3),
    Updates(kind="local", every=0),
    Updates(kind="local"),
]
TRANSFORMER = {"layers": 4, "hidden": 256, "heads": 8, "ffn": 1024}
SERVED = {**TRANSFORMER, "name": "served", "vocabulary": 512}


@st.composite
def stages(draw: st.DrawFn, batch: int) -> dict[str, Any]:
    """A transformer with an encoder, or one that reads patches."""
    both = {**TRANSFORMER, "name": "both", "encoder_layers": 2, "vocabulary": 512}
    image = {**TRANSFORMER, "name": "image", "causal": False}
    image["vision"] = {"patch": 4, "classes": 16}
    if draw(st.booleans()):
        return {"model": both, "sequence": 32, "encoder_sequence": 64, "global_batch": batch}
    return {"model": image, "sequence": 64, "global_batch": batch}


@st.composite
def cnn(draw: st.DrawFn, batch: int) -> dict[str, Any]:
    model = {**CNN, "synced_norms": draw(st.booleans())}
    return {"kind": "cnn", "model": model, "global_batch": batch}


@st.composite
def dlrm(draw: st.DrawFn, batch: int) -> dict[str, Any]:
    tables = {
        "sharding": draw(st.sampled_from(["table", "row", "column"])),
        "host_part": draw(st.sampled_from([0.0, 0.3])),
        "prefetched_indices": draw(st.booleans()),
    }
    return {"kind": "dlrm", "model": DLRM, "global_batch": batch, "tables": tables}


@st.composite
def serving(draw: st.DrawFn, batch: int) -> dict[str, Any]:
    step = draw(st.sampled_from(["prefill", "decode"]))
    given: dict[str, Any] = {"kind": "inference", "model": SERVED, "step": step}
    if step == "decode":
        chunk = {"prompt": 64, "tokens": 16, "prompts": batch}
        given["chunk"] = draw(st.sampled_from([None, chunk]))
        guess = {"tokens": 3, "acceptance": 0.7}
        given["speculation"] = draw(st.sampled_from([None, guess]))
        given["steady"] = draw(st.booleans())
    return {**given, "sequence": 128, "global_batch": batch}


@st.composite
def runs(draw: st.DrawFn) -> Run:
    shape = draw(st.sampled_from([(4,), (2, 4), (4, 2)]))
    npus, micro_batch, batches = int(np.prod(shape)), draw(st.sampled_from([4, 32])), 2
    kind = draw(st.sampled_from([cnn, dlrm, stages, serving]))
    tp, pp = (
        draw(st.sampled_from([(1, 1), (2, 2), (1, 4)])) if kind in (stages, serving) else (1, 1)
    )
    dp = npus // (tp * pp)
    workload = load_workload(draw(kind(dp * micro_batch * draw(st.integers(1, batches)))))
    dimensions = tuple(
        Dimension(
            topology=draw(st.sampled_from(list(TOPOLOGIES))),
            npus=size,
            bandwidth_bytes_per_s=draw(st.sampled_from([5e9, 50e9, 333e9])),
            latency_s=draw(st.sampled_from([25e-9, 700e-9])),
        )
        for size in shape
    )
    updates = draw(st.sampled_from(UPDATES)) if kind is not serving else Updates()
    plan = ParallelPlan(
        updates=updates,
        tp=tp,
        pp=pp,
        dp=dp,
        sequence_parallel=draw(st.booleans()),
        micro_batch=micro_batch,
        zero_stage=draw(st.integers(0, 3)) if updates == Updates() and kind is not serving else 0,
        recompute=draw(st.sampled_from(["none", "full"])) if kind is not serving else "none",
        schedule="forward" if kind is serving else "1f1b",
        overlap_gradients=draw(st.booleans()),
    )
    system = System(chunks=draw(st.sampled_from([1, 4])), all_to_all="direct")
    platform = Platform(npu=load_npu("h100_80"), dimensions=dimensions)
    return Run(workload=workload, platform=platform, plan=plan, system=system)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(runs())
def test_one_npu_takes_as_long_as_all_of_them_one_by_one(run: Run) -> None:
    check_run(run)
    folded, plain, every = run_three_ways(run)
    assert folded.finish_ns.tolist() == plain.finish_ns.tolist()
    assert folded.booked_ns.tolist() == plain.booked_ns.tolist()
    if not plain.work.held_ns:
        assert every.finish_ns.tolist() == folded.finish_ns.tolist()


@settings(max_examples=30, deadline=None, derandomize=True)
@given(runs())
def test_no_run_is_shorter_than_its_work(run: Run) -> None:
    result, iteration = run_with_iteration(run)
    floor = WorkFloor().time_ns(run)
    assert 0 < floor <= int(iteration.finish_ns.max())
    assert 0 < result.mfu <= result.hfu <= 1


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "cnn", "model": CNN},
        {"kind": "dlrm", "model": DLRM},
        {"kind": "inference", "model": SERVED, "step": "decode", "sequence": 128},
        {
            "kind": "inference",
            "model": SERVED,
            "step": "decode",
            "sequence": 128,
            "steady": True,
            "chunk": {"prompt": 64, "tokens": 16},
            "speculation": {"tokens": 3, "acceptance": 0.7, "model": SERVED},
        },
    ],
    ids=["cnn", "dlrm", "inference", "served"],
)
def test_a_kind_reads_back_what_it_writes(table: dict[str, Any]) -> None:
    workload = load_workload({**table, "global_batch": 8})
    assert load_workload(workload.model_dump(mode="json")) == workload


DIMENSIONS = [
    {"topology": "switch", "npus": 2, "bandwidth": "50 GB/s", "latency": "700 ns"},
    {"topology": "switch", "npus": 4, "bandwidth": "5 GB/s", "latency": "700 ns"},
]
BOUNDED: list[dict[str, Any]] = [
    {"kind": "cnn", "model": CNN, "global_batch": 256},
    {"kind": "cnn", "model": {**CNN, "synced_norms": True}, "global_batch": 256},
    {"kind": "dlrm", "model": DLRM, "global_batch": 4096},
    {"kind": "dlrm", "model": DLRM, "global_batch": 4096, "tables": {"sharding": "row"}},
    {
        "model": {**TRANSFORMER, "name": "both", "encoder_layers": 2, "vocabulary": 512},
        "sequence": 32,
        "encoder_sequence": 64,
        "global_batch": 64,
    },
]
CHOICES: dict[str, list[object]] = {
    "plan.micro_batch": [4, 8],
    "plan.updates": [
        {},
        {"kind": "servers", "servers": 1},
        {"kind": "servers", "servers": 1, "staleness": 1},
        {"kind": "local", "every": 10},
        {"kind": "gossip"},
    ],
    "plan.schedule": ["1f1b", "1f1b_overlapped"],
    "system.all_to_all": ["direct", "direct1"],
}


@pytest.mark.parametrize("workload", BOUNDED, ids=range(len(BOUNDED)))
@pytest.mark.parametrize("degrees", [(1, 1, 8), (2, 2, 2)])
def test_no_design_beats_its_lower_bound(
    workload: dict[str, Any], degrees: tuple[int, int, int]
) -> None:
    tp, pp, dp = degrees
    if "kind" in workload and pp > 1:
        return
    run = {
        "workload": workload,
        "platform": {"npu": "a100_80", "dimensions": DIMENSIONS},
        "plan": {"tp": tp, "pp": pp, "dp": dp},
    }
    template, simulator = RunTemplate.from_table(run), Simulator()
    designs = [dict(zip(CHOICES, values, strict=True)) for values in product(*CHOICES.values())]
    results = [simulator.simulate(template.with_values(values)) for values in designs]
    bound_s = lower_bounds(template, designs)
    chains = np.array([design["plan.schedule"] == "1f1b" for design in designs])
    assert (bound_s[chains] > 0).all()  # of others the floor of their work alone is known
    assert (bound_s <= [result.iteration_time_s for result in results]).all()
    needed = [result.footprint_bytes for result in results]
    assert footprints(template, designs).tolist() == needed


@pytest.mark.parametrize("step", ["prefill", "decode"])
def test_steps_of_inference_have_the_floor_of_their_work_and_exact_footprints(step: str) -> None:
    job = {"kind": "inference", "model": SERVED, "step": step, "sequence": 128, "global_batch": 64}
    run = {
        "workload": job,
        "platform": {"npu": "a100_80", "dimensions": DIMENSIONS},
        "plan": {"tp": 2, "pp": 2, "dp": 2, "schedule": "forward"},
    }
    template, simulator = RunTemplate.from_table(run), Simulator()
    designs: list[dict[str, object]] = [{"plan.micro_batch": size} for size in (1, 4, 16)]
    if step == "decode":
        guess = {"tokens": 3, "acceptance": 0.7}
        chunk = {"prompt": 64, "tokens": 16, "prompts": 64}
        keys = "workload.steady", "workload.chunk", "workload.speculation"
        more = product((False, True), (None, chunk), (None, guess))
        chosen = [dict(zip(keys, values, strict=True)) for values in more]
        designs = [design | values for design in designs for values in chosen]
    results = [simulator.simulate(template.with_values(values)) for values in designs]
    bound_s = lower_bounds(template, designs)
    assert (bound_s <= [result.iteration_time_s for result in results]).all()
    needed = [result.footprint_bytes for result in results]
    assert footprints(template, designs).tolist() == needed
