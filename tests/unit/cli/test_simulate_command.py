"""``simcore simulate`` names the time of a step of inference and says what it needs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore.cli.simulate import simulate
from simcore.config import load_run
from simcore.errors import ConfigError
from simcore.simulation import simulate_run

RUNS = Path(__file__).parents[3] / "configs" / "runs"
LLAMA = str(RUNS / "llama3_70b_8_h100_decode.yaml")
SMALL = """
version: 1
workload: {model: gpt3_175b_4layers, sequence: 512, global_batch: 16}
platform:
  npu: a100_80
  dimensions:
    - {topology: ring, npus: 4, bandwidth: 300 GB/s, latency: 700 ns}
    - {topology: switch, npus: 4, bandwidth: 25 GB/s, latency: 1700 ns}
plan: {tp: 4, pp: 2, dp: 2}
system: {all_reduce: direct}
"""


def told(*arguments: str) -> str:
    done = CliRunner().invoke(simulate, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ((), "time per output token"),
        (("workload.step=prefill", "workload.sequence=512"), "time to first token"),
    ],
)
def test_the_time_has_the_name_that_its_user_gives_it(
    settings: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    out = tmp_path / "result.json"
    text = told(LLAMA, "--json", str(out), *(part for s in settings for part in ("--set", s)))
    assert name in text
    assert "per NPU" in text
    assert "kv cache" in text
    result = json.loads(out.read_text())
    assert result["time_is"] == name
    told_of = "load tests" if name == "time per output token" else "not validated here"
    assert told_of in result["measured_against"]


def test_a_cache_that_does_not_fit_is_named() -> None:
    text = told(LLAMA, "--set", "workload.sequence=65536")
    assert "does not fit" in text


def test_a_note_tells_that_a_pipeline_is_idle_before_a_step() -> None:
    text = told(LLAMA, "--set", "plan.tp=4", "--set", "plan.pp=2")
    assert "begins on an idle pipeline" in text


def test_a_step_takes_no_less_than_reading_weights_and_cache() -> None:
    run = load_run(Path(LLAMA), {"compute": "ideal"})
    result = simulate_run(run)
    parts = result.footprint.components()
    read_s = (parts["weights"] + parts["kv cache"]) / run.platform.npu.memory_bandwidth_bytes_per_s
    assert read_s * 0.95 < sum(result.compute_by_phase_s().values()) < read_s * 1.1


def test_micro_batches_follow_each_other_through_the_stages() -> None:
    def time_s(batches: int) -> float:
        values = {
            "plan.tp": 2, "plan.pp": 4, "plan.micro_batch": 16,
            "workload.global_batch": 16 * batches, "compute": "ideal",
        }  # fmt: skip
        return simulate_run(load_run(Path(LLAMA), values)).iteration_time_s

    one, some, more = time_s(1), time_s(4), time_s(8)
    period = (more - some) / 4  # of the slowest stage, which has the head too
    assert one / 4 < period < one / 4 * 1.1
    assert some == pytest.approx(one + 3 * period, rel=0.01)


@pytest.mark.parametrize("name", ["llama3_70b_8_h100_decode", "deepseek_v3_128_h800_decode"])
def test_shipped_runs_fit(name: str) -> None:
    assert "does not fit" not in told(str(RUNS / f"{name}.yaml"))


def test_memory_is_told_by_what_it_holds_and_how_sure_a_shortage_is(tmp_path: Path) -> None:
    run, out = tmp_path / "run.yaml", tmp_path / "result.json"
    run.write_text(SMALL)
    text = told(str(run), "--json", str(out))
    for name in ("main weights", "attention", "mlp", "communication buffers", "with fragments"):
        assert name in text
    assert "memory is" not in text
    memory = json.loads(out.read_text())["memory"]
    held, beside = sum(memory["held_bytes"].values()), sum(memory["runtime_bytes"].values())
    assert memory["expected_bytes"] == held + beside
    assert sum(memory["activations_bytes"].values()) == memory["held_bytes"]["activations"]
    assert memory["shortage"] == "none"
    for size, words in (
        (memory["highest_bytes"] - 1, "memory is tight"),
        (memory["expected_bytes"] - 1, "memory is likely too small"),
        (held - 1, "does not fit"),
    ):
        assert words in told(str(run), "--set", f"platform.npu.memory={size} B")


def test_the_network_backend_can_be_chosen_and_is_named(tmp_path: Path) -> None:
    run, out, timeline = tmp_path / "run.yaml", tmp_path / "result.json", tmp_path / "t.json"
    run.write_text(SMALL)
    text = told(
        str(run), "--backend", "congestion_aware_multidim", "--json", str(out),
        "--timeline", str(timeline),
    )  # fmt: skip
    assert "stood for 16, congestion_aware_multidim" in text
    assert "not validated here" in text
    result = json.loads(out.read_text())
    assert result["run"]["backend"] == "congestion_aware_multidim"
    spent_s = result["metrics"]["iteration_time_s"]
    assert spent_s > simulate_run(load_run(run)).iteration_time_s
    events = json.loads(timeline.read_text())["traceEvents"]
    ends_us = [event["ts"] + event["dur"] for event in events if "dur" in event]
    assert max(ends_us) * 1e-6 == pytest.approx(spent_s)
    track = next(e["pid"] for e in events if e.get("args", {}).get("name") == "critical path")
    path_us = sum(event["dur"] for event in events if event["ph"] == "X" and event["pid"] == track)
    assert path_us * 1e-6 == pytest.approx(spent_s)


@pytest.mark.parametrize("backend", ["congestion_aware", "psychic"])
def test_a_backend_that_cannot_run_is_refused_with_those_that_can(
    backend: str, tmp_path: Path
) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(SMALL)
    with pytest.raises(ConfigError, match="congestion_aware_multidim"):
        CliRunner().invoke(simulate, [str(run), "--backend", backend], catch_exceptions=False)


def test_little_known_accelerators_are_told_in_one_line() -> None:
    text = told(LLAMA, "--set", "platform.npu=mi300x")
    assert "accelerator mi300x: data sheet only" in text
    assert "accelerator h100_80" not in told(LLAMA, "--set", "platform.npu=h100_80")
