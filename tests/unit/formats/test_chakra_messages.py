"""Single messages: what is encoded comes back, and equals what protobuf itself writes."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import ConfigError
from simcore.formats.chakra import Attribute, IoInfo, Metadata, Node, attribute
from simcore.formats.chakra.encode import (
    encode_attribute,
    encode_metadata,
    encode_node,
    node_template,
)
from simcore.formats.chakra.messages import ATTRIBUTE_KINDS, SCALAR_KINDS
from simcore.formats.chakra.wire import (
    WireError,
    decode_attribute,
    decode_metadata,
    decode_node,
    decode_varint,
    encode_varint,
)

PROTO = Path(__file__).resolve().parents[3] / "simcore" / "formats" / "chakra"

U64 = st.integers(0, 2**64 - 1)
VALUES: dict[str, st.SearchStrategy[object]] = {
    "double": st.floats(allow_nan=False),
    "float": st.floats(allow_nan=False, width=32),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint32": st.integers(0, 2**32 - 1),
    "uint64": U64,
    "sint32": st.integers(-(2**31), 2**31 - 1),
    "sint64": st.integers(-(2**63), 2**63 - 1),
    "fixed32": st.integers(0, 2**32 - 1),
    "fixed64": U64,
    "sfixed32": st.integers(-(2**31), 2**31 - 1),
    "sfixed64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "string": st.text(max_size=5),
    "bytes": st.binary(max_size=5),
}


@st.composite
def attributes(draw: st.DrawFn) -> Attribute:
    kind = draw(st.sampled_from(SCALAR_KINDS))
    name, doc = draw(st.text(max_size=4)), draw(st.text(max_size=2))
    if draw(st.booleans()):
        values = draw(st.lists(VALUES[kind], max_size=4).map(tuple))
        return Attribute(name=name, doc=doc, kind=f"{kind}_list", value=values)  # type: ignore[arg-type]
    return Attribute(name=name, doc=doc, kind=kind, value=draw(VALUES[kind]))  # type: ignore[arg-type]


ids = st.lists(U64, max_size=4).map(tuple)
texts = st.text(max_size=4)
io_infos = st.none() | st.builds(IoInfo, values=texts, shapes=texts, types=texts)
nodes = st.builds(
    Node,
    id=U64,
    name=texts,
    type=st.integers(-(2**31), 2**31 - 1),
    ctrl_deps=ids,
    data_deps=ids,
    start_time_micros=U64,
    duration_micros=U64,
    inputs=io_infos,
    outputs=io_infos,
    attributes=st.lists(attributes(), max_size=3).map(tuple),
)


@settings(derandomize=True, deadline=None)
@given(nodes)
def test_a_node_comes_back_as_it_was(node: Node) -> None:
    assert decode_node(encode_node(node)) == node


@pytest.fixture(scope="module")
def protobuf(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The classes that protobuf's own compiler makes of our schema."""
    protoc = pytest.importorskip("grpc_tools.protoc")
    out = tmp_path_factory.mktemp("proto")
    arguments = ["protoc", f"-I{PROTO}", f"--python_out={out}", "chakra_trace.proto"]
    assert protoc.main(arguments) == 0
    spec = importlib.util.spec_from_file_location("chakra_trace_pb2", out / "chakra_trace_pb2.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["chakra_trace_pb2"] = module
    spec.loader.exec_module(module)
    return module


def test_protobuf_reads_and_writes_the_same_bytes(protobuf: ModuleType) -> None:
    @settings(derandomize=True, deadline=None)
    @given(nodes)
    def check(node: Node) -> None:
        ours = encode_node(node)
        theirs = protobuf.Node.FromString(ours)
        assert theirs.id == node.id
        assert theirs.SerializeToString() == ours

    check()


def test_unknown_fields_and_types_survive() -> None:
    unknown = bytes.fromhex("98 06 2a a2 06 03 61 62 63")  # fields 99 and 100 of a newer schema
    node = decode_node(encode_node(Node(id=3, type=9)) + unknown)
    assert (node.type, node.unknown) == (9, unknown)
    assert encode_node(node).endswith(unknown)
    metadata = decode_metadata(encode_metadata(Metadata(version="2")) + unknown)
    assert encode_metadata(metadata).endswith(unknown)


def test_a_false_bool_is_written() -> None:
    content = encode_attribute(attribute("is_cpu_op", False))
    assert content.endswith(bytes.fromhex("d8 01 00"))
    assert decode_attribute(content).value is False


def test_the_last_value_of_an_attribute_wins() -> None:
    twice = encode_attribute(attribute("comm_size", 1)) + encode_attribute(
        attribute("pg_name", "7")
    )
    assert decode_attribute(twice) == Attribute(name="pg_name", kind="string", value="7")


@pytest.mark.parametrize("name", sorted(ATTRIBUTE_KINDS))
def test_each_named_attribute_has_a_known_kind(name: str) -> None:
    assert ATTRIBUTE_KINDS[name].removesuffix("_list") in SCALAR_KINDS


@pytest.mark.parametrize(
    "wrong",
    [
        Attribute(name="a", kind="int31", value=1),
        Attribute(name="a", kind="sfixed32", value=2**40),
        Attribute(name="a", kind="double", value="x"),
        Attribute(name="a", kind="int64_list", value=3),
        Attribute(name="a", kind="int64", value=None),
    ],
    ids=lambda item: item.kind,
)
def test_a_value_that_does_not_fit_its_kind_is_refused(wrong: Attribute) -> None:
    with pytest.raises(ConfigError, match="attribute a"):
        encode_attribute(wrong)


@pytest.mark.parametrize("content", ["ff", "0a 05 61", "09 00", "0b", "02 01"], ids=str)
def test_broken_bytes_are_refused(content: str) -> None:
    with pytest.raises(WireError):
        decode_node(bytes.fromhex(content))


@settings(derandomize=True, deadline=None)
@given(U64)
def test_varints_come_back(value: int) -> None:
    assert decode_varint(encode_varint(value), 0) == (value, len(encode_varint(value)))


@settings(derandomize=True, deadline=None)
@given(st.integers(0, 2**40), st.integers(0, 2**40))
def test_a_template_is_the_node_with_shifted_ids(base: int, shift: int) -> None:
    def node(first: int) -> Node:
        return Node(id=first + 3, name="n", type=4, data_deps=(first,), duration_micros=5)

    assert node_template(node(base), base).encode(shift) == encode_node(node(shift))
