"""Ranks of traces that run on other NPUs: by arithmetic, and as they were where they stay."""

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.cli.astra import run_astra
from simcore.errors import ConfigError
from simcore.formats.chakra import Metadata, Node, attribute, write_trace

SIZE = 50 << 23
LASTS_NS = 7_812_500  # a 128th of what ASTRA-sim's 50 GB/s carry in a second, 50 x 2^30 bytes
STAY, ROW = "[0, 1, 2, 3]", "[0, 2, 1, 3]"
MEETING = ("flow", "congestion_aware", "congestion_aware_multidim", "packet")


def node(number: int, kind: int, **attributes: Any) -> Node:
    told = tuple(attribute(name, value) for name, value in attributes.items())
    return Node(id=number, type=kind, attributes=told)


def run_of(folder: Path, *, collective: bool) -> list[str]:
    """Four NPUs on a ring: NPU 0 sends NPU 2 a message over one of the others."""
    (folder / "network.yml").write_text(
        "topology: [Ring]\nnpus_count: [4]\nbandwidth: [50]\nlatency: [500]\n"
    )
    system: dict[str, object] = {"scheduling-policy": "LIFO", "all-reduce-implementation": ["ring"]}
    system |= {"preferred-dataset-splits": 2}
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    pair = {"comm_src": 0, "comm_dst": 2, "comm_size": SIZE, "comm_tag": 1}
    for npu in range(4):
        nodes = [node(1, 7, comm_type=0, comm_size=SIZE)] if collective else []
        if npu in (0, 2):
            nodes.append(node(2, 5 if npu == 0 else 6, **pair))
        if not nodes or npu in (1, 3):
            nodes.append(Node(id=3, type=4, duration_micros=1))
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), nodes)
    return [
        f"--workload-configuration={folder / 'w'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'memory.json'}",
        f"--json={folder / 'out.json'}",
    ]


def finish(run: list[str], *options: str) -> list[int]:
    assert run_astra([*run, *options]) == 0
    out = Path(run[4].partition("=")[2])
    return list(json.loads(out.read_text())["finish_cycles"])


@pytest.mark.parametrize(
    ("backend", "hop_ns", "sent_ns"),
    [("flow", 500, 0), ("congestion_aware_multidim", 500, LASTS_NS)],
)
def test_a_message_takes_the_way_between_the_npus_of_its_ranks(
    tmp_path: Path, backend: str, hop_ns: int, sent_ns: int
) -> None:
    run = [*run_of(tmp_path, collective=False), f"--backend={backend}"]
    one_ns = 500 + LASTS_NS
    two_ns = one_ns + hop_ns + sent_ns  # a second link; whole messages are stored between two
    assert finish(run)[2] == two_ns
    assert finish(run, f"--placement={ROW}")[2] == one_ns
    assert finish(run, "--placement=greedy")[2] == one_ns
    (tmp_path / "ranks.json").write_text(json.dumps({"npus": [1, 3, 2, 0]}))
    assert finish(run, f"--placement={tmp_path / 'ranks.json'}")[2] == one_ns


@pytest.mark.parametrize("backend", MEETING)
def test_ranks_that_stay_take_as_long_as_without_a_placement(tmp_path: Path, backend: str) -> None:
    run = run_of(tmp_path, collective=True)
    plain = finish(run, f"--backend={backend}")
    assert finish(run, f"--backend={backend}", f"--placement={STAY}") == plain
    # a rank map that turns the ring around moves every message to a like way
    assert finish(run, f"--backend={backend}", "--placement=[2, 3, 0, 1]") == plain


def test_a_speed_is_that_of_the_npu_on_which_a_rank_runs(tmp_path: Path) -> None:
    run = run_of(tmp_path, collective=False)
    options = ("--backend=flow", "--npu-scale=3:0.5")
    assert [finish(run, *options)[npu] for npu in (1, 3)] == [1000, 2000]
    moved = finish(run, *options, "--placement=[0, 3, 2, 1]")
    assert [moved[npu] for npu in (1, 3)] == [2000, 1000]


def test_where_messages_do_not_meet_ranks_stay_and_a_note_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(tmp_path, collective=True)
    assert finish(run, "--placement=greedy") == finish(run)
    assert "Note: --placement: greedy is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("gredy", r"--placement: rule: placement must be one of .*did you mean 'greedy'"),
        ("[0, 1, 2]", "--placement: must give each of 4 ranks an NPU of its own"),
        ("[0, 1, 2, 4]", "--placement: must give each of 4 ranks an NPU of its own"),
        ("{rule: greedy, options: {trys: 2}}", "--placement: options"),
        ("[0, 1", "--placement: "),
        ("gone.json", "gone.json"),
        ("", "--placement: must name a placement, a list or a file"),
    ],
)
def test_placements_that_break_a_rule_are_refused_in_one_sentence(
    tmp_path: Path, told: str, rule: str
) -> None:
    with pytest.raises(ConfigError, match=rule):
        run_astra([*run_of(tmp_path, collective=True), "--backend=flow", f"--placement={told}"])
