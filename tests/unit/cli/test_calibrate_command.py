"""``simcore calibrate`` from a table and logs to a prediction that has moved."""

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from simcore import load_calibration
from simcore.cli.app import cli
from simcore.errors import ConfigError

ROW = {
    **{"id": "one", "source": "ours", "model": "gpt-1.7B", "arch": "gpt", "layers": "24"},
    **{"hidden": "2304", "heads": "24", "vocab": "51200", "seq_len": "2048", "micro_batch": "16"},
    **{"global_batch": "512", "precision": "fp16", "gpu": "A100-80GB-SXM", "num_gpus": "32"},
    **{
        "tp": "1",
        "pp": "1",
        "dp": "32",
        "recompute": "full",
        "iter_time_s": "",
        "gpus_per_node": "8",
    },
}
MEGATRON = " iteration {n}/ 100 | elapsed time per iteration (ms): {ms} | loss\n"
RUN = Path("configs") / "runs" / "gpt3_175b_1024_a100.yaml"


def _table(tmp_path: Path, *rows: dict[str, str]) -> Path:
    path = tmp_path / "runs.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ROW)
        writer.writeheader()
        writer.writerows({**ROW, **row} for row in rows)
    return path


def _run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words])


def test_slow_runs_move_a_simulation_and_the_next_run_is_named(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    log.write_text("".join(MEGATRON.format(n=n, ms=6000) for n in range(5)), encoding="utf-8")
    rows = _table(
        tmp_path,
        {"id": "one"},
        {"id": "two", "iter_time_s": "6.1"},
        {"id": "near", "micro_batch": "8"},
        {
            "id": "far",
            "layers": "96",
            "hidden": "12288",
            "heads": "96",
            "tp": "8",
            "pp": "4",
            "num_gpus": "1024",
            "dp": "32",
            "micro_batch": "1",
            "global_batch": "1536",
        },
    )
    out = tmp_path / "ours.yaml"
    done = _run("calibrate", rows, "--out", out, "--log", f"one={log}")
    assert done.exit_code == 0, done.output
    assert "a100_80, 16-bit, dense, replicas (2 runs): x 1." in done.output
    assert "next: measure far" in done.output
    files = [tmp_path / name for name in ("plain.json", "moved.json")]
    _run("simulate", RUN, "--json", files[0])
    told = _run("simulate", RUN, "--json", files[1], "--calibration", out)
    assert told.exit_code == 0, told.output
    assert "calibrated: " in told.output
    plain, moved = (json.loads(file.read_text(encoding="utf-8"))["band"] for file in files)
    assert plain["middle"] == 1 < moved["middle"]
    assert plain["low_s"] < moved["low_s"]


def test_tokens_per_second_of_a_log_are_the_time_that_they_mean(tmp_path: Path) -> None:
    tokens = 512 * 2048
    log, rows = tmp_path / "titan.log", _table(tmp_path, {"id": "one"})
    rate = tokens / 32 / 4.0  # of one of 32 accelerators, where an iteration takes 4 s
    log.write_text(f"step: 10  loss: 7.1  tps: {rate:,.0f}  mfu: 40%\n", encoding="utf-8")
    out = tmp_path / "ours.yaml"
    done = _run("calibrate", rows, "--out", out, "--log", f"one={log}")
    assert done.exit_code == 0, done.output
    (run,) = load_calibration(out).runs
    assert run.measured_s == pytest.approx(4.0, rel=1e-3)


def test_latencies_of_a_service_are_no_time_of_an_iteration(tmp_path: Path) -> None:
    log, rows = tmp_path / "vllm.json", _table(tmp_path, {"id": "one"})
    log.write_text('{"completed": 9, "mean_ttft_ms": 100, "mean_tpot_ms": 10}', encoding="utf-8")
    done = _run("calibrate", rows, "--out", tmp_path / "o.yaml", "--log", f"one={log}")
    assert isinstance(done.exception, ConfigError)
    assert "tells no time of a training iteration" in str(done.exception)


def test_links_are_held_against_the_output_of_nccl_tests(tmp_path: Path) -> None:
    output = tmp_path / "nccl.txt"
    line = "{size} {count} float sum -1 {us} 60 105 0 {us} 60 105 0\n"
    text = "# Collective test starting: all_reduce_perf\n# size count type redop root time\n"
    text += "".join(line.format(size=1 << n, count=1 << (n - 2), us=100000.0) for n in (20, 24))
    output.write_text(text, encoding="utf-8")
    rows = _table(tmp_path, {"iter_time_s": "4", "num_gpus": "8", "dp": "8"})
    done = _run("calibrate", rows, "--out", tmp_path / "o.yaml", "--collectives", f"one={output}")
    assert done.exit_code == 0, done.output
    assert "links of one: all-reduces of 1 MiB and more take" in done.output


@pytest.mark.parametrize(
    ("rows", "options", "words"),
    [
        ([{}], [], "must hold a row that can be predicted and has iter_time_s"),
        ([{"iter_time_s": "1"}, {}], [], "must name each row once"),
        ([{"iter_time_s": "1"}], ["--log", "two=x.log"], "must name one row of"),
        ([{"iter_time_s": "1"}], ["--log", "x.log"], "must look like ID=FILE"),
        ([{"iter_time_s": "-1"}], [], "iter_time_s: must be above 0"),
        ([{"iter_time_s": "1", "gpu": "abacus"}], [], "abacus"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_sentence(
    tmp_path: Path, rows: list[dict[str, str]], options: list[str], words: str
) -> None:
    done = _run("calibrate", _table(tmp_path, *rows), "--out", tmp_path / "o.yaml", *options)
    assert isinstance(done.exception, ConfigError)
    assert words in str(done.exception)
