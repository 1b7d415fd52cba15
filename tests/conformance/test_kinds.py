"""Every kind of workload on every network backend: what is sent, how long it takes, who agrees.

Bytes and counts are worked out here from the sizes of four small nets; they stand beside each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
from every_npu import run_three_ways
from graph_sums import bytes_by_axis
from small_models import DLRM

from simcore import IterationResult, RunTemplate, simulate_run
from simcore.config import Run
from simcore.network import BACKENDS
from simcore.terms import NodeKind
from simcore.workload import Axis, build_graph
from simcore.workload.kinds import KINDS

FP32, BF16, INDEX = 4, 2, 8
HIDDEN, FFN, LAYERS, TOKENS = 256, 1024, 4, 64
TRANSFORMER = {"name": "m", "layers": LAYERS, "hidden": HIDDEN, "heads": 8, "ffn": FFN}
CHANNELS, SIZE, NORMS, CLASSES = 64, 32, 3, 10
CNN = {
    "name": "m",
    "kind": "cnn",
    "synced_norms": True,
    "groups": [
        {"rows": [{"op": "conv", "inputs": 3, "outputs": CHANNELS, "kernel": 3, "size": SIZE}]},
        {
            "times": NORMS,
            "rows": [
                {"op": "conv", "inputs": CHANNELS, "kernel": 3, "size": SIZE},
                {"op": "norm", "inputs": CHANNELS, "size": SIZE},
                {"op": "add", "inputs": CHANNELS, "size": SIZE},
            ],
        },
        {"rows": [{"op": "dense", "inputs": CHANNELS, "outputs": CLASSES}]},
    ],
}
STREAM = BF16 * 2 * TOKENS * HIDDEN  # of a micro-batch of two sequences
BATCHES, PER_STAGE = 4, 2  # micro-batches; layers
HELD = PER_STAGE * ((4 * HIDDEN**2 + 2 * HIDDEN * FFN) // 2 + 4 * HIDDEN)
"""Parameters of an NPU: products split in two, two norms of scale and shift whole."""
PAIRS = 9 * 8 // 2  # of eight tables' vectors and the bottom MLP's
DENSE = [(16, 512), (512, 64), (64 + PAIRS, 512), (512, 1)]


@dataclass(frozen=True)
class Job:
    """A workload of a kind on eight NPUs.

    Attributes:
        bytes: That an NPU of each stage hands over along each axis.
        collectives, messages: Of an NPU of each stage; messages are sent or received.
    """

    workload: dict[str, Any]
    plan: dict[str, Any]
    bytes: dict[Axis, list[int]]
    collectives: list[int]
    messages: list[int]


JOBS = {
    # an all-reduce after attention and MLP, each way; the gradients of each layer; its norm
    "transformer": Job(
        {"model": TRANSFORMER, "sequence": TOKENS, "global_batch": 16},
        {"tp": 2, "pp": 2, "dp": 2, "micro_batch": 2},
        {
            Axis.TP: [4 * PER_STAGE * BATCHES * STREAM + FP32] * 2,
            Axis.DP: [FP32 * HELD] * 2,
            Axis.PP: [BATCHES * STREAM + FP32] * 2,
        },
        [4 * PER_STAGE * BATCHES + PER_STAGE + 2] * 2,
        [2 * BATCHES] * 2,
    ),
    # two sums per channel and norm, each way and micro-batch; the gradients of each layer
    "cnn": Job(
        {"kind": "cnn", "model": CNN, "global_batch": 64},
        {"dp": 8, "micro_batch": 4},
        {
            Axis.DP: [
                2 * 2 * NORMS * 2 * FP32 * CHANNELS
                + FP32 * (9 * 3 * CHANNELS + NORMS * (9 * CHANNELS**2 + 2 * CHANNELS))
                + FP32 * (CHANNELS + 1) * CLASSES
            ]
        },
        [2 * 2 * NORMS + 1 + 2 * NORMS + 1],
        [0],
    ),
    # indices and vectors of own samples, and the gradients of these; those of the dense layers
    "dlrm": Job(
        {"kind": "dlrm", "model": DLRM, "global_batch": 256},
        {"dp": 8, "micro_batch": 32},
        {
            Axis.TABLES: [INDEX * 32 * 8 * 5 + 2 * BF16 * 32 * 8 * 64],
            Axis.DP: [FP32 * sum((a + 1) * b for a, b in DENSE)],
        },
        [3 + 3],  # the bottom MLP's gradients go together
        [0],
    ),
    # the forward pass of the transformer alone
    "inference": Job(
        {
            "kind": "inference", "model": TRANSFORMER, "step": "prefill", "sequence": TOKENS,
            "global_batch": 16,
        },
        {"tp": 2, "pp": 2, "dp": 2, "micro_batch": 2, "schedule": "forward"},
        {
            Axis.TP: [2 * PER_STAGE * BATCHES * STREAM] * 2,
            Axis.PP: [BATCHES * STREAM, 0],
        },
        [2 * PER_STAGE * BATCHES] * 2,
        [BATCHES] * 2,
    ),
}  # fmt: skip


@cache
def run_of(kind: str, backend: str, gb_per_s: float = 50.0, speed: float = 1.0) -> Run:
    job = JOBS[kind]
    rate = f"{gb_per_s} GB/s"
    link = {"topology": "switch", "npus": 8, "bandwidth": rate, "latency": "700 ns"}
    ring = dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter"), "ring")
    run = RunTemplate.from_table(
        {
            "workload": job.workload,
            "plan": job.plan,
            "platform": {"npu": "cosmic_a", "dimensions": [link]},
            "system": {**ring, "all_to_all": "direct"},
            "backend": backend,
        }
    ).with_values({})
    npu = run.platform.npu
    faster = npu.model_copy(
        update={
            "peak_flop_per_s": {key: speed * peak for key, peak in npu.peak_flop_per_s.items()},
            "memory_bandwidth_bytes_per_s": speed * npu.memory_bandwidth_bytes_per_s,
        }
    )
    return run.model_copy(update={"platform": run.platform.model_copy(update={"npu": faster})})


@cache
def result_of(kind: str, backend: str, *changes: float) -> IterationResult:
    return simulate_run(run_of(kind, backend, *changes))


each_kind = pytest.mark.parametrize("kind", JOBS)
each_backend = pytest.mark.parametrize("backend", list(BACKENDS))


def test_every_kind_has_a_job_here() -> None:
    assert sorted(JOBS) == sorted(KINDS)


@each_kind
def test_collectives_and_messages_are_as_many_and_as_large_as_worked_out(kind: str) -> None:
    job, run = JOBS[kind], run_of(kind, "congestion_unaware")
    graph = build_graph(run.workload, run.plan)
    found = {axis: sizes.tolist() for axis, sizes in bytes_by_axis(graph).items() if sizes.any()}
    assert found == job.bytes
    for stage, collectives, messages in zip(
        graph.stages, job.collectives, job.messages, strict=True
    ):
        kinds = stage.kind.tolist()
        assert kinds.count(NodeKind.COLLECTIVE) == collectives
        assert kinds.count(NodeKind.SEND) + kinds.count(NodeKind.RECV) == messages


def sent_bytes(job: Job) -> float:
    """What an NPU sends, as a mean over the stages.

    Rings send 2 (n - 1) / n of an all-reduce's buffer, exchanges (n - 1) / n of theirs.
    """
    plan, stages = job.plan, len(job.messages)
    part: dict[Axis, Callable[[int], float]] = {
        Axis.TP: lambda size: 2 * (plan["tp"] - 1) / plan["tp"] * size,
        Axis.DP: lambda size: 2 * (plan["dp"] - 1) / plan["dp"] * size,
        Axis.PP: lambda size: size,  # messages; the norm's four bytes go round two stages
        Axis.TABLES: lambda size: (plan["dp"] - 1) / plan["dp"] * size,
    }
    return sum(part[axis](size) for axis, sizes in job.bytes.items() for size in sizes) / stages


@each_backend
@each_kind
def test_what_is_sent_is_what_the_algorithms_send(kind: str, backend: str) -> None:
    result = result_of(kind, backend)
    # chunks and their parts are whole bytes
    assert sum(result.sent_bytes) == pytest.approx(sent_bytes(JOBS[kind]), rel=1e-4)
    run = run_of(kind, backend)
    graph = build_graph(run.workload, run.plan)
    assert result.nodes == sum(stage.kind.size for stage in graph.stages)


@each_backend
@each_kind
@pytest.mark.parametrize("part", ["links", "accelerators"])
def test_faster_parts_make_no_iteration_longer(part: str, kind: str, backend: str) -> None:
    steps = (0.25, 1.0, 4.0, 16.0)
    changes = [(50.0 * by, 1.0) if part == "links" else (50.0, by) for by in steps]
    times_s = [result_of(kind, backend, *change).iteration_time_s for change in changes]
    assert times_s == sorted(times_s, reverse=True)
    assert times_s[0] > times_s[-1]


@each_backend
@each_kind
def test_accelerators_twice_as_fast_compute_in_half_the_time(kind: str, backend: str) -> None:
    """This one pays nothing per kernel and reaches its peaks."""
    times_s = [
        [sum(stage.compute_s.values()) for stage in result_of(kind, backend, 50.0, speed).stages]
        for speed in (0.25, 0.5)
    ]
    nodes_ns = result_of(kind, backend).nodes  # each is rounded to a whole nanosecond
    assert times_s[0] == pytest.approx([2 * time_s for time_s in times_s[1]], abs=2e-9 * nodes_ns)


@each_kind
def test_all_engines_agree_to_the_nanosecond(kind: str) -> None:
    run = run_of(kind, "congestion_unaware")
    stages, nodes, every_npu = run_three_ways(run)
    assert stages.finish_ns.tolist() == nodes.finish_ns.tolist() == every_npu.finish_ns.tolist()
    assert stages.booked_ns.tolist() == nodes.booked_ns.tolist() == every_npu.booked_ns.tolist()
    told_s = result_of(kind, "congestion_unaware").iteration_time_s
    assert round(told_s * 1e9) == int(stages.finish_ns.max())


@each_kind
def test_backends_with_contention_are_one_on_one_dimension_and_no_faster_than_without(
    kind: str,
) -> None:
    times = {name: result_of(kind, name).iteration_time_s for name in BACKENDS}
    free, *own = (times.pop(name) for name in ("congestion_unaware", "flow", "packet", "flit"))
    assert len(set(times.values())) == 1
    assert free <= min(*times.values(), *own)
