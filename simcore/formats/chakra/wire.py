"""Decodes single Chakra messages.

Source: https://protobuf.dev/programming-guides/encoding/; field numbers in chakra_trace.proto.
"""

import struct
from collections.abc import Callable, Iterator

from simcore.formats.chakra.messages import (
    SCALAR_KINDS,
    Attribute,
    IoInfo,
    Metadata,
    Node,
    Scalar,
    Value,
)

VARINT, FIXED64, LENGTH, FIXED32 = 0, 1, 2, 5

_ONE_BYTE = [bytes((value,)) for value in range(128)]


class WireError(ValueError):
    """Bytes that are not the protobuf message they should be."""


def encode_varint(value: int) -> bytes:
    """*value* (64 bits; negative numbers as two's complement) as a varint."""
    if 0 <= value < 128:
        return _ONE_BYTE[value]
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def framed(content: bytes) -> bytes:
    """*content* as it stands in a trace: its length before it."""
    return encode_varint(len(content)) + content


def decode_varint(data: bytes, at: int) -> tuple[int, int]:
    """The varint at *at* (unsigned 64 bits) and where it ends.

    Raises:
        WireError: It does not end, or is longer than 10 bytes.
    """
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise WireError("a varint does not end")


def fields(data: bytes) -> Iterator[tuple[int, int, int | bytes, bytes]]:
    """Number, wire type, value (fixed and length-delimited ones as bytes) and raw of each field.

    Raises:
        WireError: The bytes are no protobuf message.
    """
    at = 0
    while at < len(data):
        begin = at
        tag, at = decode_varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: int | bytes
        if wire == VARINT:
            value, at = decode_varint(data, at)
        else:
            if wire == LENGTH:
                width, at = decode_varint(data, at)
            elif wire in (FIXED64, FIXED32):
                width = 8 if wire == FIXED64 else 4
            else:
                raise WireError(f"wire type {wire} of field {number} is not in use")
            value = data[at : at + width]
            at += width
            if at > len(data):
                raise WireError(f"field {number} is longer than its message")
        if number == 0:
            raise WireError("field number 0 is not allowed")
        yield number, wire, value, data[begin:at]


FIXED_FORMATS = {
    "double": (FIXED64, "<d"),
    "float": (FIXED32, "<f"),
    "fixed32": (FIXED32, "<I"),
    "fixed64": (FIXED64, "<Q"),
    "sfixed32": (FIXED32, "<i"),
    "sfixed64": (FIXED64, "<q"),
}
FIELD_OF_KIND = {
    name + suffix: 3 + 2 * i + shift
    for i, name in enumerate(SCALAR_KINDS)
    for shift, suffix in enumerate(("", "_list"))
}
_KIND_OF_FIELD = {number: kind for kind, number in FIELD_OF_KIND.items()}


def wire_of(kind: str) -> int:
    """The wire type of a scalar kind."""
    if kind in FIXED_FORMATS:
        return FIXED_FORMATS[kind][0]
    return LENGTH if kind in ("string", "bytes") else VARINT


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


_FROM_VARINT: dict[str, Callable[[int], Scalar]] = {
    "int32": lambda raw: _signed(raw, 32),
    "int64": lambda raw: _signed(raw, 64),
    "uint32": lambda raw: raw & 0xFFFFFFFF,
    "uint64": lambda raw: raw,
    "sint32": lambda raw: _signed((raw >> 1) ^ -(raw & 1), 32),
    "sint64": lambda raw: _signed((raw >> 1) ^ -(raw & 1), 64),
    "bool": bool,
}


