"""The log of a run: the lines, loggers, levels and files of ASTRA-sim."""

import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from simcore.cli.astra import run_astra
from simcore.errors import ConfigError
from simcore.formats.astra import write_log
from simcore.formats.astra.log.logged import LogLine
from simcore.formats.chakra import Metadata, Node, attribute, write_trace
from simcore.terms import CollectiveKind, NodeKind

SYSTEM = {
    "scheduling-policy": "LIFO",
    "endpoint-delay": 10,
    "active-chunks-per-dimension": 1,
    "preferred-dataset-splits": 4,
    "all-reduce-implementation": ["ring"],
    "all-gather-implementation": ["ring"],
    "reduce-scatter-implementation": ["ring"],
    "all-to-all-implementation": ["ring"],
    "collective-optimization": "localBWAware",
    "local-mem-bw": 50,
    "boost-mode": 0,
}
RING = "system::topology::RingTopology"


def collective(number: int, size: int, after: Sequence[int] = (), group: str = "") -> Node:
    attributes = [
        attribute("comm_type", int(CollectiveKind.ALL_REDUCE)),
        attribute("comm_size", size),
    ]
    if group:
        attributes.append(attribute("pg_name", group))
    return Node(
        id=number,
        name=f"sum {number}",
        type=int(NodeKind.COLLECTIVE),
        data_deps=tuple(after),
        attributes=tuple(attributes),
    )


def compute(number: int, micros: int, after: Sequence[int] = ()) -> Node:
    return Node(
        id=number,
        name=f"work {number}",
        type=int(NodeKind.COMPUTE),
        duration_micros=micros,
        data_deps=tuple(after),
    )


def run(
    folder: Path,
    nodes_of_npu: Sequence[Sequence[Node]],
    *words: str,
    system: Mapping[str, object] | None = None,
    groups: Mapping[str, Sequence[int]] | None = None,
) -> int:
    (folder / "system.json").write_text(json.dumps(SYSTEM | dict(system or {})))
    npus = len(nodes_of_npu)
    network = f"topology: [Ring]\nnpus_count: [{npus}]\nbandwidth: [50.0]\nlatency: [500.0]\n"
    (folder / "network.yml").write_text(network)
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    for npu, nodes in enumerate(nodes_of_npu):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), nodes)
    if groups is not None:
        (folder / "groups.json").write_text(json.dumps(groups))
        words = (*words, f"--comm-group-configuration={folder / 'groups.json'}")
    return run_astra(
        [
            f"--workload-configuration={folder / 'w'}",
            f"--system-configuration={folder / 'system.json'}",
            f"--network-configuration={folder / 'network.yml'}",
            f"--remote-memory-configuration={folder / 'memory.json'}",
            "--log-style=astra",
            f"--logging-folder={folder / 'log'}",
            *words,
        ]
    )


def cleaned(text: str) -> list[str]:
    """Lines without the three bracketed words, cut off as ASTRA-sim's own regression test does."""
    for _ in range(3):
        text = re.sub(r"^(.*?)\[[^]]+\] ", r"\1", text, flags=re.MULTILINE)
    return text.splitlines()


def test_the_log_is_that_of_the_regression_test_of_astra_sim(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [[collective(1, 1_048_576)]] * 8, "--backend=congestion_aware") == 0
    ring = (
        "ring of node 0, id: 0 dimension: local total nodes in ring: 8 index in ring: 0 offset: 1 "
        "total nodes in ring: 8"
    )
    expected = [ring] * 4
    for npu in range(8):
        expected += [
            f"sys[{npu}] finished, 117780 cycles, exposed communication 117780 cycles.",
            f"sys[{npu}]. Post statistics processing start.",
            f"sys[{npu}]. Post statistics processing end.",
            f"sys[{npu}], Wall time: 117780",
            f"sys[{npu}], Comm time: 117780",
        ]
    out = capsys.readouterr().out
    assert cleaned(out) == [*expected, "Exiting"]
    stamp = r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}\]"
    assert re.match(rf"{stamp} \[{RING}\] \[info\] ring of", out)
    assert re.search(rf"{stamp} \[system\] \[warning\] Exiting\n$", out)
    assert (tmp_path / "log" / "log.log").read_text() == out
    assert (tmp_path / "log" / "err.log").read_text() == ""


