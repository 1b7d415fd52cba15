"""``simcore compare``: what differs between two runs, and what that does."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from simcore import compare, load_run, load_service, simulate_run
from simcore.cli.app import cli
from simcore.errors import ConfigError

CONFIGS = Path(__file__).parents[3] / "configs"
RUN = CONFIGS / "runs" / "t5_11b_1024_tpu_v3.yaml"
SERVICE = CONFIGS / "services" / "llama3_70b_16_h100_pools.yaml"
PATH = "platform.dimensions[0].bandwidth"


def test_differences_of_parts_sum_to_that_of_the_times() -> None:
    one, two = load_run(RUN), load_run(RUN, {PATH: "10 TB/s"})
    found = compare(one, two)
    times = [round(simulate_run(run).iteration_time_s * 1e9) for run in (one, two)]
    assert [time.time_ns for time in found.times] == times
    assert found.difference_ns == times[1] - times[0] < 0
    pairs = found.by_reason_ns().values()
    assert sum(two_ns - one_ns for one_ns, two_ns in pairs) == found.difference_ns
    assert list(found.values) == [f"{PATH}_bytes_per_s"]


def test_a_run_does_not_differ_from_itself() -> None:
    found = compare(load_run(RUN), load_run(RUN))
    assert not found.values
    assert found.difference_ns == 0
    assert all(one == two for one, two in found.by_reason_ns().values())


def test_services_are_compared_by_a_request() -> None:
    found = compare(load_service(SERVICE), load_service(SERVICE, {"answer": 64}))
    assert "answer" in found.values
    changed = {str(r): two - one for r, (one, two) in found.by_reason_ns().items() if one != two}
    assert set(changed) == {"answer"}
    assert changed["answer"] == found.difference_ns < 0


def test_the_command_lists_both_and_writes_all_as_json(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    words = ["compare", str(RUN), str(RUN), "--set", f"{PATH}='10 TB/s'", "--json", str(out)]
    ran = CliRunner().invoke(cli, words)
    assert ran.exit_code == 0, ran.output
    assert f"{PATH}_bytes_per_s" in ran.output
    assert "times as long as A" in ran.output
    data = json.loads(out.read_text())
    differences = [part["b_ns"] - part["a_ns"] for part in data["parts"]]
    assert sum(differences) == data["time_ns"][1] - data["time_ns"][0]
    assert [abs(one) for one in differences] == sorted(map(abs, differences), reverse=True)


def test_values_are_shown_with_their_units_and_without_their_sources() -> None:
    # TPU v3: 123 TFLOP/s in bf16, 32 GiB; A100: 312 TFLOP/s, 80 GiB (data sheets)
    other = CONFIGS / "runs" / "gpt3_175b_1024_a100.yaml"
    ran = CliRunner().invoke(cli, ["compare", str(RUN), str(other)], env={"COLUMNS": "160"})
    assert ran.exit_code == 0, ran.output
    for told in ("123 TFLOP/s", "312 TFLOP/s", "GB/s", "ms", "USD/h"):
        assert told in ran.output
    assert ".source" not in ran.output
    assert "000000.0" not in ran.output


def test_equal_runs_are_said_to_be_the_same() -> None:
    ran = CliRunner().invoke(cli, ["compare", str(RUN), str(RUN)])
    assert ran.output.splitlines()[-1] == "A and B are the same"


def test_a_run_and_a_service_are_refused() -> None:
    ran = CliRunner().invoke(cli, ["compare", str(SERVICE), str(RUN)])
    assert isinstance(ran.exception, ConfigError)
    with pytest.raises(TypeError):
        compare(load_service(SERVICE), load_run(RUN))
