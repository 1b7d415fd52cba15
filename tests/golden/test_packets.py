"""Packets against runs of the reference simulator: to the nanosecond, packet by packet."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from simcore.packets.case import case_of
from simcore.packets.run import FLOW_COLUMNS, Outcome, run_case
from simcore.packets.views.trace import trace_into

GOLDEN = Path(__file__).resolve().parents[3] / "shared" / "golden" / "packet"
FILES = sorted((GOLDEN / "cases").glob("*.json"))
TRACES = sorted((GOLDEN / "traces").glob("*.csv"))
pytestmark = pytest.mark.skipif(not FILES, reason="needs shared/golden/packet")
INPUTS = ("name", "topology", "params", "flows_cols", "flows", "ecmp_next_hops")


@cache
def recorded() -> list[dict[str, Any]]:
    """All cases: 39 million events."""
    return [json.loads(path.read_text()) for path in FILES]


def run(case: dict[str, Any], seed: int = 1) -> Outcome:
    return run_case(case_of({key: case[key] for key in INPUTS if key in case}), seed)


def columns(rows: list[list[Any]], names: list[str], *keys: str) -> list[list[Any]]:
    """Some columns of *rows*, None for what was not measured."""
    at = [names.index(key) for key in keys]
    return [[row[index] or None for index in at] for row in rows]


def test_the_cases_are_of_every_family_and_control() -> None:
    families = {case["family"] for case in recorded()}
    assert families >= {"single", "share2", "incast", "perm", "a2a", "ring", "mixed", "pfc"}
    assert {case["params"]["cc_mode"] for case in recorded()} == {0, 1, 3, 7, 8, 12}


@pytest.mark.parametrize("control", [0, 1, 3, 7, 8, 12])
def test_times_counts_marks_and_queues_are_those_of_the_reference(control: int) -> None:
    for case in recorded():
        if case["params"]["cc_mode"] != control or not case["deterministic"]:
            continue
        outcome, expect = run(case), case["expect"]
        mine = columns(outcome.flows, list(FLOW_COLUMNS), *FLOW_COLUMNS)
        assert mine == columns(expect["flows"], expect["cols"], *FLOW_COLUMNS), case["name"]
        assert outcome.queues == sorted(expect["qmax"]), case["name"]
        totals = outcome.pauses, outcome.drops
        assert totals == (expect["pfc_pauses"], expect["drops"]), case["name"]


def test_random_marks_and_losses_of_every_seed_are_those_of_the_reference() -> None:
    cases = [case for case in recorded() if not case["deterministic"]]
    assert cases
    for case in cases:
        stats = case["expect_stats"]
        for index, seed in enumerate(stats["seeds"]):
            ends = [row[2] or 0 for row in run(case, seed).flows]
            assert max(ends) == stats["last_finish_ns"][index], (case["name"], seed)


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_every_packet_comes_when_and_as_it_does_in_the_reference(
    path: Path, tmp_path: Path
) -> None:
    case = json.loads((GOLDEN / "cases" / f"{path.stem}.json").read_text())
    checked = case_of({key: case[key] for key in INPUTS if key in case})
    with trace_into(tmp_path / "trace.csv", checked) as on_rows:
        run_case(checked, on_rows=on_rows)
    wanted = path.read_text().splitlines()
    assert (tmp_path / "trace.csv").read_text().splitlines()[: len(wanted)] == wanted
