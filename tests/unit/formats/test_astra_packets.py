"""ASTRA-sim's files with packets for messages: times by hand, bytes that are counted, bad files."""

import json
from pathlib import Path
from typing import Any

import pytest

from simcore.cli.astra import run_astra
from simcore.errors import ConfigError
from simcore.formats.astra import run_batch
from simcore.formats.astra.options import AstraFiles
from simcore.formats.astra.packets import make_network, read_logical
from simcore.formats.chakra import Metadata, Node, attribute, write_trace

STAR = "3 1 2\n2\n0 2 100Gbps 1000ns 0\n1 2 100Gbps 0.001ms 0\n"
SETTINGS = """CC_MODE 12
HAS_WIN 0
TRACE_FILE none
KMIN_MAP 1 100000000000 400
KMAX_MAP 1 100000000000 1600
PMAX_MAP 1 100000000000 0.2
"""
ONE_BYTE_NS = 2 * (3 + 1000) + 2 * (4 + 1000)
"""37 bytes at 12.5 B/ns over two links, and an ACK of 48 back."""

Steps = list[tuple[int, int, int]]
"""Peer, bytes and tag of sends or receives, one after the other."""


def write_files(folder: Path, sends: Steps, receives: Steps) -> dict[str, str]:
    """NPU 0 sends to NPU 1; paths of the files as the keys of a manifest name them."""
    system = {"scheduling-policy": "LIFO", "collective-optimization": "baseline"}
    contents = {
        "system.json": json.dumps(system),
        "memory.json": json.dumps({"memory-type": "NO_MEMORY_EXPANSION"}),
        "network.json": json.dumps({"logical-dims": ["2"]}),
        "topology.txt": STAR,
        "config.txt": SETTINGS,
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    for npu, (kind, peer, steps) in enumerate(((5, "comm_dst", sends), (6, "comm_src", receives))):
        nodes = [
            Node(
                id=number,
                type=kind,
                data_deps=(number - 1,) if number > 1 else (),
                attributes=(
                    attribute(peer, other),
                    attribute("comm_size", size),
                    attribute("comm_tag", tag),
                ),
            )
            for number, (other, size, tag) in enumerate(steps, 1)
        ]
        write_trace(folder / f"w.{npu}.et", Metadata(version="0.0.4"), nodes)
    return {
        "workload": "w",
        "system": "system.json",
        "network": "network.json",
        "remote_memory": "memory.json",
        "physical_topology": "topology.txt",
        "packet_config": "config.txt",
    }


def simulate(folder: Path, sends: Steps, receives: Steps) -> dict[str, Any]:
    entry: dict[str, object] = {"id": "a", "backend": "packet"}
    entry |= write_files(folder, sends, receives)
    found: Any = run_batch([entry], folder, lambda name, status: None)["a"]["packet"]
    return dict(found)


def test_both_ends_learn_of_a_message_when_its_last_ack_has_come(tmp_path: Path) -> None:
    result = simulate(tmp_path, [(1, 1, 7)], [(0, 1, 7)])
    assert result["status"] == "ok", result["message"]
    assert result["finish_cycles"] == [ONE_BYTE_NS, ONE_BYTE_NS]
    assert result["flows"] == [[0, 1, 10000, 1, 0, ONE_BYTE_NS]]


def test_receives_take_bytes_of_however_many_messages(tmp_path: Path) -> None:
    split = simulate(tmp_path, [(1, 1000, 7)], [(0, 400, 7), (0, 600, 7)])
    gathered = simulate(tmp_path, [(1, 400, 7), (1, 600, 7)], [(0, 1000, 7)])
    assert split["status"] == gathered["status"] == "ok"
    assert gathered["finish_cycles"][0] == gathered["finish_cycles"][1]
    assert split["finish_cycles"][1] == split["finish_cycles"][0]


def test_a_receive_of_more_than_was_sent_says_what_came(tmp_path: Path) -> None:
    result = simulate(tmp_path, [(1, 400, 7)], [(0, 1000, 7)])
    assert result["status"] == "incomplete"
    assert "waits for 1000 bytes with tag 7 from NPU 0" in result["message"]


def test_a_flow_that_never_ends_is_named(tmp_path: Path) -> None:
    result = simulate(tmp_path, [(1, 0, 7)], [(0, 0, 7)])
    assert result["status"] == "incomplete"
    assert result["waiting"][0].startswith("The flow of 0 bytes from host 0 to host 1 never ends")


@pytest.mark.parametrize(
    ("file", "content", "sentence"),
    [
        ("topology.txt", "3 1 2\n2\n0 2 100Gbps 1000ns 0\n", "link 1: first end must be told"),
        ("topology.txt", STAR.replace("100Gbps", "fast"), "link 0: rate must be a rate above 0"),
        ("topology.txt", STAR + "1\n", "end: a word must not follow the last link"),
        ("topology.txt", "3 1 1\n2\n0 2 100Gbps 1000ns 0\n", "must have hosts with links as nodes"),
        ("topology.txt", STAR.replace("0\n1", "0.1\n1"), "link 0: error rate must be 0"),
        ("config.txt", "CC_MODE\n", "config.txt line 1: CC_MODE must have a value"),
        ("config.txt", "KMIN_MAP 2 100 5\n", "must be followed by 2 pairs"),
        ("config.txt", "BUFFER_SIZE none\n", "config.txt BUFFER_SIZE"),
        ("config.txt", "CC_MODE 12\n", "config.txt KMIN_MAP must have a value for links of"),
        ("network.json", '{"logical-dims": []}', "logical-dims must be a list"),
    ],
)
def test_a_bad_file_is_told_in_a_sentence(
    tmp_path: Path, file: str, content: str, sentence: str
) -> None:
    names = write_files(tmp_path, [(1, 1, 7)], [(0, 1, 7)])
    (tmp_path / file).write_text(content)
    paths = {key: tmp_path / name for key, name in names.items()}
    files = AstraFiles(comm_group=None, folder=tmp_path, **paths)
    with pytest.raises(ConfigError) as caught:
        make_network(files, read_logical(files), 1, fold=True)
    told = str(caught.value)
    assert told.startswith(str(tmp_path / file)), told
    assert sentence in told.replace(": must", " must"), told


def test_the_command_takes_the_files_of_packets(tmp_path: Path) -> None:
    names = write_files(tmp_path, [(1, 1, 7)], [(0, 1, 7)])
    keys = {
        "workload-configuration": "workload",
        "system-configuration": "system",
        "network-configuration": "network",
        "remote-memory-configuration": "remote_memory",
        "physical-topology-configuration": "physical_topology",
        "network-simulator-configuration": "packet_config",
    }
    words = [f"--{key}={tmp_path / names[name]}" for key, name in keys.items()]
    out = tmp_path / "out.json"
    assert run_astra([*words, "--backend=packet", f"--json={out}"]) == 0
    assert json.loads(out.read_text())["finish_cycles"] == [ONE_BYTE_NS, ONE_BYTE_NS]
    with pytest.raises(ConfigError, match="--physical-topology-configuration: must name a file"):
        run_astra([*words[:4], words[5], "--backend=packet"])


def command(folder: Path, **files: str) -> list[str]:
    """Words of a command on packets; *files*: further options, by name with ``_``."""
    given = {
        "workload_configuration": "w",
        "system_configuration": "system.json",
        "remote_memory_configuration": "memory.json",
        **files,
    }
    words = [f"--{key.replace('_', '-')}={folder / name}" for key, name in given.items()]
    return ["--backend=packet", *words, f"--json={folder / 'out.json'}"]


def test_options_of_the_reference_say_what_the_longer_ones_say(tmp_path: Path) -> None:
    write_files(tmp_path, [(1, 1, 7)], [(0, 1, 7)])
    with_topology = SETTINGS + "TOPOLOGY_FILE topology.txt\n"
    (tmp_path / "config.txt").write_text(with_topology)
    ways = (
        {"network_configuration": "config.txt", "logical_topology_configuration": "network.json"},
        {
            "network_configuration": "network.json",
            "network_simulator_configuration": "config.txt",
            "physical_topology_configuration": "topology.txt",
        },
    )
    for files in ways:
        assert run_astra(command(tmp_path, **files)) == 0
        found = json.loads((tmp_path / "out.json").read_text())
        assert found["finish_cycles"] == [ONE_BYTE_NS, ONE_BYTE_NS]


def test_traces_run_packet_by_packet_on_a_network_in_yaml(tmp_path: Path) -> None:
    write_files(tmp_path, [(1, 4096, 7)], [(0, 4096, 7)])
    lines = "topology: [ Ring ]", "npus_count: [ 2 ]", "bandwidth: [ 12.5 ]", "latency: [ 500.0 ]"
    (tmp_path / "network.yml").write_text("\n".join(lines) + "\n")
    assert run_astra(command(tmp_path, network_configuration="network.yml")) == 0
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["finish_cycles"][1] == 311 + 500  # 4096 bytes and 82 of headers at 12.5 GiB/s
