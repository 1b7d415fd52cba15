"""Synthesised collectives against exact bounds, and schedules that do something else."""

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from simcore.cli.app import cli
from simcore.errors import ConfigError, SimulationError
from simcore.graphs.network_table import NetworkFile
from simcore.synthesis.bounds import bound_of
from simcore.synthesis.candidates import Known, _counts, candidates
from simcore.synthesis.fabric import Fabric, fabric_of, fabric_of_table, read_fabric
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, KINDS, REDUCE_SCATTER
from simcore.synthesis.matched import matched
from simcore.synthesis.replay import check
from simcore.synthesis.schedule_file import read_schedule, schedule_text
from simcore.synthesis.synthesise import Synthesis, synthesise
from simcore.synthesis.ways import links_apart

BOUNDS = Path(__file__).resolve().parents[4] / "shared" / "golden" / "flow" / "bounds"
STAR = [[npu, 4, "1", 1] for npu in range(4)] + [[4, npu, "1", 1] for npu in range(4)]
RING = [[npu, (npu + step) % 4, "1", 1] for npu in range(4) for step in (1, 3)]


def _fabric(links: list[list[Any]], nodes: int = 4, **more: Any) -> Fabric:
    table = {"npus": 4, "nodes": nodes, "links": links, "links_cols": ["a", "b", "rate", "latency"]}
    return fabric_of_table({**table, **more}).without_latency()


@pytest.fixture(scope="module")
def ring() -> dict[str, Synthesis]:
    return {kind: synthesise(_fabric(RING), kind) for kind in KINDS}


def test_a_ring_of_four_needs_what_its_closed_forms_say(ring: dict[str, Synthesis]) -> None:
    least = {ALL_GATHER: 1.5, REDUCE_SCATTER: 1.5, ALL_REDUCE: 3.0, ALL_TO_ALL: 2.0}
    for kind, found in ring.items():
        assert found.bound.bandwidth == pytest.approx(least[kind], rel=1e-9)
        assert found.schedule.time == pytest.approx(least[kind], rel=0.01)


@pytest.mark.parametrize(
    "graph", ["mesh3x3", "hypercube3_failed", "star8_sharp", "dgx1_v100_failed"]
)
@pytest.mark.parametrize("kind", KINDS)
def test_schedules_come_near_exact_bounds(graph: str, kind: str) -> None:
    if not BOUNDS.is_dir():
        pytest.skip("no golden bounds here")
    with open(BOUNDS / "bounds.csv", newline="") as file:
        rows = {(row["graph"], row["collective"]): row for row in csv.DictReader(file)}
    exact = float(rows[graph, kind]["bandwidth_bound"])
    fabric = read_fabric(BOUNDS / "graphs" / f"{graph}.json").without_latency()
    found = synthesise(fabric, kind, chunks=64)
    assert found.bound.bandwidth <= exact * (1 + 1e-8)
    assert found.schedule.time >= exact * (1 - 1e-8)
    assert found.schedule.time <= exact / 0.95


@pytest.mark.parametrize("kind", [ALL_GATHER, REDUCE_SCATTER])
def test_cables_of_unlike_speed_are_all_kept_busy_to_the_end(kind: str) -> None:
    if not BOUNDS.is_dir():
        pytest.skip("no golden bounds here")
    fabric = read_fabric(BOUNDS / "graphs" / "mesh4x4_hetero.json").without_latency()
    found = synthesise(fabric, kind, chunks=4)
    assert found.schedule.time == pytest.approx(5.0, rel=1e-9)  # its bound, exact in bounds.csv


