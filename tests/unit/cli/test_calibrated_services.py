"""Load tests of one's own move the time per output token, and training runs do not."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from simcore import load_calibration, load_service, shipped_folder
from simcore.cli.app import cli
from simcore.errors import ConfigError
from simcore.validation import Site, prediction_band
from simcore.validation.calibrated.place import RunPlace

ROW = {
    **{"id": "one", "source": "ours", "backend": "vllm", "model": "meta-llama/Llama-3.1-70B"},
    **{"system": "h100", "mode": "agg", "input_len": "4096", "output_len": "256"},
    **{"concurrency": "64", "gemm_format": "bf16", "moe_format": "bf16", "batch_per_rank": "64"},
    **{"tp": "8", "pp": "1", "attention_dp": "1", "num_gpus": "8", "tpot_ms": "60"},
}
TRAINED = {
    **{"id": "trained", "source": "ours", "model": "gpt-1.7B", "arch": "gpt", "layers": "24"},
    **{"hidden": "2304", "heads": "24", "vocab": "51200", "seq_len": "2048", "micro_batch": "16"},
    **{"global_batch": "512", "precision": "fp16", "gpu": "A100-80GB-SXM", "num_gpus": "32"},
    **{"tp": "1", "pp": "1", "dp": "32", "recompute": "full", "iter_time_s": "6"},
    **{"gpus_per_node": "8"},
}
VLLM = {"completed": 9, "mean_ttft_ms": 100.0, "mean_tpot_ms": 45.0}
SERVICE = shipped_folder("configs") / "services" / "llama3_70b_16_h100_pools.yaml"


def _table(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def _run(*words: object) -> Result:
    return CliRunner().invoke(cli, [str(word) for word in words], catch_exceptions=True)


def _calibrated(tmp_path: Path, *rows: dict[str, str]) -> Path:
    out = tmp_path / "ours.yaml"
    done = _run("calibrate", _table(tmp_path / "tests.csv", *rows), "--out", out)
    assert done.exit_code == 0, done.output
    return out


def _served(tmp_path: Path, *words: object) -> tuple[dict[str, Any], str]:
    file = tmp_path / "served.json"
    done = _run("serve", SERVICE, "--json", file, *words)
    assert done.exit_code == 0, done.output
    return json.loads(file.read_text(encoding="utf-8")), done.output


def test_slow_load_tests_move_what_follows_from_the_time_of_a_token(tmp_path: Path) -> None:
    plain, _ = _served(tmp_path)
    slow = {**ROW, "tpot_ms": "90"}
    rows = [{**slow, "id": f"t{at}", "concurrency": f"{at}"} for at in (32, 64, 128)]
    moved, told = _served(tmp_path, "--calibration", _calibrated(tmp_path, *rows))
    before, after = plain["metrics"], moved["metrics"]
    factor = moved["time_per_output_token_band"]["middle"]
    assert factor > 1.05
    name = "time_per_output_token_s"
    assert after[name] == pytest.approx(factor * before[name])
    assert moved[f"simulated_{name}"] == before[name]
    rate = before["answering_requests_per_s"] / factor
    assert after["answering_requests_per_s"] == pytest.approx(rate)
    rest_s = before["request_s"] - 255 * before[name]
    assert after["request_s"] == pytest.approx(rest_s + 255 * after[name])
    assert after["time_to_first_token_s"] == before["time_to_first_token_s"]
    assert "calibrated (time per output token): simulated" in told
    bands = [one["time_per_output_token_band"] for one in (plain, moved)]
    widths = [band["high"] / band["low"] for band in bands]
    assert widths[1] < widths[0]
    assert "moved by 3 load tests of ours" in bands[1]["reason"]


def test_runs_of_the_other_kind_move_nothing_and_say_so(tmp_path: Path) -> None:
    own = _calibrated(tmp_path, TRAINED)
    served, _ = _served(tmp_path, "--calibration", own)
    assert served["time_per_output_token_band"]["middle"] == 1
    assert "not moved: ours has no load tests" in served["measured_against"]


def test_one_file_holds_runs_that_train_and_load_tests(tmp_path: Path) -> None:
    tables = _table(tmp_path / "tests.csv", ROW), _table(tmp_path / "runs.csv", TRAINED)
    out = tmp_path / "ours.yaml"
    done = _run("calibrate", *tables, "--out", out)
    assert done.exit_code == 0, done.output
    read = load_calibration(out)
    assert [len(runs) for runs in (read.runs, read.load_tests)] == [1, 1]
    assert "h100, vllm, 16-bit, dense, one pool" in done.output


def test_a_result_of_vllm_tells_the_time_of_a_load_test(tmp_path: Path) -> None:
    log = tmp_path / "vllm.json"
    log.write_text(json.dumps(VLLM), encoding="utf-8")
    rows = _table(tmp_path / "tests.csv", {**ROW, "tpot_ms": ""}, {**ROW, "id": "b", "tpot_ms": ""})
    out = tmp_path / "ours.yaml"
    done = _run("calibrate", rows, "--out", out, "--log", f"one={log}")
    assert done.exit_code == 0, done.output
    (run,) = load_calibration(out).load_tests
    assert run.measured_s == pytest.approx(0.045)
    assert "next: measure b" in done.output


def test_a_log_of_training_tells_no_time_per_token(tmp_path: Path) -> None:
    log = tmp_path / "train.log"
    line = " iteration {n}/ 100 | elapsed time per iteration (ms): 6000 | loss\n"
    log.write_text("".join(line.format(n=n) for n in range(5)), encoding="utf-8")
    rows = _table(tmp_path / "tests.csv", ROW)
    done = _run("calibrate", rows, "--out", tmp_path / "o.yaml", "--log", f"one={log}")
    assert isinstance(done.exception, ConfigError)
    assert "tells no time per output token" in str(done.exception)


def test_a_step_that_reads_is_moved_by_no_load_test(tmp_path: Path) -> None:
    site = Site(load_calibration(_calibrated(tmp_path, ROW)))
    service = load_service(SERVICE)
    assert site.band(service.prefill_run) == prediction_band(service.prefill_run)


def test_an_engine_that_nobody_named_lies_between_those_that_are_named(tmp_path: Path) -> None:
    own = load_calibration(_calibrated(tmp_path, ROW)).load_tests[0].place
    levels = {engine: (*own.levels[:2], engine, *own.levels[3:]) for engine in ("", "sglang")}
    apart = {
        engine: sum(
            abs(one - other)
            for one, other in zip(
                own.near,
                RunPlace.of_load_test(
                    levels=each, parameters=1, npus=8, requests_per_npu=8, tokens=4224
                ).near,
                strict=True,
            )
        )
        for engine, each in levels.items()
    }
    assert 0 < apart[""] < apart["sglang"]
