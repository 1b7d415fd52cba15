"""Encodes Chakra messages; the bytes equal those of protobuf's own writers."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, Self

from simcore.errors import ConfigError
from simcore.formats.chakra.messages import Attribute, IoInfo, Metadata, Node, Scalar
from simcore.formats.chakra.wire import (
    FIELD_OF_KIND,
    FIXED32,
    FIXED64,
    FIXED_FORMATS,
    LENGTH,
    VARINT,
    encode_varint,
    wire_of,
)

_CACHED_MOST = 65536
# Not the floating-point kinds: 0.0 and -0.0 are equal as keys.
_CACHED_KINDS = {"bool", "int32", "int64", "uint32", "uint64", "string"}
_TAGS = {
    (number, wire): encode_varint(number << 3 | wire)
    for number in range(1, 33)
    for wire in (VARINT, FIXED64, LENGTH, FIXED32)
}


def _delimited(number: int, content: bytes) -> bytes:
    return _TAGS[number, LENGTH] + encode_varint(len(content)) + content


def _scalar_bytes(kind: str, value: Scalar) -> bytes:
    """The bytes of a value without tag; texts and bytes without length."""
    if kind in FIXED_FORMATS:
        return struct.pack(FIXED_FORMATS[kind][1], value)
    if isinstance(value, str):
        return value.encode("utf-8")
    if isinstance(value, bytes):
        return value
    number = int(value)
    if kind in ("sint32", "sint64"):
        number = number << 1 ^ number >> 63
    return encode_varint(number)


def _list_bytes(kind: str, values: tuple[Scalar, ...]) -> bytes:
    if not values:
        return b""
    if kind in ("string", "bytes"):
        return b"".join(_delimited(1, _scalar_bytes(kind, value)) for value in values)
    return _delimited(1, b"".join(_scalar_bytes(kind, value) for value in values))


def encode_attribute(attribute: Attribute) -> bytes:
    """An AttributeProto; a value is written even where it is zero, false or empty.

    Raises:
        ConfigError: The kind is unknown, or the value does not fit it.
    """
    out = _delimited(1, attribute.name.encode()) if attribute.name else b""
    if attribute.doc:
        out += _delimited(2, attribute.doc.encode())
    kind, value = attribute.kind, attribute.value
    if kind:
        at = f"attribute {attribute.name}"
        if kind not in FIELD_OF_KIND:
            raise ConfigError(at, f"kind must be one of {', '.join(FIELD_OF_KIND)}", got=kind)
        number = FIELD_OF_KIND[kind]
        try:
            if isinstance(value, tuple):
                out += _delimited(number, _list_bytes(kind.removesuffix("_list"), value))
            elif value is not None and not kind.endswith("_list"):
                content = _scalar_bytes(kind, value)
                wire = wire_of(kind)
                if wire == LENGTH:
                    out += _delimited(number, content)
                else:
                    out += _TAGS[number, wire] + content
            else:
                raise ConfigError(at, f"must hold a value of kind {kind}", got=value)
        except (struct.error, TypeError, ValueError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(at, f"must hold a value of kind {kind}", got=value) from None
    return out + attribute.unknown


def _encode_io(number: int, info: IoInfo | None) -> bytes:
    if info is None:
        return b""
    texts = enumerate((info.values, info.shapes, info.types), start=1)
    content = b"".join(_delimited(i, text.encode()) for i, text in texts if text)
    return _delimited(number, content + info.unknown)


def encode_metadata(metadata: Metadata) -> bytes:
    """A GlobalMetadata."""
    out = _delimited(1, metadata.version.encode()) if metadata.version else b""
    out += b"".join(_delimited(2, encode_attribute(a)) for a in metadata.attributes)
    return out + metadata.unknown


def encode_node(node: Node, known: dict[Attribute, bytes] | None = None) -> bytes:
    """A Node, its fields in ascending order, dependencies packed.

    Args:
        node: The node.
        known: Attributes encoded before, by value; added to. A trace repeats most of its own.
    """
    parts = [_TAGS[1, VARINT] + encode_varint(node.id) if node.id else b""]
    if node.name:
        parts.append(_delimited(2, node.name.encode()))
    if node.type:
        parts.append(_TAGS[3, VARINT] + encode_varint(node.type))
    for number, deps in ((4, node.ctrl_deps), (5, node.data_deps)):
        if deps:
            parts.append(_delimited(number, b"".join(map(encode_varint, deps))))
    for number, micros in ((6, node.start_time_micros), (7, node.duration_micros)):
        if micros:
            parts.append(_TAGS[number, VARINT] + encode_varint(micros))
    parts.append(_encode_io(8, node.inputs))
    parts.append(_encode_io(9, node.outputs))
    for item in node.attributes:
        content = known.get(item) if known is not None else None
        if content is None:
            content = _delimited(10, encode_attribute(item))
            if known is not None and item.kind in _CACHED_KINDS and len(known) < _CACHED_MOST:
                known[item] = content
        parts.append(content)
    parts.append(node.unknown)
    return b"".join(parts)


@dataclass(frozen=True, slots=True)
class NodeTemplate:
    """A node of which all but the ids is encoded already; ids count from a base."""

    id: int
    deps: tuple[tuple[int, tuple[int, ...]], ...]
    head: bytes
    tail: bytes

    def encode(self, base: int) -> bytes:
        """The node with all its ids shifted by *base*."""
        number = self.id + base
        parts = [b"\x08" + encode_varint(number) if number else b"", self.head]
        for field_number, ids in self.deps:
            packed = b"".join([encode_varint(parent + base) for parent in ids])
            parts.append(_delimited(field_number, packed))
        parts.append(self.tail)
        return b"".join(parts)


def node_template(node: Node, base: int) -> NodeTemplate:
    """The template that gives *node* back when encoded with *base*."""
    lists = ((4, node.ctrl_deps), (5, node.data_deps))
    bare = replace(node, id=0, ctrl_deps=(), data_deps=())
    head = encode_node(Node(id=0, name=node.name, type=node.type))
    return NodeTemplate(
        id=node.id - base,
        deps=tuple((n, tuple(parent - base for parent in ids)) for n, ids in lists if ids),
        head=head,
        tail=encode_node(bare)[len(head) :],
    )


class TraceWriter:
    """Writes one trace file; a context manager.

    The file is not compressed: ASTRA-sim's reader cannot unpack.
    """

    def __init__(self, path: Path, metadata: Metadata) -> None:
        self.path = path
        self._stream: BinaryIO = path.open("wb")
        self._attributes: dict[Attribute, bytes] = {}
        self._put(encode_metadata(metadata))

    def write(self, node: Node) -> None:
        """Appends *node*.

        Raises:
            ConfigError: The node is all default: readers take its empty message for the end.
        """
        content = encode_node(node, self._attributes)
        if not content:
            rule = "a node needs an id other than 0, a name or a type (readers stop at empty ones)"
            raise ConfigError(str(self.path), rule, got=node)
        self._put(content)

    def _put(self, content: bytes) -> None:
        self._stream.write(encode_varint(len(content)) + content)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stream.close()


def write_trace(path: Path, metadata: Metadata, nodes: Iterable[Node]) -> None:
    """Writes a whole trace.

    Raises:
        ConfigError: A node cannot be written.
    """
    with TraceWriter(path, metadata) as writer:
        for node in nodes:
            writer.write(node)
