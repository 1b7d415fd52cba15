"""Synthesised collectives in runs: the schedule's time on every engine, links that are shared."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_runs import collective, program, run_of

from simcore import ConfigError, simulate_run
from simcore.collectives import SYNTHESISED, Synthesised
from simcore.config import load_run
from simcore.engines.events.input import ChosenAlgorithm, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.routed import routed
from simcore.kernels.synthesis import scheduling
from simcore.kernels.synthesis.retiming import retimed
from simcore.machine.graph_dimensions import network_dimensions
from simcore.network import Flow
from simcore.network.dimensions import engine_dimensions
from simcore.synthesis import trees
from simcore.synthesis.fabric import fabric_of, read_fabric
from simcore.synthesis.kinds import ALL_GATHER, ALL_REDUCE, KINDS, REDUCE_SCATTER
from simcore.synthesis.placed import kept
from simcore.synthesis.placed.carriage import carriage
from simcore.synthesis.placed.line import line_fabric
from simcore.synthesis.synthesise import synthesise
from simcore.terms import CollectiveKind

SPEEDS = {"bandwidth": "50 GB/s", "latency": "500 ns"}
MIB = 1 << 20


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_folder", lambda: tmp_path / "schedules")


def network(family: str, **more: Any) -> NetworkFile:
    params = more.pop("params")
    return NetworkFile.from_file_data({"family": family, "params": params, **SPEEDS, **more}, at="")


def run_table(network: dict[str, Any], backend: str, **system: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 8},
        "platform": {"npu": "a100_80", "network": {**SPEEDS, **network}},
        "plan": {"tp": 4, "dp": 2},
        "backend": backend,
        "system": {"chunks": 1, **system},
    }


@pytest.mark.parametrize("kind", KINDS)
def test_a_schedule_timed_anew_takes_what_its_own_replay_says(kind: str) -> None:
    given = network("torus", params={"dims": [3, 3]})
    fabric, links = line_fabric(routed(given).graph, np.arange(9))
    piece = float(4**9)
    found = synthesise(fabric, kind, piece, chunks=4)
    form = kept._timed_form(found, fabric, piece)
    takes, places = piece / form.parts / fabric.rate, int(form.to.max()) + 1
    order = form.link, form.at, form.to, form.into_switch
    again = retimed(*order, takes, fabric.latency, places)
    assert again == pytest.approx(found.schedule.time, rel=1e-9)
    assert sorted(links.tolist()) == list(range(routed(given).graph.links))


def test_groups_that_lie_alike_on_a_network_share_a_schedule() -> None:
    params = {"servers": 2, "npus_per_server": 4, "servers_per_pod": 2, "spines": 2}
    given = network("rails", params=params)
    lines = [line_fabric(routed(given).graph, np.array([rail, rail + 4])) for rail in range(4)]
    keys = {kept._key(fabric, ALL_REDUCE, 3) for fabric, _ in lines}
    assert len(keys) == 1
    used = [set(links.tolist()) for _, links in lines]
    assert not set.intersection(*used)


def test_a_group_goes_through_others_only_where_it_must() -> None:
    graph = routed(network("mesh", params={"dims": [3, 2]})).graph
    beside, _ = line_fabric(graph, np.array([0, 1, 2]))
    assert beside.nodes == 3
    apart, _ = line_fabric(graph, np.array([0, 2]))
    assert apart.npus == 2
    assert apart.nodes > 2


def test_schedules_come_back_from_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = fabric_of(network("ring", params={"n": 5}).graph())
    (first, *_) = kept.kept_schedules(fabric, ALL_GATHER, 1e6)
    kept._known().clear()
    monkeypatch.setattr(kept, "_made", lambda *_: pytest.fail("made again"))
    (again, *_) = kept.kept_schedules(fabric, ALL_GATHER, 1.1e6)  # of the same class of sizes
    assert (again.link == first.link).all()
    assert again.by == first.by
    path = next(kept._folder().glob("*.npz"))
    path.write_bytes(path.read_bytes()[:100])  # a file that is not whole counts as none
    assert kept._read(path.stem) is None
    kept._known().clear()


def test_schedules_that_other_code_made_are_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    fabric = fabric_of(network("ring", params={"n": 4}).graph())
    for code, files in (("one", 1), ("one", 1), ("other", 2)):
        monkeypatch.setattr(kept, "_sources", lambda code=code: code)
        kept._known().clear()
        kept.kept_schedules(fabric, ALL_GATHER, 64.0)
        assert len(list(kept._folder().glob("*.npz"))) == files
    kept._known().clear()


@pytest.mark.parametrize("changed", ["own/trees.py", "kernels/scheduling.py"])
def test_any_change_of_the_code_that_makes_schedules_counts(tmp_path: Path, changed: str) -> None:
    own, kernels = tmp_path / "own", tmp_path / "kernels"
    shutil.copytree(Path(trees.__file__).parent, own)
    shutil.copytree(Path(scheduling.__file__).parent, kernels)
    assert kept._digest(own, kernels) == kept._sources()
    with open(tmp_path / changed, "a", encoding="utf-8") as file:
        file.write("\n")
    assert kept._digest(own, kernels) != kept._sources()


RINGS = network("torus", params={"dims": [4, 2]})


def finish(kind: CollectiveKind, size: int, backend: str) -> Any:
    chosen = (ChosenAlgorithm(algorithm=Synthesised()),) * 2
    inputs = run_of(
        list(engine_dimensions(network_dimensions(RINGS, ""))),
        [program([collective(kind, size)])],
        SystemOptions(algorithms={int(kind): chosen}),
        backend=backend,
    )
    return run_unfolded(inputs).finish_ns


@pytest.mark.parametrize("backend", ["congestion_unaware", "congestion_aware_multidim", "flow"])
def test_every_network_gives_a_collective_alone_its_schedule_s_time(backend: str) -> None:
    size = 8 * MIB
    ends = finish(CollectiveKind.ALL_GATHER, size, backend)
    first = carriage(RINGS, [0, 4], ALL_GATHER, size).time_ns
    then = carriage(RINGS, [0, 1, 2, 3], ALL_GATHER, 2 * size).time_ns
    delays = 4 * 10  # each phase is handled at its start and its end
    assert ends.max() == pytest.approx(first + then + delays, abs=4)
    assert ends.min() == ends.max()


def test_switches_that_reduce_and_multicast_halve_the_bytes_of_endpoints() -> None:
    size = 8 * 32 * 1000
    for able, sent in ((True, size), (False, 2 * 7 * size / 8)):
        own = {"reduces": able, "multicasts": able}
        star = network("star", params={"n": 8}, in_network=own)
        work = carriage(star, range(8), ALL_REDUCE, size)
        assert work.load_bytes == pytest.approx(np.full(16, sent))
        assert work.time_ns >= work.bound_ns


def test_links_are_shared_with_messages() -> None:
    """As much again on the same links: both take twice as long, and no longer."""
    star, size = network("star", params={"n": 2}), 50 * 1000
    work = carriage(star, [0, 1], ALL_GATHER, size)
    assert work.load_bytes == pytest.approx(np.full(4, size))
    flows = Flow(engine_dimensions(network_dimensions(star, "")))
    flows.carry(0, 1, (0, 0), work)
    flows.send(0, 2, 0, 1, size)
    ends = dict[int, int]()
    while (due_ns := flows.next_event_ns()) is not None:
        ends |= {one.message: one.time_ns for one in flows.advance(due_ns)}
    alone_ns = size / 50
    assert ends[1] == pytest.approx(work.latency_ns + 2 * alone_ns, rel=0.05)
    assert ends[2] == pytest.approx(1000 + 2 * alone_ns, rel=0.05)


def test_runs_agree_and_tell_the_bound() -> None:
    torus = {"family": "torus", "params": {"dims": [4, 2]}}
    chosen = dict.fromkeys(("all_reduce", "all_gather", "reduce_scatter"), SYNTHESISED)
    found = {
        backend: simulate_run(load_run(run_table(torus, backend, **chosen)))
        for backend in ("congestion_unaware", "flow")
    }
    ring = simulate_run(load_run(run_table(torus, "flow", all_reduce="ring")))
    alike = found["flow"].iteration_time_s, found["congestion_unaware"].iteration_time_s
    assert alike[0] == pytest.approx(alike[1], rel=1e-6)
    assert alike[0] < ring.iteration_time_s
    for one in found.values():
        assert any("proven lower bound is" in note for note in one.notes)


@pytest.mark.parametrize("backend", ["flow", "congestion_aware_multidim"])
def test_schedules_are_made_for_the_npus_on_which_ranks_are(backend: str) -> None:
    """Four columns of two on a torus, turned: groups of the inner axis have the columns' time."""
    torus = {"family": "torus", "params": {"dims": [4, 2]}}
    turned = [0, 4, 1, 5, 2, 6, 3, 7]

    def ran(where: list[int] | None, plan: dict[str, int]) -> Any:
        table = {**run_table(torus, backend, all_reduce=SYNTHESISED), "plan": plan}
        listed = {} if where is None else {"placement": where}
        return simulate_run(load_run({**table, **listed}))

    same = ran(list(range(8)), {"tp": 4, "dp": 2})
    assert same.iteration_time_s == ran(None, {"tp": 4, "dp": 2}).iteration_time_s
    placed = ran(turned, {"tp": 4, "dp": 2})
    told = next(note for note in placed.notes if "20,971,520 bytes among 4" in note)
    work = carriage(
        NetworkFile.from_file_data({**torus, **SPEEDS}, at=""), turned[:4], ALL_REDUCE, 20971520
    )
    assert f"{work.time_ns * 1e-3:,.1f} us" in told


