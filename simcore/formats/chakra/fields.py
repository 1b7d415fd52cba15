"""The protobuf wire format: varints, and a message as a sequence of fields.

Source: https://protobuf.dev/programming-guides/encoding/
"""

from collections.abc import Iterator

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