def _text(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise WireError("a text is not UTF-8") from None


def _scalar(kind: str, raw: int | bytes) -> Scalar:
    if isinstance(raw, int):
        return _FROM_VARINT[kind](raw)
    if kind == "string":
        return _text(raw)
    if kind == "bytes":
        return raw
    value: float | int = struct.unpack(FIXED_FORMATS[kind][1], raw)[0]
    return value


def _packed(kind: str, raw: bytes) -> Iterator[Scalar]:
    at = 0
    width = struct.calcsize(FIXED_FORMATS[kind][1]) if kind in FIXED_FORMATS else 0
    while at < len(raw):
        if width:
            if at + width > len(raw):
                raise WireError(f"a packed list of {kind} is cut")
            yield _scalar(kind, raw[at : at + width])
            at += width
        else:
            value, at = decode_varint(raw, at)
            yield _scalar(kind, value)


def _list(kind: str, raw: bytes) -> tuple[Scalar, ...]:
    out: list[Scalar] = []
    wire_of_kind = wire_of(kind)
    for number, wire, value, _ in fields(raw):
        if number != 1:
            continue
        if wire == wire_of_kind:
            out.append(_scalar(kind, value))
        elif wire == LENGTH and isinstance(value, bytes):
            out.extend(_packed(kind, value))
    return tuple(out)


def decode_attribute(data: bytes) -> Attribute:
    """An AttributeProto."""
    name = doc = kind = ""
    value: Value = None
    unknown = b""
    for number, wire, raw, whole in fields(data):
        found = _KIND_OF_FIELD.get(number, "")
        if number in (1, 2) and isinstance(raw, bytes) and wire == LENGTH:
            name, doc = (_text(raw), doc) if number == 1 else (name, _text(raw))
        elif found.endswith("_list") and isinstance(raw, bytes) and wire == LENGTH:
            kind, value = found, _list(found.removesuffix("_list"), raw)
        elif found and not found.endswith("_list") and wire == wire_of(found):
            kind, value = found, _scalar(found, raw)
        else:
            unknown += whole
    return Attribute(name=name, kind=kind, value=value, doc=doc, unknown=unknown)


def _decode_io(data: bytes) -> IoInfo:
    texts = {1: "", 2: "", 3: ""}
    unknown = b""
    for number, _, raw, whole in fields(data):
        if number in texts and isinstance(raw, bytes):
            texts[number] = _text(raw)
        else:
            unknown += whole
    return IoInfo(values=texts[1], shapes=texts[2], types=texts[3], unknown=unknown)


def decode_metadata(data: bytes) -> Metadata:
    """A GlobalMetadata."""
    version, unknown = "", b""
    attributes: list[Attribute] = []
    for number, wire, raw, whole in fields(data):
        if number == 1 and wire == LENGTH and isinstance(raw, bytes):
            version = _text(raw)
        elif number == 2 and wire == LENGTH and isinstance(raw, bytes):
            attributes.append(decode_attribute(raw))
        else:
            unknown += whole
    return Metadata(version=version, attributes=tuple(attributes), unknown=unknown)


def decode_node(data: bytes) -> Node:
    """A Node."""
    numbers = {1: 0, 3: 0, 6: 0, 7: 0}
    deps: dict[int, list[int]] = {4: [], 5: []}
    io: dict[int, IoInfo | None] = {8: None, 9: None}
    name, unknown = "", b""
    attributes: list[Attribute] = []
    for number, wire, raw, whole in fields(data):
        if number in numbers and isinstance(raw, int):
            numbers[number] = raw
        elif number in deps and isinstance(raw, int):
            deps[number].append(raw)
        elif wire != LENGTH or not isinstance(raw, bytes):
            unknown += whole
        elif number == 2:
            name = _text(raw)
        elif number in deps:
            deps[number].extend(int(value) for value in _packed("uint64", raw))
        elif number in io:
            io[number] = _decode_io(raw)
        elif number == 10:
            attributes.append(decode_attribute(raw))
        else:
            unknown += whole
    return Node(
        id=numbers[1],
        name=name,
        type=_signed(numbers[3], 32),
        ctrl_deps=tuple(deps[4]),
        data_deps=tuple(deps[5]),
        start_time_micros=numbers[6],
        duration_micros=numbers[7],
        inputs=io[8],
        outputs=io[9],
        attributes=tuple(attributes),
        unknown=unknown,
    )
