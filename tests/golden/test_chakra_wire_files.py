"""Chakra's own files: what is in them, in which order its feeders hand it out, byte for byte.

Source: golden/chakra/wire, made with Chakra's Python writer and its C++ feeders v1 and v3.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from every_case import with_every
from trace_feeders import drain_v1, drain_v3

from simcore.errors import ConfigError
from simcore.formats.chakra import read_nodes, read_trace
from simcore.formats.chakra.encode import encode_metadata, encode_node
from simcore.formats.chakra.messages import Attribute, Node
from simcore.formats.chakra.stream import name_of, nodes_at
from simcore.formats.chakra.wire import encode_varint

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "golden" / "chakra" / "wire"
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="golden Chakra files are not here")

TYPES = [
    "INVALID",
    "METADATA",
    "MEM_LOAD",
    "MEM_STORE",
    "COMP",
    "COMM_SEND",
    "COMM_RECV",
    "COMM_COLL",
]
NOT_AS_WRITTEN = {"dag60_gz.et": "compressed", "wire_oddities.et": "unpacked lists"}


def index() -> dict[str, dict[str, Any]]:
    path = FOLDER / "index.json"
    return json.loads(path.read_text()) if path.is_file() else {}


WHOLE = [
    name
    for name, entry in index().items()
    if "parse_error" not in entry and name != "default_node_zero_bytes.et"
]


def plain_attribute(attribute: Attribute) -> dict[str, Any]:
    if not attribute.kind:
        return {"null": None}
    value: Any = attribute.value
    if attribute.kind.startswith("bytes"):
        items = [part.decode("latin-1") for part in value] if isinstance(value, tuple) else None
        value = value.decode("latin-1") if items is None else items
    elif isinstance(value, tuple):
        value = list(value)
    suffix = "" if attribute.kind.endswith("_list") else "_val"
    return {attribute.kind + suffix: value}


def plain(node: Node) -> dict[str, Any]:
    known = 0 <= node.type < len(TYPES)
    out: dict[str, Any] = {
        "id": node.id,
        "name": node.name,
        "type": f"{TYPES[node.type]}_NODE" if known else node.type,
        "ctrl_deps": list(node.ctrl_deps),
        "data_deps": list(node.data_deps),
        "start_time_micros": node.start_time_micros,
        "duration_micros": node.duration_micros,
        "attr": {attribute.name: plain_attribute(attribute) for attribute in node.attributes},
    }
    for which, info in (("inputs", node.inputs), ("outputs", node.outputs)):
        if info is not None:
            out[which] = {"values": info.values, "shapes": info.shapes, "types": info.types}
    always = ("id", "name", "type")
    return {key: value for key, value in out.items() if value or key in always}


@with_every("name", WHOLE)
def test_nodes_are_those_of_the_reference_reader(name: str) -> None:
    expected = json.loads((FOLDER / name.replace(".et", ".json")).read_text())
    metadata, nodes = read_nodes(FOLDER / name)
    assert metadata.version == expected["metadata"].get("version", "")
    assert [plain(node) for node in nodes] == expected["nodes"]


@with_every("name", WHOLE)
def test_arrays_agree_with_the_nodes(name: str) -> None:
    trace = read_trace(FOLDER / name)
    nodes = list(read_nodes(FOLDER / name)[1])
    assert trace.ids.tolist() == [node.id for node in nodes]
    assert trace.types.tolist() == [node.type for node in nodes]
    named = {node.id: node.name for node in reversed(nodes)}  # the first of that id
    for number in list(named)[-20:]:
        assert name_of(trace.path, number) == named[number]
    offsets = set(trace.table["offset"][::7].tolist())
    assert nodes_at(trace.path, offsets) == nodes[::7]
    assert trace.duration_micros.tolist() == [node.duration_micros for node in nodes]
    assert trace.data_deps.tolist() == [d for node in nodes for d in node.data_deps]
    assert trace.ctrl_deps.tolist() == [d for node in nodes for d in node.ctrl_deps]


@with_every("name", WHOLE)
def test_written_files_have_the_reference_writers_bytes(name: str) -> None:
    if name in NOT_AS_WRITTEN:
        pytest.skip(f"this file has {NOT_AS_WRITTEN[name]}")
    metadata, nodes = read_nodes(FOLDER / name)
    contents = [encode_metadata(metadata), *map(encode_node, nodes)]
    written = b"".join(encode_varint(len(content)) + content for content in contents)
    assert written == (FOLDER / name).read_bytes()


@with_every("name", [n for n, entry in index().items() if "parse_error" not in entry])
def test_feeder_v1_order_is_the_references(name: str) -> None:
    trace = read_trace(FOLDER / name, empty_nodes=True)
    assert drain_v1(trace) == index()[name]["order_v1"]


@with_every("name", [n for n, entry in index().items() if "parse_error" not in entry])
def test_feeder_v3_order_is_the_references_where_it_has_one(name: str) -> None:
    entry = index()[name]
    trace = read_trace(FOLDER / name, empty_nodes=True)
    if name == "dag60_gz.et":  # the reference cannot unpack
        plain_file = read_trace(FOLDER / "dag60.et")
        assert drain_v3(trace) == drain_v3(plain_file)
    elif entry["order_v3_end"] == "rc=0 ok" and name != "duplicate_id.et":
        assert drain_v3(trace) == entry["order_v3"]
    else:
        with pytest.raises(ConfigError):
            drain_v3(trace)


def test_a_file_cut_inside_a_message_names_file_and_offset() -> None:
    path = FOLDER / "truncated_mid_message.et"
    with pytest.raises(ConfigError, match=r"truncated_mid_message\.et byte 753: a message of 66"):
        read_trace(path)
    with pytest.raises(ConfigError, match=r"byte 753: a message of 66 .* but got '63 bytes'"):
        list(read_nodes(path)[1])


def test_an_empty_node_message_is_an_error_unless_asked_for() -> None:
    path = FOLDER / "default_node_zero_bytes.et"
    with pytest.raises(ConfigError, match="byte 17: a node must have content"):
        read_trace(path)
    assert read_trace(path, empty_nodes=True).ids.tolist() == [1, 0, 2]


def test_gzip_is_recognised_by_content(tmp_path: Path) -> None:
    packed = tmp_path / "w.0.et"
    packed.write_bytes(gzip.compress((FOLDER / "dag400.et").read_bytes()))
    assert read_trace(packed).ids.tolist() == read_trace(FOLDER / "dag400.et").ids.tolist()


@pytest.mark.parametrize("block_bytes", [16, 100, 1000])
def test_block_size_does_not_matter(block_bytes: int) -> None:
    path = FOLDER / "dag400_shuffled.et"
    whole, parts = (
        read_trace(path),
        read_trace(path, block_bytes=block_bytes),
    )
    assert (whole.table == parts.table).all()
    assert (whole.data_deps == parts.data_deps).all()
    assert (whole.data_start == parts.data_start).all()