def test_ranks_are_placed_with_schedules_on_one_network_only() -> None:
    table = run_table({"family": "ring", "params": {"n": 4}}, "flow", all_reduce=SYNTHESISED)
    network = table["platform"].pop("network")
    table["platform"]["dimensions"] = [{"network": network}, {"network": network}]
    table["placement"] = list(range(16))
    table["plan"] = {"tp": 4, "dp": 4}
    with pytest.raises(ConfigError, match=r"system.all_reduce: .* is one network"):
        simulate_run(load_run(table))


def test_an_algorithm_may_be_chosen_per_dimension() -> None:
    torus = {"family": "torus", "params": {"dims": [4, 2]}}
    mixed = simulate_run(load_run(run_table(torus, "flow", all_reduce=[SYNTHESISED, "ring"])))
    whole = simulate_run(load_run(run_table(torus, "flow", all_reduce=SYNTHESISED)))
    assert mixed.iteration_time_s >= whole.iteration_time_s


def test_dimensions_without_a_graph_are_refused_in_one_sentence() -> None:
    table = run_table({}, "flow", all_reduce=SYNTHESISED)
    switch = {"topology": "switch", "npus": 8, **SPEEDS}
    table["platform"] = {"npu": "a100_80", "dimensions": [switch]}
    with pytest.raises(ConfigError, match=r"system.all_reduce: synthesised needs a dimension that"):
        simulate_run(load_run(table))


