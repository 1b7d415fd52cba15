"""Flows by hand calculation, and what is refused."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError, SimulationError
from simcore.flows.batch import read_flow_manifest, run_flow_batch
from simcore.flows.case import case_of
from simcore.flows.simulate import FlowResult, simulate_flows


def _case(flows: list[list[Any]], duplex: str = "simplex") -> dict[str, Any]:
    links = [[0, 0, 1, 10**9, 100, duplex], [1, 1, 0, 10**9, 100, "simplex"]]
    return {"graph": {"nodes": 2, "npus": 2, "links": links}, "flows": flows}


def _run(data: dict[str, Any], rates: bool = False) -> FlowResult:
    case = case_of(data)
    return simulate_flows(case.graph, case.routes, case.flows, rates=rates)


def test_a_flow_takes_its_latency_and_its_bytes() -> None:
    assert _run(_case([[0, 0, 1, 1000, 50, None, [], [0]]])).finish_ns.tolist() == [1150.0]


def test_two_flows_share_a_link_until_the_shorter_one_ends() -> None:
    flows = [[0, 0, 1, 1000, 0, None, [], [0]], [1, 0, 1, 3000, 0, None, [], [0]]]
    done = _run(_case(flows), rates=True)
    assert done.finish_ns.tolist() == [2100.0, 4100.0]
    assert done.rates == [
        [(100.0, 0.5e9), (2100.0, 0.0)],
        [(100.0, 0.5e9), (2100.0, 1e9), (4100.0, 0.0)],
    ]
    assert done.link_bytes.tolist() == [4000.0, 0.0]


def test_both_directions_of_a_half_duplex_cable_share_it() -> None:
    flows: list[list[Any]] = [[0, 0, 1, 1000, 0, None, [], [0]], [1, 1, 0, 1000, 0, None, [], [0]]]
    assert _run(_case(flows, "half")).finish_ns.tolist() == [2100.0, 2100.0]


def test_a_capped_flow_leaves_the_rest_to_others() -> None:
    flows: list[list[Any]] = [
        [0, 0, 1, 1000, 0, 25 * 10**7, [], [0]],
        [1, 0, 1, 3000, 0, None, [], [0]],
    ]
    assert _run(_case(flows)).finish_ns.tolist() == [4100.0, 4100.0]


def test_a_flow_begins_after_those_that_it_waits_for() -> None:
    flows = [[0, 0, 1, 1000, 0, None, [1], [0]], [1, 1, 0, 500, 0, None, [], [1]]]
    assert _run(_case(flows)).finish_ns.tolist() == [1700.0, 600.0]


def test_flows_that_wait_for_each_other_end_with_one_sentence() -> None:
    flows = [[0, 0, 1, 1, 0, None, [1], [0]], [1, 0, 1, 1, 0, None, [0], [0]]]
    with pytest.raises(SimulationError, match="flows wait for each other"):
        _run(_case(flows))


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ([0, 0, 2, 1, 0, None, [], [0]], r"flows\[0\].dst"),
        ([0, 0, 1, -1, 0, None, [], [0]], r"flows\[0\].size_bytes"),
        ([0, 0, 1, 1, 0, 0, [], [0]], r"flows\[0\].cap_Bps"),
        ([0, 0, 1, 1, 0, None, [0], [0]], r"flows\[0\].deps"),
        ([0, 0, 1, 1, 0, None, [], [1]], r"flows\[0\].route"),
        ([0, 0, 1, 1, 0, None, [], []], r"flows\[0\].route"),
        ([0, 0, 1, True, 0, None, [], [0]], r"flows\[0\].size_bytes"),
        ([1, 0, 1, 1, 0, None, [], [0]], r"flows\[0\].id"),
    ],
)
def test_rows_that_break_a_rule_are_named(row: list[Any], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        case_of(_case([row]))


def test_one_file_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    from json import dumps

    fine = _case([[0, 0, 1, 1000, 0, None, [], [0]]])
    (tmp_path / "fine.json").write_text(dumps(fine))
    (tmp_path / "bad.json").write_text(dumps({**fine, "kind": "guess"}))
    entries = [{"id": name, "file": f"{name}.json"} for name in ("bad", "missing", "fine")]
    (tmp_path / "all.json").write_text(dumps(entries))
    found = run_flow_batch(
        read_flow_manifest(tmp_path / "all.json"), tmp_path, lambda _name, _status: None
    )
    assert [found[name]["status"] for name in ("bad", "missing", "fine")] == ["error"] * 2 + ["ok"]
    assert "kind: must be explicit or rule" in found["bad"]["message"]
    done = CliRunner().invoke(
        cli, ["flows", str(tmp_path / "all.json"), "--out", str(tmp_path / "out.json")]
    )
    assert done.exit_code == 0
    assert "3 files: 2 error, 1 ok" in done.output
