"""Reading traces into arrays: attributes, broken files, older schemas, dependencies."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trace_feeders import drain_v1, drain_v3

from simcore.errors import ConfigError
from simcore.formats.chakra import (
    Attribute,
    Metadata,
    Node,
    attribute,
    build_graph,
    read_nodes,
    read_trace,
    write_trace,
)
from simcore.formats.chakra.encode import encode_node
from simcore.formats.chakra.stream import name_of
from simcore.formats.chakra.trace import Trace
from simcore.formats.chakra.wire import encode_varint
from simcore.kernels.chakra.columns import NODE
from simcore.terms import CollectiveKind, NodeKind


def trace_of(folder: Path, *nodes: Node, **options: bool) -> Trace:
    path = folder / "w.0.et"
    write_trace(path, Metadata(version="0.0.4"), nodes)
    return read_trace(path, **options)


def names(trace: Trace) -> list[str]:
    return [name_of(trace.path, number) for number in trace.ids.tolist()]


def collective(**values: object) -> Node:
    found = tuple(attribute(name, value) for name, value in values.items())  # type: ignore[arg-type]
    return Node(id=1, type=7, attributes=found)


def framed(*contents: bytes) -> bytes:
    return b"".join(encode_varint(len(content)) + content for content in contents)


def test_attributes_stand_in_their_columns(tmp_path: Path) -> None:
    node = collective(
        is_cpu_op=True,
        num_ops=5,
        tensor_size=2**63 - 1,
        comm_type=7,
        comm_size=1 << 40,
        comm_src=3,
        comm_dst=4,
        comm_tag=5,
        comm_priority=6,
        pg_name="12",
        involved_dim=(True, False, True),
    )
    trace = trace_of(tmp_path, node)
    for name, value in (
        ("num_ops", 5),
        ("tensor_size", 2**63 - 1),
        ("comm_type", 7),
        ("comm_size", 1 << 40),
        ("comm_src", 3),
        ("comm_dst", 4),
        ("comm_tag", 5),
        ("comm_priority", 6),
        ("pg_name", 12),
        ("involved_dim", 0b101),
    ):
        assert trace.attribute(name).tolist() == [value]
        assert trace.has(name).all()
        assert not trace.unusable(name).any()
    assert trace.on_cpu.all()
    assert trace.involved_flags.tolist() == [3]
    assert not trace.has("inputs").any()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int32", -7),
        ("int64", -(2**63)),
        ("uint32", 2**32 - 1),
        ("uint64", 2**63 - 1),
        ("sint32", -9),
        ("sint64", -(2**62)),
        ("fixed32", 2**32 - 1),
        ("fixed64", 77),
        ("sfixed32", -77),
        ("sfixed64", -78),
        ("bool", True),
    ],
)
def test_every_integer_kind_is_read_as_a_number(tmp_path: Path, kind: str, value: int) -> None:
    tag = Attribute(name="comm_tag", kind=kind, value=value)
    trace = trace_of(tmp_path, Node(id=1, type=5, attributes=(tag,)))
    assert trace.attribute("comm_tag").tolist() == [int(value)]
    assert not trace.unusable("comm_tag").any()


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (Attribute(name="comm_size", kind="double", value=1.0), "comm_size must be an integer"),
        (Attribute(name="comm_size", kind="uint64", value=2**63), "comm_size must be an integer"),
        (Attribute(name="pg_name", kind="int32", value=1), "pg_name must be a text"),
        (Attribute(name="pg_name", kind="string", value="tp"), "pg_name must be a decimal number"),
        (Attribute(name="involved_dim", kind="int32_list", value=(1,)), "must be a bool list"),
    ],
)
def test_wrong_kinds_are_told_when_the_value_is_needed(
    tmp_path: Path, wrong: Attribute, rule: str
) -> None:
    trace = trace_of(tmp_path, Node(id=4, type=7, attributes=(wrong,)))
    with pytest.raises(ConfigError, match=rf"w\.0\.et node 4: .*{rule}"):
        trace.require(wrong.name, np.array([0]), what="a collective")


def test_an_absent_attribute_is_told_when_it_is_needed(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, Node(id=4, type=5))
    with pytest.raises(ConfigError, match="a send needs the attribute comm_tag, but got 'none'"):
        trace.require("comm_tag", np.array([0]), what="a send")


def test_a_message_longer_than_the_block_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.0.et"
    deps = tuple(range(2, 2000))
    write_trace(path, Metadata(), [Node(id=1, name="x" * 5000, type=4, data_deps=deps)])
    trace = read_trace(path, block_bytes=16)
    assert trace.data_deps.tolist() == list(deps)
    assert names(trace) == ["x" * 5000]


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"", "must hold a trace, but got 'an empty file'"),
        (b"\x05ab", "byte 1: a message of 5 bytes must follow"),
        (b"\x80", "must be a Chakra trace.*the file ends inside a length"),
        (b"\xff\xff\xff\xff\xff\x01", "beyond 32 bits"),
        (b"\x02\x0a\x09", "must be a Chakra trace"),
        (framed(b"") + b"\x80", r"byte 1: a length must follow \(the file is cut\)"),
        (framed(b"") + b"\x02\x0a\x09", "byte 2: must be a Chakra node, but got 'a broken"),
        (framed(b"") + b"\xff\xff\xff\xff\xff\x01", "byte 1: must be the length of a message"),
        (
            framed(encode_node(Node(id=1, type=4, attributes=(attribute("comm_tag", 1),)))),
            "without",
        ),
        (b"\x1f\x8b\x08\x00", "whole gzip data"),
    ],
    ids=[
        "empty",
        "cut metadata",
        "cut length",
        "long length",
        "broken metadata",
        "cut second length",
        "broken node",
        "long second length",
        "no metadata",
        "cut gzip",
    ],
)
def test_a_broken_file_gives_its_own_error(tmp_path: Path, content: bytes, rule: str) -> None:
    path = tmp_path / "w.0.et"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=rule):
        read_trace(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"w\.7\.et: must be a readable file"):
        read_trace(tmp_path / "w.7.et")


def test_an_all_default_node_is_never_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="readers stop at empty ones"):
        write_trace(tmp_path / "w.0.et", Metadata(), [Node(id=0)])


def test_schema_0_0_1_is_read(tmp_path: Path) -> None:
    def number(field: int, value: int) -> bytes:
        return encode_varint(field << 3) + encode_varint(value)

    compute = number(1, 10) + b"\x12\x01c" + number(3, 3) + number(7, 250) + number(12, 99)
    reduce = number(1, 11) + number(3, 6) + number(4, 10) + number(13, 1) + number(18, 4096)
    reduce += number(14, 1) + number(14, 0)
    gather = number(1, 12) + number(3, 6) + b"\x22\x02\x0a\x0b" + number(13, 3) + number(18, 8)
    path = tmp_path / "w.0.et"
    path.write_bytes(framed(compute, reduce, gather))
    trace = read_trace(path)
    assert trace.ids.tolist() == [10, 11, 12]
    assert trace.types.tolist() == [NodeKind.COMPUTE, NodeKind.COLLECTIVE, NodeKind.COLLECTIVE]
    assert names(trace) == ["c", "", ""]
    assert trace.duration_micros.tolist() == [250, 0, 0]
    assert trace.attribute("num_ops").tolist() == [99, 0, 0]
    assert trace.attribute("comm_type").tolist() == [
        0,
        CollectiveKind.ALL_REDUCE,
        CollectiveKind.ALL_GATHER,
    ]
    assert trace.attribute("comm_size").tolist() == [0, 4096, 8]
    assert trace.attribute("involved_dim").tolist() == [0, 1, 0]
    assert trace.involved_flags.tolist() == [0, 2, 0]
    assert drain_v3(trace) == [10, 11, 12]


def test_schemas_0_0_2_and_0_0_3_are_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "w.0.et"
    path.write_bytes(framed(b"\x08\x01\x2a\x01x"))  # inputs, a text, in field 5
    with pytest.raises(ConfigError, match=r"schema 0\.0\.2 or 0\.0\.3"):
        read_trace(path)
    with pytest.raises(ConfigError, match=r"schema 0\.0\.4 or later"):
        read_nodes(path)


def test_dependencies_are_linked_by_id_once_each(tmp_path: Path) -> None:
    trace = trace_of(
        tmp_path,
        Node(id=30, type=4, data_deps=(20, 10, 20), ctrl_deps=(10,)),
        Node(id=10, type=4),
        Node(id=20, type=4, ctrl_deps=(10,)),
    )
    graph = build_graph(trace)
    assert graph.ids.tolist() == [10, 20, 30]
    assert graph.rows.tolist() == [1, 2, 0]
    assert graph.dep_start.tolist() == [0, 0, 1, 3]
    assert graph.dep.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("nodes", "rule"),
    [
        ((Node(id=1, type=4, data_deps=(9,)),), "each data dependency .* but got 9"),
        ((Node(id=1, type=4, ctrl_deps=(9,)),), "each control dependency .* but got 9"),
        ((Node(id=1, type=4), Node(id=1, type=4)), "node 1: ids must be unique"),
        ((Node(id=1, type=4, data_deps=(1,)),), "some node must be free"),
        ((), "must hold nodes"),
    ],
    ids=["data", "control", "twice", "cycle", "none"],
)
def test_broken_graphs_are_refused(tmp_path: Path, nodes: tuple[Node, ...], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        drain_v3(trace_of(tmp_path, *nodes))


def plain_batches(parents: dict[int, set[int]]) -> list[int]:
    order: list[int] = []
    while free := sorted(n for n, p in parents.items() if n not in order and p <= set(order)):
        order.extend(free)
    return order


@settings(derandomize=True, deadline=None, max_examples=40)
@given(st.data())
def test_drain_orders_are_those_of_a_plain_loop(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=12, unique=True))
    parents = {
        node: data.draw(st.sets(st.sampled_from(ids[:i]))) if i else set()
        for i, node in enumerate(ids)
    }
    rows = data.draw(st.permutations(ids))
    starts = np.cumsum([0, *(len(parents[node]) for node in rows)])
    table = np.zeros(len(ids), NODE)
    table["id"] = np.array(rows, np.uint64).view(np.int64)
    trace = Trace(
        path=Path("made"),
        first_message=b"",
        table=table,
        data_start=starts,
        data_deps=np.array([p for node in rows for p in parents[node]], np.uint64),
        ctrl_start=np.zeros(len(ids) + 1, np.int64),
        ctrl_deps=np.empty(0, np.uint64),
    )
    assert drain_v3(trace) == plain_batches(parents)
    order: list[int] = []
    while free := [n for n, p in parents.items() if n not in order and p <= set(order)]:
        order.append(min(free))
    assert drain_v1(trace) == order


@settings(derandomize=True, deadline=None, max_examples=150)
@given(st.data())
def test_damaged_bytes_give_a_trace_or_a_config_error(data: st.DataObject) -> None:
    node = Node(
        id=7,
        name="n",
        type=7,
        data_deps=(3, 300),
        attributes=(attribute("pg_name", "12"), attribute("involved_dim", (True, False))),
    )
    content = bytearray(framed(b"\x0a\x010", encode_node(node), encode_node(Node(id=3, type=4))))
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "w.0.et"
        path.write_bytes(content)
        try:
            trace = read_trace(path, empty_nodes=True)
        except ConfigError:
            return
        assert len(names(trace)) == len(trace)
