"""PyTorch traces are linked and converted as by Chakra's tools, plus the order they leave out.

Source: golden/chakra/pytorch, made with Chakra's trace linker and converter.
"""

import gzip
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from trace_feeders import drain_v3

from simcore.cli.chakra import chakra
from simcore.errors import ConfigError
from simcore.formats.chakra import read_trace
from simcore.formats.pytorch.convert import convert_pytorch
from simcore.formats.pytorch.device import read_device_trace
from simcore.formats.pytorch.host import read_host_trace
from simcore.formats.pytorch.link import LinkedNode, link

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "chakra" / "pytorch"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="golden PyTorch traces are not here")

PAIRS = [path.name.removesuffix(".device.json.gz") for path in FOLDER.glob("*.device.json.gz")]
HOST_ONLY = [
    path.name.removesuffix(".converted.json.gz")
    for path in FOLDER.glob("hostonly/*.converted.json.gz")
]
KINDS = ["INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV"]


def load(name: str) -> Any:
    with gzip.open(FOLDER / name) as stream:
        return json.load(stream)


def linked(name: str) -> tuple[LinkedNode, ...]:
    host = read_host_trace(FOLDER / f"{name}.host.json.gz")
    return link(host, read_device_trace(FOLDER / f"{name}.device.json.gz"))


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_linking_gives_the_references_nodes(name: str) -> None:
    expected = load(f"{name}.etplus.json.gz")["nodes"]
    mine = linked(name)
    assert len(mine) == len(expected)
    for item, node in zip(mine, expected, strict=True):
        assert (item.node.id, item.node.name, item.node.caller) == (
            node["id"],
            node["name"],
            node["ctrl_deps"],
        )
        assert item.inclusive_us == node.get("inclusive_dur")
        assert item.exclusive_us == node.get("exclusive_dur")
        assert item.start_us == node.get("ts")
        assert item.after_other_thread == node.get("inter_thread_dep")
        assert (item.kernel.stream if item.kernel else None) == node.get("stream")
        assert (item.kernel.group if item.kernel else "") == node.get("pg_name", "")


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_every_synchronisation_that_the_reference_found_is_found(name: str) -> None:
    for item, node in zip(linked(name), load(f"{name}.etplus.json.gz")["nodes"], strict=True):
        assert set(node.get("sync_dep") or ()) <= set(item.after_kernels)


@pytest.mark.parametrize("name", sorted(PAIRS))
def test_conversion_keeps_the_references_nodes_and_adds_order_only(name: str) -> None:
    host = read_host_trace(FOLDER / f"{name}.host.json.gz")
    device = read_device_trace(FOLDER / f"{name}.device.json.gz")
    nodes = {node.id: node for node in convert_pytorch(host, device).nodes}
    expected = load(f"{name}.converted.json.gz")["nodes"]
    assert sorted(nodes) == sorted(node["id"] for node in expected)
    for reference in expected:
        node = nodes[reference["id"]]
        assert [*KINDS, "COMM_COLL"][node.type] + "_NODE" == reference["type"]
        assert node.duration_micros == reference.get("duration_micros", 0)
        assert set(reference.get("data_deps", [])) <= set(node.data_deps)
        assert node.inputs is not None
        assert node.inputs.values == reference["inputs"]["values"]
        attributes = {item.name: {f"{item.kind}_val": item.value} for item in node.attributes}
        assert attributes == reference["attr"]


@pytest.mark.parametrize("name", sorted(HOST_ONLY))
def test_host_traces_alone_have_the_references_data_dependencies(name: str) -> None:
    nodes = {
        node.id: node
        for node in convert_pytorch(read_host_trace(FOLDER / f"hostonly/{name}.host.json.gz")).nodes
    }
    expected = load(f"hostonly/{name}.converted.json.gz")["nodes"]
    assert len(nodes) == len(expected)
    for entry in expected:
        as_dict = isinstance(entry, dict)
        number = entry["id"] if as_dict else entry[0]
        deps = entry.get("data_deps", []) if as_dict else entry[3]
        assert sorted(nodes[number].data_deps) == sorted(deps)


@pytest.mark.parametrize("name", ["linear_et", "dlrm_eg_0"])
def test_older_schemas_are_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=r"must be 1\.0\.2 or later, but got '1\.0\.1'"):
        read_host_trace(FOLDER / f"hostonly/{name}.host.json.gz")


def test_kernels_of_a_stream_wait_for_each_other() -> None:
    host = read_host_trace(FOLDER / "ddp1t.host.json.gz")
    device = read_device_trace(FOLDER / "ddp1t.device.json.gz")
    kernels = [
        node
        for node in convert_pytorch(host, device).nodes
        if any(a.name == "stream" and a.value == 7 for a in node.attributes)
    ]
    for before, after in pairwise(kernels):
        assert before.id in after.data_deps


def test_the_command_writes_a_trace_that_can_be_drained(tmp_path: Path) -> None:
    arguments = [
        *("convert", "pytorch", str(FOLDER / "mixed.host.json.gz")),
        *("--device", str(FOLDER / "mixed.device.json.gz"), "--out", str(tmp_path / "w.0.et")),
    ]
    done = CliRunner().invoke(chakra, arguments, catch_exceptions=False)
    assert "84 nodes" in done.stdout
    assert "Note: 2 sends and receives have no peer" in done.stderr
    assert len(drain_v3(read_trace(tmp_path / "w.0.et"))) == 84
