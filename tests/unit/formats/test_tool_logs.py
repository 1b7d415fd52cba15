"""Logs of tools as they print them: their times, and what is refused."""

import gzip
import json
from pathlib import Path

import pytest

from simcore import ConfigError
from simcore.formats.logs import read_log
from simcore.formats.logs.nccl_tests import timed_collectives

MEGATRON = """ [2024-05-01 10:00:00] iteration        {n}/     100 | consumed samples:    {n} | \
elapsed time per iteration (ms): {ms} | throughput per GPU (TFLOP/s/GPU): 400.1 | loss scale: 1 |
"""
TITAN = (
    "[rank0]:[titan] 2025-01-01 10:00:00,000 - root - INFO - "
    "\x1b[31mstep: {n}  \x1b[32mloss: 7.1  "
    "\x1b[33mmemory: 37.50GiB(39.4%)  \x1b[34mtps: {tps}  \x1b[36mtflops: 337.46  "
    "\x1b[35mmfu: 34.1%\x1b[39m\n"
)
_FIRST = "     8388608       2097152     float     sum      -1    138.8   60.45  105.79      0"
_NEXT = "    16777216       4194304     float     sum      -1    187.5   89.48  156.59      0"
_COLUMNS = "#       size         count      type   redop    root     time   algbw   busbw #wrong"
NCCL = f"""# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 8388608 maxBytes 16777216 step: 2(factor) warmup iters: 5 iters: 20
#                                           out-of-place                       in-place
{_COLUMNS}     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)
{_FIRST}    139.1   60.31  105.5       0
{_NEXT}    188.0   89.24  156.2       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 131.0
"""


def _write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "log.txt"
    path.write_text(text, encoding="utf-8")
    return path


def test_megatron_tells_the_median_of_its_steps_after_the_warm_up(tmp_path: Path) -> None:
    slow_first = [9000.0] + [1000.0, 1010.0, 1020.0] * 3
    text = "".join(MEGATRON.format(n=n, ms=ms) for n, ms in enumerate(slow_first, 1))
    found = read_log(_write(tmp_path, text))
    assert (found.tool, found.steps) == ("Megatron-LM", 10)
    assert found.step_s == pytest.approx(1.010)


def test_torchtitan_tells_tokens_per_second_also_in_colours(tmp_path: Path) -> None:
    text = "".join(TITAN.format(n=10 * n, tps=f"{5_700 + n:,}") for n in range(1, 4))
    found = read_log(_write(tmp_path, text))
    assert found.tool == "torchtitan"
    assert found.tokens_per_s_per_npu == pytest.approx(5702.5)


def test_a_profile_tells_the_steps_of_the_host_packed_or_not(tmp_path: Path) -> None:
    steps = [
        {"ph": "X", "cat": cat, "name": f"ProfilerStep#{n}", "ts": 1e6 * n, "dur": 250_000 + n}
        for n in range(3)
        for cat in ("user_annotation", "gpu_user_annotation")
    ]
    data = json.dumps({"traceEvents": [{"ph": "M", "name": "process_name"}, *steps]})
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(data.encode()))
    for path in (_write(tmp_path, data), packed):
        found = read_log(path)
        assert found.steps == 3
        assert found.step_s == pytest.approx(0.2500015)


def test_a_benchmark_of_vllm_tells_both_latencies(tmp_path: Path) -> None:
    data = {"completed": 640, "mean_ttft_ms": 210.5, "mean_tpot_ms": 17.25, "median_tpot_ms": 17.0}
    found = read_log(_write(tmp_path, json.dumps(data)))
    assert (found.steps, found.first_token_s, found.per_token_s) == (640, 0.2105, 0.01725)


def test_nccl_tests_tell_size_and_time_out_of_place() -> None:
    first, second = timed_collectives(NCCL, "out.txt")
    assert (first.collective, first.size_bytes) == ("all_reduce", 8388608)
    assert first.time_s == pytest.approx(138.8e-6)
    assert second.time_s == pytest.approx(187.5e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nothing to see", "must be a log of Megatron-LM or torchtitan"),
        (NCCL, "--collectives"),
        ('{"a": 1}', "must be a result of vLLM"),
        ('{"traceEvents": []}', "profiler.step"),
        ('{"traceEvents": 3}', "must be a list of events"),
        ('{"completed": 1, "mean_ttft_ms": -1, "mean_tpot_ms": 2}', "mean_ttft_ms: must be a num"),
        (MEGATRON.format(n=1, ms="0.0"), "must be finite and above 0"),
        (MEGATRON.format(n=1, ms="1e999"), "must be finite and above 0"),
    ],
)
def test_what_tells_no_time_is_refused_in_one_sentence(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(ConfigError) as error:
        read_log(_write(tmp_path, text))
    assert words in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("right", "wrong", "place"),
    [
        ("105.79      0", "105.79      7", "out of place"),
        ("105.5       0", "105.5       7", "in place"),
    ],
)
def test_wrong_results_of_either_column_are_refused(right: str, wrong: str, place: str) -> None:
    assert right in NCCL
    with pytest.raises(ConfigError, match=f"no wrong results {place}"):
        timed_collectives(NCCL.replace(right, wrong), "out.txt")


def test_tables_without_a_line_are_refused() -> None:
    with pytest.raises(ConfigError, match="a line with a size"):
        timed_collectives(NCCL.split("     8388608")[0], "out.txt")
    with pytest.raises(ConfigError, match="nccl-tests' table"):
        timed_collectives("hello", "out.txt")