def test_members_of_a_group_tell_their_ring_when_they_first_use_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [compute(1, 3), collective(2, 4096, [1], "7"), collective(3, 4096, [2], "7")]
    traces = [nodes if npu in (3, 1) else [compute(1, 1)] for npu in range(4)]
    assert run(tmp_path, traces, groups={"7": [3, 1]}) == 0
    told = cleaned(capsys.readouterr().out)
    rings = [line for line in told if line.startswith("custom ring")]
    text = "dimension: local total nodes in ring: 2 index in ring: {} total nodes in ring 2"
    assert rings == [
        f"custom ring, id: {npu}, {text.format(place)}" for npu, place in ((1, 1), (3, 0))
    ]
    places = [told.index(line) for line in (rings[0], "sys[0], Wall time: 1000")]
    assert places == sorted(places, reverse=True)


def test_types_come_in_the_order_of_the_hash_map_of_the_nodes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # up to 13 nodes the last one issued is met first
    assert run(tmp_path, [[compute(1, 1), collective(2, 4096, [1])]] * 2) == 0
    told = [line for line in cleaned(capsys.readouterr().out) if line.startswith("sys[0], ")]
    assert [line.split()[1] for line in told[:3]] == ["Wall", "Comm", "GPU"]


def test_nodes_that_never_end_are_critical(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, [[collective(5, 4096)], [compute(1, 1)]]) == 1
    critical = [
        "[HardwareResource] [critical] !!!Hardware Resource sys.id=0 has unreleased nodes!!!",
        "[HardwareResource] [critical] GPU comm node id: 5",
    ]
    lines = (tmp_path / "log" / "err.log").read_text().splitlines()
    assert [line.split("] ", 1)[1] for line in lines] == critical
    out = capsys.readouterr().out
    assert all(line in out for line in critical)


def test_traced_nodes_go_to_the_file_only(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [compute(1, 2), collective(2, 4096, [1])]
    assert run(tmp_path, [nodes] * 2, system={"trace-enabled": 1}) == 0
    out = capsys.readouterr().out
    assert "issue," not in out
    log = (tmp_path / "log" / "log.log").read_text()
    issue = "issue,sys->id=1, tick=2000, node->id=2, node->name=sum 2, node->type=7"
    assert f"[workload] [debug] {issue}\n" in log
    callback = "callback,sys->id=1, tick=2000, node->id=1, node->name=work 1, node->type=4"
    assert log.index(callback) < log.index(issue)


def test_log_files_are_appended_to_and_make_room(tmp_path: Path) -> None:
    folder, stream = tmp_path / "log", io.StringIO()
    long = LogLine("a", "info", "x" * 3_000_000)
    for _ in range(2):
        write_log([long, long, long], stream, folder)
    sizes = {path.name: path.stat().st_size for path in folder.iterdir()}
    line = len(stream.getvalue()) // 6
    assert sizes == {"log.1.log": 3 * line, "log.log": 3 * line, "err.log": 0}


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--logging-folder: must be a folder in one that exists"):
        write_log([], io.StringIO(), tmp_path / "a" / "b")


def test_an_unknown_style_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"--log-style: must be one of plain, astra"):
        run(tmp_path, [[compute(1, 1)]] * 2, "--log-style=astro")


def test_messages_of_0_bytes_are_remarked_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ends = (attribute("comm_size", 0), attribute("comm_tag", 1))
    send = Node(
        id=1, name="s", type=int(NodeKind.SEND), attributes=(*ends, attribute("comm_dst", 1))
    )
    receive = Node(
        id=1, name="r", type=int(NodeKind.RECV), attributes=(*ends, attribute("comm_src", 0))
    )
    assert run(tmp_path, [[send], [receive]]) == 0
    captured = capsys.readouterr()
    assert "sys[1] finished, 500 cycles" in captured.out
    assert captured.err.count("Messages of 0 bytes were sent") == 1
    assert run(tmp_path, [[collective(1, 4096)]] * 2) == 0
    assert "0 bytes" not in capsys.readouterr().err
