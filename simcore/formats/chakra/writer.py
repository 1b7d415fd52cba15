"""Writes traces, message by message."""

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from simcore.errors import ConfigError
from simcore.formats.chakra.encode import encode_metadata, encode_node
from simcore.formats.chakra.fields import encode_varint
from simcore.formats.chakra.messages import Attribute, Metadata, Node


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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stream.close()


def write_trace(path: Path, metadata: Metadata, nodes: Iterable[Node]) -> None:
    """Writes a whole trace.

    Raises:
        ConfigError: A node cannot be written.
    """
    with TraceWriter(path, metadata) as writer:
        for node in nodes:
            writer.write(node)
