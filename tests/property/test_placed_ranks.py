"""Ranks on NPUs of other numbers: the network sees where they are, the program does not."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from simcore import load_jobs, simulate_jobs
from simcore.cli.app import cli
from simcore.config import RunTemplate, load_run
from simcore.engines.choose import Engine
from simcore.engines.placed.links import PlacedLinks
from simcore.engines.placed.on_machine import placed_on, traffic_of
from simcore.errors import ConfigError
from simcore.memo import Memo
from simcore.network.dimensions import engine_dimensions
from simcore.placement.choice import PlacementChoice
from simcore.placement.greedy import Greedy
from simcore.simulation import Simulator, run_with_iteration

LEAVES = {
    "family": "leaf_spine",
    "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 1},
    "bandwidth": "2 GB/s",
    "latency": "500 ns",
}
SWITCHES = [
    {"topology": "ring", "npus": 4, "bandwidth": "4 GB/s", "latency": "300 ns"},
    {"topology": "switch", "npus": 2, "bandwidth": "1 GB/s", "latency": "1 us"},
]
MODEL = {"name": "tiny", "layers": 2, "hidden": 256, "heads": 8, "ffn": 1024, "vocabulary": 1024}
SWAPPED = [0, 4, 2, 6, 1, 5, 3, 7]


def run_file(backend: str, placement: Any = "as_is", **more: Any) -> dict[str, Any]:
    network: Mapping[str, Any] = {"dimensions": SWITCHES}
    if backend in ("flow", "packet"):
        network = {"network": LEAVES}
    return {
        "version": 1,
        "workload": {"model": MODEL, "sequence": 256, "global_batch": 8},
        "platform": {"npu": "h100_80", **network},
        "plan": {"tp": 4, "dp": 2},
        "backend": backend,
        "placement": placement,
        **more,
    }


def time_s(table: Mapping[str, Any]) -> float:
    return Simulator().simulate(load_run(table)).iteration_time_s


@pytest.mark.parametrize("backend", ["flow", "congestion_aware_multidim", "packet"])
def test_ranks_listed_in_order_are_as_they_are(backend: str) -> None:
    as_is = time_s(run_file(backend))
    assert time_s(run_file(backend, list(range(8)))) == as_is
    # tensor parallel groups that are spread over both leaves wait for the links between them
    assert time_s(run_file(backend, SWAPPED)) > 1.05 * as_is


def test_ranks_turned_around_a_symmetry_of_the_network_take_as_long() -> None:
    other_leaf_first = [4, 5, 6, 7, 0, 1, 2, 3]
    assert time_s(run_file("flow", other_leaf_first)) == time_s(run_file("flow"))


def test_a_bad_order_of_axes_is_mended_by_traffic() -> None:
    work = {"model": MODEL, "sequence": 256, "global_batch": 64}
    bad = {"plan": {"tp": 4, "dp": 2, "order": "dp-tp-pp-cp-ep"}, "workload": work}
    scattered = time_s(run_file("flow", **bad))
    mended = Simulator().simulate(load_run(run_file("flow", "greedy", **bad)))
    assert mended.iteration_time_s < 0.92 * scattered
    assert any("bytes of tp cross 2 links on average (2.67)" in note for note in mended.notes)


def test_traffic_that_nobody_waits_for_does_not_slow_an_iteration_down() -> None:
    bad = {"plan": {"tp": 4, "dp": 2, "order": "dp-tp-pp-cp-ep"}}  # links carry less as placed
    assert time_s(run_file("flow", "greedy", **bad)) == time_s(run_file("flow", **bad))


def test_ranks_stay_where_weighing_traffic_would_slow_them_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Greedy, "place", lambda *_: np.array(SWAPPED))
    kept = Simulator().simulate(load_run(run_file("flow", "greedy")))
    assert kept.iteration_time_s == time_s(run_file("flow"))
    assert any("placement greedy: ranks stay as they are" in note for note in kept.notes)
    job = {key: run_file("flow", "greedy")[key] for key in ("workload", "plan", "placement")}
    machine = {"version": 1, "platform": {"npu": "h100_80", "network": LEAVES}, "backend": "flow"}
    table = {**machine, "jobs": [{"name": "a", **job}]}
    found = simulate_jobs(load_jobs(table)).jobs[0]
    assert found.alone_s == pytest.approx(kept.iteration_time_s, rel=0.05)
    assert "ranks stay as they are" in found.note


def test_placed_ranks_in_step_take_as_long_as_each_followed() -> None:
    run = load_run(run_file("flow", [4, 5, 6, 7, 0, 1, 2, 3]))
    result, in_step = run_with_iteration(run)
    _, followed = run_with_iteration(load_run(run_file("flow", [4, 5, 7, 6, 0, 1, 2, 3])))
    assert in_step.choice.engine is not Engine.EVENTS
    assert result.iteration_time_s == pytest.approx(followed.finish_ns.max() * 1e-9, rel=0.05)


def test_traffic_is_what_the_engine_sends() -> None:
    run = load_run(run_file("flow", SWAPPED, plan={"tp": 2, "dp": 2, "pp": 2}))
    traffic = traffic_of(run.workload, run.plan, run.platform, run.system, Memo())
    sent = sum(float(one.size_bytes.sum()) for one in traffic)
    result = Simulator().simulate(run)
    assert sent / run.platform.npus == pytest.approx(sum(result.sent_bytes), rel=0.02)


def test_links_carry_all_bytes_over_the_ways_of_the_network() -> None:
    run = load_run(run_file("flow"))
    links = PlacedLinks(engine_dimensions(run.platform.dimensions))
    distance = links.distance(np.arange(8)) * 2.0  # links, as each has 2 B/ns
    leaf = np.arange(8) // 4
    expected = np.where(leaf[:, None] == leaf, 2.0, 4.0) * (1 - np.eye(8))
    assert distance == pytest.approx(expected)
    found = placed_on(
        PlacementChoice(rule="greedy"), run.workload, run.plan, run.platform, run.system, Memo()
    )
    assert found.kept_s[1] <= found.kept_s[0]
    sent = {way.axis: way.size_bytes * way.crossed[0] for way in found.ways}
    assert found.kept_s[0] == pytest.approx(sum(sent.values()) / 2e9)


def test_where_messages_do_not_meet_placements_are_left_out_and_said_so() -> None:
    result = Simulator().simulate(load_run(run_file("congestion_unaware", SWAPPED)))
    plain = Simulator().simulate(load_run(run_file("congestion_unaware")))
    assert result.iteration_time_s == plain.iteration_time_s
    assert any("placement listed is left out" in note for note in result.notes)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"backend": "packet", "network": {"from_dimension": 1}}, "network.from_dimension"),
    ],
)
def test_what_needs_ranks_as_they_are_is_refused(more: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        Simulator().simulate(load_run({**run_file("flow", SWAPPED), **more}))


def test_the_command_writes_a_list_that_a_run_reads(tmp_path: Path) -> None:
    work = {"model": MODEL, "sequence": 256, "global_batch": 64}
    bad = run_file("flow", plan={"tp": 4, "dp": 2, "order": "dp-tp-pp-cp-ep"}, workload=work)
    (tmp_path / "run.json.yaml").write_text(json.dumps(bad))
    call = ["place", str(tmp_path / "run.json.yaml"), "--placement", "greedy"]
    done = CliRunner().invoke(cli, [*call, "--out", str(tmp_path / "ranks.json")])
    assert done.exit_code == 0, done.output
    assert "busiest link kept" in done.output
    listed = load_run({**bad, "placement": "ranks.json"}, beside=tmp_path)
    assert time_s({**bad, "placement": "greedy"}) == Simulator().simulate(listed).iteration_time_s


def test_placements_are_values_of_a_knob() -> None:
    template = RunTemplate.from_table(run_file("flow"))
    assert template.with_values({"placement": "greedy"}).placement.rule == "greedy"
    assert template.with_values({"placement": SWAPPED}).placement.options == {"npus": SWAPPED}
    with pytest.raises(ConfigError, match="did you mean 'greedy'"):
        template.with_values({"placement": "greddy"})
