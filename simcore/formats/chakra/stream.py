"""Bytes of a trace file in bounded blocks, and its messages one by one."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from simcore.errors import ConfigError
from simcore.files.input_file import open_unpacked
from simcore.formats.chakra.wire import WireError, fields

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Metadata, Node

LONGEST_LENGTH = 5
"""Bytes of the longest length varint: 32 bits."""


def read_length(stream: BinaryIO) -> tuple[int | None, int]:
    """The next length varint and its bytes; None at the end of the file.

    Raises:
        WireError: The file ends inside the varint, or it exceeds 32 bits.
    """
    value = 0
    for i in range(LONGEST_LENGTH):
        byte = stream.read(1)
        if not byte:
            if i == 0:
                return None, 0
            raise WireError("the file ends inside a length")
        value |= (byte[0] & 127) << (7 * i)
        if byte[0] < 128:
            if value > 0xFFFFFFFF:
                break
            return value, i + 1
    raise WireError("a length is beyond 32 bits")


def messages(stream: BinaryIO, path: Path) -> Iterator[tuple[int, bytes]]:
    """Offset (of the content) and bytes of each message; empty messages are messages too.

    Raises:
        ConfigError: The file ends inside a message, or a length is broken; names the offset.
    """
    offset = 0
    while True:
        try:
            length, taken = read_length(stream)
        except WireError as error:
            raise ConfigError(
                f"{path} byte {offset}", "must be a message", got=str(error)
            ) from None
        if length is None:
            return
        offset += taken
        content = stream.read(length)
        if len(content) < length:
            raise truncated(path, offset, length, len(content))
        yield offset, content
        offset += length


def truncated(path: Path, offset: int, length: int, found: int) -> ConfigError:
    """The error for a file that ends inside a message."""
    rule = f"a message of {length} bytes must follow (the file is cut)"
    return ConfigError(f"{path} byte {offset}", rule, got=f"{found} bytes")


def is_legacy(first_message: bytes) -> bool:
    """True if a file's first message is a node of the schemas before metadata existed."""
    return first_message[:1] == b"\x08"  # field 1 as a varint: an id, not a version text


def refuse_unknown_legacy(first_message: bytes, path: Path) -> None:
    """Lets nodes of schema 0.0.1 pass.

    Raises:
        ConfigError: The file begins with a node of another schema.
    """
    rule = "a trace must begin with GlobalMetadata (schema 0.0.4 or later) or be of schema 0.0.1"
    for number, wire, _, _ in fields(first_message):
        if wire == 2 and number not in (2, 4, 14):
            what = "a node without metadata before it" if number == 10 else "schema 0.0.2 or 0.0.3"
            raise ConfigError(str(path), rule, got=what)


def read_nodes(path: Path) -> "tuple[Metadata, Iterator[Node]]":
    """Metadata and, lazily, every node of a trace of schema 0.0.4 or later, with all attributes.

    For large traces, and for 0.0.1, take ``read_trace``.

    Raises:
        ConfigError: The file is no such trace; raised while iterating for its later parts.
    """
    from simcore.formats.chakra.messages import Metadata, Node

    walk = _walk(path)
    first = next(walk)
    if not isinstance(first, Metadata):
        raise ConfigError(str(path), "must begin with GlobalMetadata", got="a node")
    return first, (item for item in walk if isinstance(item, Node))


def nodes_at(path: Path, offsets: Collection[int]) -> "list[Node]":
    """The nodes, with all attributes, whose messages start at *offsets* of the (unpacked) file.

    Raises:
        ConfigError: A message there is no node.
    """
    from simcore.formats.chakra.wire import decode_node

    found = []
    with open_unpacked(path) as stream:
        for offset, content in messages(stream, path):
            if offset in offsets:
                try:
                    found.append(decode_node(content))
                except WireError as error:
                    place = f"{path} byte {offset}"
                    raise ConfigError(place, "must be a Chakra message", got=str(error)) from None
    return found


def _walk(path: Path) -> "Iterator[Metadata | Node]":
    from simcore.formats.chakra.wire import decode_metadata, decode_node

    with open_unpacked(path) as stream:
        all_messages = messages(stream, path)
        offset, content = next(all_messages, (0, None))
        if content is None:
            raise ConfigError(str(path), "must hold a trace", got="an empty file")
        try:
            if is_legacy(content):
                raise ConfigError(
                    str(path), "must be of schema 0.0.4 or later", got="an older schema"
                )
            yield decode_metadata(content)
            for offset, content in all_messages:  # noqa: B007 - the handler below uses it
                yield decode_node(content)
        except WireError as error:
            place = f"{path} byte {offset}"
            raise ConfigError(place, "must be a Chakra message", got=str(error)) from None


def name_of(path: Path, number: int) -> str:
    """The name of the node whose id is *number*.

    Raises:
        ConfigError: The file has changed, and holds no such node.
    """
    with open_unpacked(path) as stream:
        for _, content in messages(stream, path):
            found = {field: raw for field, _, raw, _ in fields(content) if field in (1, 2)}
            if found.get(1, 0) == number:
                name = found.get(2, b"")
                return name.decode("utf-8", errors="replace") if isinstance(name, bytes) else ""
    raise ConfigError(str(path), "must not change while it is in use", got=f"no node {number}")