def test_numbers_that_switches_do_not_add_up_are_added_up_by_npus() -> None:
    star = {"family": "star", "params": {"n": 8}}

    def ran(**can: Any) -> Any:
        table = run_table({**star, "in_network": can}, "flow", all_reduce="synthesised")
        return simulate_run(load_run(table))

    bf16 = ran(reduces=True, multicasts=True, formats=["bf16", "fp32"])
    fp16 = ran(reduces=True, multicasts=True, formats=["fp16"])
    passes = ran(multicasts=True)
    assert fp16.iteration_time_s == passes.iteration_time_s > bf16.iteration_time_s
    told = "switches of dimension 0 add up fp16, not bf16: NPUs add up what a synthesised"
    assert [note for note in fp16.notes if told in note]
    assert not [note for note in (*bf16.notes, *passes.notes) if "NPUs add up" in note]


@pytest.mark.parametrize("kind", [ALL_REDUCE, REDUCE_SCATTER])
def test_limits_of_switches_take_what_they_take_of_in_network(kind: str) -> None:
    """Windows of 2 x 16 KiB on their way up and down, and two levels of switches of radix 4."""
    size, way_ns = 8 * 64 * 1024, 2 * 500.0
    able = {"reduces": True, "multicasts": True}

    def work(**limits: Any) -> Any:
        star = network("star", params={"n": 8}, in_network={**able, **limits})
        return carriage(star, range(8), kind, size)

    free, levels, held = work(), work(radix=4), work(payload="16 KiB", streams=2)
    passes = network("star", params={"n": 8}, in_network={"multicasts": True})
    plain = carriage(passes, range(8), kind, size).time_ns
    assert levels.time_ns == pytest.approx(min(free.time_ns + 2 * 500, plain))
    assert work(radix=8).time_ns == free.time_ns
    last = size / (2 * 16384) - 1
    limited = last * (way_ns + 16384 / 50) + 2 * 16384 / 50
    waits = max(0.0, limited - size / 50)
    assert waits > 0
    assert held.time_ns == pytest.approx(min(free.time_ns + waits, plain))
    if kind == ALL_REDUCE:  # which switches halve
        assert levels.by.endswith("1.0 us of it switches' limits")
    narrow = work(payload="1 KiB")
    assert narrow.time_ns == plain
    assert narrow.by.endswith("added up by NPUs, which is sooner")
    assert work(payload="1 MiB").time_ns == free.time_ns


def test_a_schedule_in_a_file_knows_no_limits_of_switches(tmp_path: Path) -> None:
    file = tmp_path / "star.yaml"
    head = "family: star\nparams: {n: 4}\nbandwidth: 1 GB/s\nlatency: 1 us\n"
    file.write_text(f"{head}in_network: {{reduces: true, radix: 2}}\n")
    with pytest.raises(ConfigError, match=r"in_network.radix: must be left out where a schedule"):
        read_fabric(file)
