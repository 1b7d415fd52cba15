"""A traced step beside a prediction: rows sum to both times; a trace of the prediction is equal."""

import gzip
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore import ConfigError, RunTemplate, compare_with_trace, timeline_run
from simcore.cli.app import cli
from simcore.comparison.predicted import stage_slices
from simcore.comparison.work import COMPUTES, IDLE, WAITS, Slice, Work, spent_ns

RUN: dict[str, Any] = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 128, "global_batch": 16},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "ring", "npus": 4, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "switch", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 4, "pp": 2, "dp": 2},
}
NAMES = {
    "products": "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n",
    "attention": "flash_fwd_kernel",
    "elementwise": "void at::native::vectorized_elementwise_kernel<4>",
    "optimizer": "void at::native::(anonymous namespace)::multi_tensor_apply_kernel",
    "embedding": "indexSelectLargeIndex",
    "all-reduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)",
    "all-gather": "ncclDevKernel_AllGather_RING_LL(ncclDevComm*)",
    "reduce-scatter": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevComm*)",
    "messages": "ncclDevKernel_SendRecv(ncclDevComm*)",
}
GOLDEN = Path(__file__).parents[4] / "shared" / "golden" / "chakra" / "pytorch"
RUN_NOW = RunTemplate.from_table(RUN).with_values({})


def _event(category: str, name: str, thread: int, ts: float, dur: float, **args: Any) -> Any:
    times = {"ts": ts, "dur": dur}
    return {
        "ph": "X",
        "cat": category,
        "name": name,
        "pid": 0,
        "tid": thread,
        **times,
        "args": args,
    }


def _events(slices: list[Slice], time_ns: int, slower: float) -> list[dict[str, Any]]:
    """Events of a step that runs as *slices* say, its products *slower* times as long.

    Each kernel is launched by an operator of its own: on the thread of autograd within a function
    of the backward pass, or within a step of the optimizer.
    """
    numbers, late, shift = count(1), 0, 1_000_000
    found = []
    for one in sorted(slices):
        more = (one.end_ns - one.start_ns) * (slower - 1) if one.work.kind == "products" else 0
        start, number = (one.start_ns + late) / 1000 + shift, next(numbers)
        late += round(more)
        length = (one.end_ns - one.start_ns + round(more)) / 1000
        thread = {"backward": 2}.get(one.work.phase, 1)
        launch = number + 0.25
        around = {
            "backward": ("cpu_op", "autograd::engine::evaluate_function: X"),
            "optimizer": ("user_annotation", "Optimizer.step#Adam.step"),
        }.get(one.work.phase)
        if around:
            found.append(_event(*around, thread, number, 0.5))
        found.append(
            _event("cuda_runtime", "cudaLaunchKernel", thread, launch, 0.1, correlation=number)
        )
        name, stream = NAMES[one.work.kind], 7 + one.rank
        found.append(
            _event("kernel", name, stream, start, length, correlation=number, stream=stream)
        )
    step = _event("user_annotation", "ProfilerStep#5", 1, shift, (time_ns + late) / 1000)
    return [step, *found]


def _written(folder: Path, slower: float = 1.0, run: Any = RUN_NOW, stage: int = 0) -> Path:
    timeline = timeline_run(run)
    slices = stage_slices(run, timeline.nodes, stage)
    path = folder / "trace.json"
    place = {"rank": run.plan.npu(stage, 0), "world_size": run.plan.npus}
    events = _events(slices, timeline.time_ns, slower)
    path.write_text(json.dumps({"traceEvents": events, "distributedInfo": place}))
    return path


@pytest.mark.parametrize("stage", [0, 1])
def test_a_trace_of_what_is_predicted_does_not_differ_from_it(stage: int, tmp_path: Path) -> None:
    found = compare_with_trace(RUN_NOW, _written(tmp_path, stage=stage))
    assert found.stage == stage
    assert found.difference_ns == 0
    assert {row.work for row in found.rows} >= {Work("products", "backward"), Work("messages")}
    assert all(row.difference_ns == 0 and row.kernels == row.nodes for row in found.rows)
    assert sum(row.predicted_ns for row in found.rows) == found.predicted_ns


def test_slower_products_are_the_difference_and_stand_first(tmp_path: Path) -> None:
    run = RunTemplate.from_table(RUN).with_values({"plan.pp": 1, "plan.tp": 1, "plan.dp": 16})
    found = compare_with_trace(run, _written(tmp_path, 1.5, run))
    products = {row.work.phase: row for row in found.rows if row.work.kind == "products"}
    assert found.rows[0].work == Work("products", "backward")
    for row in products.values():
        assert row.difference_ns == pytest.approx(row.predicted_ns / 2, rel=1e-6)
    others = [row for row in found.rows if row.work.kind in ("attention", "elementwise")]
    assert others
    assert all(row.difference_ns == 0 for row in others)
    assert sum(row.difference_ns for row in found.rows) == found.difference_ns > 0


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the golden traces are not here")
@pytest.mark.parametrize("name", ["ddp1t", "ddp2t", "strides", "mixed"])
def test_rows_of_recorded_traces_sum_to_their_step(name: str) -> None:
    path = GOLDEN / f"{name}.device.json.gz"
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    step = next(event for event in events if event["name"] == "ProfilerStep#3")
    found = compare_with_trace(RUN_NOW, path, stage=0)
    assert found.measured_ns == step["dur"] * 1000
    assert sum(row.measured_ns for row in found.rows) == found.measured_ns
    assert sum(row.difference_ns for row in found.rows) == found.difference_ns
    kernels = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy")]
    assert sum(row.kernels for row in found.rows) == len(kernels)
    assert not found.unknown
    told = any("passes are not told apart" in note for note in found.notes)
    assert told == (name == "mixed")


def test_of_overlapping_slices_each_instant_goes_to_one() -> None:
    work, other = Work("products"), Work("all-reduce")
    slices = [Slice(0, 10, 1, other), Slice(2, 6, COMPUTES, work), Slice(12, 30, WAITS, other)]
    assert spent_ns(slices, 1, 20) == {other: 1 + 4 + 8, work: 4, IDLE: 2}


def test_the_command_prints_and_writes_the_same_rows(tmp_path: Path) -> None:
    trace, run, out = _written(tmp_path), tmp_path / "run.yaml", tmp_path / "out.json"
    run.write_text(json.dumps({"version": 1, **RUN}))
    arguments = ["diff", str(trace), str(run), "--json", str(out), "--set", "plan.micro_batch=2"]
    done = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    told = json.loads(out.read_text())
    assert sum(row["difference_ns"] for row in told["rows"]) == told["difference_ns"] != 0
    assert "products, backward" in done.output
    assert "in all" in done.output


@pytest.mark.parametrize(
    ("events", "options", "words"),
    [
        ([], {}, "must have kernels of an accelerator"),
        ([("kernel", "x", 7, 0, 5)], {"step": 3}, "the trace has none"),
        ([("kernel", "x", 7, 0, 5)], {"stage": 2}, "must be from 0 to 1"),
        ([("kernel", "x", 7, 0, 5)], {}, "must be given: the trace is not of a rank of 16"),
        ([("kernel", "x", 7, "soon", 5)], {}, "must be a time"),
    ],
)
def test_what_is_wrong_is_one_sentence(
    events: list[Any], options: dict[str, int], words: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [_event(*event) for event in events]}))
    with pytest.raises(ConfigError, match=words):
        compare_with_trace(RUN_NOW, path, **options)
