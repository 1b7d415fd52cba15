"""Statistics, memory tracking and the commands, on runs small enough to check by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from simcore.cli.astra import EXIT_UNFINISHED
from simcore.cli.astra_batch import astra, astra_batch
from simcore.errors import ConfigError
from simcore.formats.astra.log.memory_use import format_bytes, track_memory
from simcore.formats.chakra import Metadata, Node, attribute, write_trace


def tensor_node(number: int, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Node:
    found = (attribute("inputs", inputs), attribute("outputs", outputs))
    return Node(id=number, type=4, attributes=found)


def track(*nodes: Node) -> list[tuple[int, int]]:
    start = np.arange(len(nodes), dtype=np.int64) * 10
    return list(track_memory(nodes, start, start + 10, place="w.0.et").timeline)


def test_a_tensor_lives_from_its_write_to_its_last_read() -> None:
    timeline = track(
        tensor_node(0, (), ("a", "100")),
        tensor_node(1, ("a", "100"), ("b", "7.0", "empty", "0")),
        tensor_node(2, ("a", "100"), ()),
    )
    assert timeline == [(0, 100), (10, 107), (30, 7)]


def test_a_tensor_read_before_any_write_is_there_from_the_start() -> None:
    assert track(tensor_node(0, (), ()), tensor_node(1, ("w", "5"), ())) == [(0, 5), (20, 0)]


@pytest.mark.parametrize(
    ("nodes", "rule"),
    [
        ((Node(id=3, type=4),), "node 3: track-local-mem needs the attribute inputs"),
        ((tensor_node(3, ("a",), ()),), "inputs must list names and sizes in turn"),
        ((tensor_node(3, ("a", "big"), ()),), "inputs must list names and sizes in turn"),
        (
            (tensor_node(3, (), ("a", "1")), tensor_node(4, (), ("a", "1"))),
            "node 4: a tensor must be written once",
        ),
    ],
)
def test_mistakes_in_tensor_lists_are_named(nodes: tuple[Node, ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        track(*nodes)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0.00 B"), (1023, "1023.00 B"), (1536, "1.50 KB"), (3 << 40, "3.00 TB")],
)
def test_memory_is_shown_in_units_of_1024(size: int, text: str) -> None:
    assert format_bytes(size) == text


def write_run(folder: Path, npus: int = 2, traces: int = 2) -> list[str]:
    """A run with one compute node per NPU; the command's arguments."""
    (folder / "network.yml").write_text(
        f"topology: [Ring]\nnpus_count: [{npus}]\nbandwidth: [50]\nlatency: [500]\n"
    )
    system = {
        "scheduling-policy": "LIFO",
        "collective-optimization": "baseline",
        "track-local-mem": 1,
        "local-mem-trace-filename": str(folder / "mem"),
        "trace-enabled": 1,
    }
    (folder / "system.json").write_text(json.dumps(system))
    (folder / "memory.json").write_text('{"memory-type": "NO_MEMORY_EXPANSION"}')
    node = Node(
        id=5,
        name="matmul",
        type=4,
        duration_micros=3,
        attributes=tensor_node(0, ("w", "2048"), ("y", "4096")).attributes,
    )
    for npu in range(traces):
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), [node])
    return [
        f"--workload-configuration={folder / 'w'}",
        f"--system-configuration={folder / 'system.json'}",
        f"--network-configuration={folder / 'network.yml'}",
        f"--remote-memory-configuration={folder / 'memory.json'}",
    ]


def test_the_command_prints_astra_sims_lines(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    arguments = [
        *write_run(tmp_path),
        "--json",
        str(out),
        "--logging-folder=log",
        "--comm-scale",
        "1",
    ]
    done = CliRunner().invoke(astra, arguments, catch_exceptions=False)
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:4] == [
        "sys[0] finished, 3000 cycles, exposed communication 0 cycles.",
        "sys[0], Wall time: 3000",
        "sys[0], GPU time: 3000",
        "sys[0] peak memory usage: 6.00 KB",
    ]
    result = json.loads(out.read_text())
    assert (result["status"], result["finish_cycles"]) == ("ok", [3000, 3000])
    assert result["node_times"] == {"0": [[5, 0, 3000]], "1": [[5, 0, 3000]]}
    events = json.loads((tmp_path / "mem.1.json").read_text())["traceEvents"]
    assert {event["pid"] for event in events} == {1, 1_000_001, 2_000_001, 3_000_001}