@pytest.mark.parametrize("draw", range(4))
def test_matched_chunks_pass_the_replay_on_unlike_and_shared_links(draw: int) -> None:
    rng = np.random.default_rng(draw)
    around = np.arange(7)
    more = rng.integers(7, size=(6, 2))
    more = more[more[:, 0] != more[:, 1]]
    tail = np.concatenate([around, (around + 1) % 7, more[:, 0]])
    head = np.concatenate([(around + 1) % 7, around, more[:, 1]])
    # both arcs of the first cables are one half-duplex link
    link = np.concatenate([around, around, 7 + np.arange(len(more))])
    order = np.argsort(tail, kind="stable")
    fabric = Fabric(
        npus=7,
        nodes=7,
        tail=tail[order],
        head=head[order],
        link=link[order],
        rate=rng.integers(1, 4, 7 + len(more)).astype(np.float64),
        latency=rng.random(7 + len(more)),
    )
    found = matched(fabric, 3, 1 / 3, draw)
    check(found, fabric)
    assert found.time >= bound_of(fabric, ALL_GATHER, 1.0).time * (1 - 1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_no_candidate_is_faster_than_its_busiest_link(kind: str) -> None:
    fabric = _fabric(STAR, 5)
    aim = bound_of(fabric, kind, 1.0).bandwidth
    for draft in candidates(fabric, kind, 1.0, (2, 0), aim, Known()):
        found = draft.schedule()
        check(found, fabric)
        assert found.time >= draft.busiest * (1 - 1e-9)


def test_switches_that_reduce_and_copy_halve_an_all_reduce() -> None:
    plain = synthesise(_fabric(STAR, 5), ALL_REDUCE, chunks=16)
    able = synthesise(
        _fabric(STAR, 5, switch_copies=True, switch_reduces=True), ALL_REDUCE, chunks=16
    )
    assert plain.bound.bandwidth == pytest.approx(6.0)
    assert able.bound.bandwidth == pytest.approx(4.0)
    assert able.schedule.time < 0.75 * plain.schedule.time


def test_latency_makes_schedules_longer_by_little_where_pieces_are_large() -> None:
    fabric = replace(_fabric(RING), latency=np.ones(8))
    found = synthesise(fabric, ALL_GATHER, piece=1000.0)
    assert found.bound.latency == 2.0
    assert 1500.0 <= found.schedule.time <= 1500.0 * 1.01


def test_replay_refuses_what_is_early_doubled_missing_or_shared(ring: dict[str, Synthesis]) -> None:
    fabric = _fabric(RING)
    good = ring[REDUCE_SCATTER].schedule
    check(good, fabric)
    with pytest.raises(SimulationError, match="two chunks at once"):
        check(replace(good, start=np.zeros(good.sends)), fabric)
    with pytest.raises(SimulationError, match="along a link"):
        check(replace(good, head=(good.head + 1) % 4), fabric)
    columns = ("chunk", "tail", "head", "link", "joins", "flight", "start")
    less = replace(good, **{name: getattr(good, name)[:-1] for name in columns})
    with pytest.raises(SimulationError, match="ends without it"):
        check(less, fabric)
    gather = ring[ALL_GATHER].schedule
    with pytest.raises(SimulationError, match="does not hold"):
        check(replace(gather, chunk=gather.chunk[::-1].copy()), fabric)


def test_the_same_seed_gives_the_same_schedule_and_it_reads_back(
    tmp_path: Path, ring: dict[str, Synthesis]
) -> None:
    again = synthesise(_fabric(RING), ALL_REDUCE)
    text = schedule_text(ring[ALL_REDUCE])
    assert schedule_text(again) == text
    file = tmp_path / "schedule.json"
    file.write_text(text)
    read = read_schedule(file)
    check(read, _fabric(RING))
    assert read.time == again.schedule.time


def test_the_command_writes_a_schedule_and_refuses_in_one_sentence(tmp_path: Path) -> None:
    graph, out = tmp_path / "ring.yaml", tmp_path / "schedule.json"
    graph.write_text("family: ring\nparams: {n: 4}\nbandwidth: 1 GB/s\nlatency: 1 us\n")
    run = CliRunner()
    said = run.invoke(
        cli, ["synthesise", str(graph), "--collective", "all_gather", "--out", str(out)]
    )
    assert said.exit_code == 0
    assert "of bound   100.00 %" in said.output
    assert read_schedule(out).time == pytest.approx(1.5e-9)


def test_parted_networks_and_unknown_collectives_are_refused() -> None:
    with pytest.raises(SimulationError, match="reachable"):
        synthesise(_fabric([[0, 1, "1", 0], [1, 0, "1", 0]]), ALL_GATHER)
    with pytest.raises(ConfigError, match="must be one of all_gather"):
        synthesise(_fabric(RING), "broadcast")
    with pytest.raises(ConfigError, match="rate"):
        _fabric([[0, 1, "1/0", 0]])


def test_links_between_npus_are_counted_along_the_least_ways() -> None:
    def apart(**table: object) -> float:
        speeds = {"bandwidth": "1 GB/s", "latency": "0 s"}
        return links_apart(
            fabric_of(NetworkFile.from_file_data({**table, **speeds}, at="").graph())
        )

    assert apart(family="ring", params={"n": 4}) == pytest.approx(4 / 3)  # 1, 2, 1
    assert apart(family="star", params={"n": 4}) == pytest.approx(2.0)
    leaves = {"leaves": 2, "npus_per_leaf": 2, "spines": 1}
    assert apart(family="leaf_spine", params=leaves) == pytest.approx((2 + 4 + 4) / 3)


def test_fewest_chunks_are_as_many_as_the_ways_allow() -> None:
    few = 5e6  # hops of one chunk of each piece, more than are tried with several
    assert _counts(None, few) == (1,)
    assert _counts(None, 1e6) == (2,)
    assert _counts(None, 1e6, lambda: 8e6) == (1,)  # ways of eight links
    assert _counts(7, 1e6, lambda: 8e6) == (7,)


def test_chunks_between_groups_do_not_wait_for_one_cable_while_others_are_idle() -> None:
    """In order of their targets those of a group would all go to one other group at a time."""
    table = {"family": "dragonfly", "params": {"p": 2, "a": 4, "h": 2}}
    speeds = {"bandwidth": "1 B/s", "latency": "0 s"}
    fabric = fabric_of(NetworkFile.from_file_data({**table, **speeds}, at="").graph())
    assert synthesise(fabric, ALL_TO_ALL, chunks=1).share > 0.88


def test_what_npus_must_receive_bounds_an_all_to_all() -> None:
    slow = [[npu, 4, "2", 0] for npu in range(4)] + [
        [4, npu, f"{npu + 1}/8", 0] for npu in range(4)
    ]
    assert bound_of(_fabric(slow, 5), ALL_TO_ALL, 1.0).bandwidth == pytest.approx(24.0)