def test_alike_npus_are_simulated_once_unless_told_otherwise(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    told = []
    for option, classes in ((), 1), (("--no-folding",), 3):
        arguments = [*write_run(tmp_path, npus=3, traces=3), "--json", str(out), *option]
        done = CliRunner().invoke(astra, arguments, catch_exceptions=False)
        result = json.loads(out.read_text())
        assert result.pop("classes") == classes
        told.append((done.stdout, result))
    assert told[0] == told[1]


def test_npus_of_unlike_speed_compute_for_as_long_over_it(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    run = write_run(tmp_path, npus=4, traces=4)
    arguments = [*run, "--json", str(out), "--npu-scale=0:2,2-3:0.75"]
    done = CliRunner().invoke(astra, arguments, catch_exceptions=False)
    assert json.loads(out.read_text())["finish_cycles"] == [1500, 3000, 4000, 4000]
    assert "sys[0], GPU time: 1500" in done.stdout
    slow = CliRunner().invoke(astra, [*run, "--json", str(out)], catch_exceptions=False)
    assert slow.exit_code == 0
    assert json.loads(out.read_text())["finish_cycles"] == [3000] * 4


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("3", "must list NPUs with their speeds, such as 3:0.8"),
        ("1:0", "speeds must be from 1e-06"),
        ("2-1:3", "a range must not end before it begins"),
        ("0-4:3", "must name NPUs, 0 to 1"),
        ("0:1e-6,", "must list NPUs"),
    ],
)
def test_speeds_that_break_a_rule_are_refused_in_one_sentence(
    tmp_path: Path, told: str, rule: str
) -> None:
    arguments = [*write_run(tmp_path), f"--npu-scale={told}"]
    with pytest.raises(ConfigError, match=rule):
        CliRunner().invoke(astra, arguments, catch_exceptions=False)


def test_the_command_says_who_never_finished(tmp_path: Path) -> None:
    arguments = write_run(tmp_path)
    (tmp_path / "system.json").write_text('{"scheduling-policy": "LIFO"}')
    found = {"comm_src": 0, "comm_dst": 1, "comm_size": 8, "comm_tag": 1}
    receive = Node(
        id=1, type=6, attributes=tuple(attribute(name, value) for name, value in found.items())
    )
    write_trace(tmp_path / "w.1.et", Metadata(), [receive])
    done = CliRunner().invoke(astra, [*arguments, "--colour=red"])
    assert done.exit_code == EXIT_UNFINISHED
    assert "sys[0] finished" in done.stdout
    assert "sys[1]" not in done.stdout
    assert "Note: the option --colour is ignored." in done.stderr
    assert "Warning: NPU 1 node 1" in done.stderr


def test_the_batch_isolates_its_runs(tmp_path: Path) -> None:
    write_run(tmp_path)
    bad = tmp_path / "bad"
    bad.mkdir()
    write_run(bad, traces=1)

    def entry(name: str, folder: str, **more: object) -> dict[str, object]:
        return {
            "id": name,
            "backend": "congestion_unaware",
            "cwd": folder,
            "workload": f"{folder}/w",
            "system": f"{folder}/system.json",
            "network": f"{folder}/network.yml",
            "remote_memory": f"{folder}/memory.json",
            "comm_group": None,
            "options": {},
        } | more

    entries = [
        entry("bad", "bad"),
        entry("no such backend", ".", backend="ns3"),
        entry("wrong", ".", workload=3),
        entry("good", "."),
    ]
    (tmp_path / "manifest.json").write_text(json.dumps(entries))
    out = tmp_path / "results.json"
    done = CliRunner().invoke(
        astra_batch, [str(tmp_path / "manifest.json"), "--out", str(out)], catch_exceptions=False
    )
    assert "4 runs: 3 error, 1 ok" in done.output
    results = json.loads(out.read_text())
    assert results["good"]["congestion_unaware"]["finish_cycles"] == [3000, 3000]
    assert "NPU 1 has none" in results["bad"]["congestion_unaware"]["message"]
    assert "must be one of congestion_unaware" in results["no such backend"]["ns3"]["message"]
    assert "manifest[2].workload" in results["wrong"]["congestion_unaware"]["message"]
