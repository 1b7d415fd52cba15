"""Reads a trace of any supported schema into arrays, in bounded blocks."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.files.input_file import open_unpacked
from simcore.formats.chakra.stream import (
    LONGEST_LENGTH,
    is_legacy,
    messages,
    read_length,
    refuse_unknown_legacy,
    truncated,
)
from simcore.formats.chakra.trace import (
    ATTRIBUTE_BITS,
    Trace,
)
from simcore.formats.chakra.wire import LENGTH, WireError, decode_varint, fields
from simcore.kernels.chakra.columns import BROKEN, FULL, INVOLVED_SHIFT, NEXT_ROW, NODE
from simcore.kernels.native import call
from simcore.kernels.records import Record, Records
from simcore.terms import CollectiveKind, NodeKind

BLOCK_BYTES = 1024 * 1024  # well below the size at which numpy asks for pages of 2 MB
_FRAMES_AT_ONCE = 65536


def read_trace(
    path: Path,
    *,
    empty_nodes: bool = False,
    block_bytes: int = BLOCK_BYTES,
) -> Trace:
    """Reads a trace file; gzip is recognised by its content.

    Args:
        path: The ``.et`` file.
        empty_nodes: Whether to take an empty message for a node of id 0, as Chakra's C++ readers
            do, instead of refusing it.
        block_bytes: Bytes of the file that are held at once; more where one message is longer.

    Raises:
        ConfigError: The file is cut, is no trace, or holds an empty node; names the place.
    """
    with open_unpacked(path) as stream:
        try:
            length, taken = read_length(stream)
            if length is None:
                raise ConfigError(str(path), "must hold a trace", got="an empty file")
            first = stream.read(length)
            if len(first) < length:
                raise truncated(path, taken, length, len(first))
            if is_legacy(first):
                refuse_unknown_legacy(first, path)

                return read_legacy(first, stream, path, start=taken)
            check_metadata(first)
        except WireError as error:
            rule = "must be a Chakra trace, which begins with GlobalMetadata"
            raise ConfigError(str(path), rule, got=str(error)) from None
        reader = _BlockReader(path, empty_nodes=empty_nodes)
        reader.read(stream, taken + length, block_bytes)
        return reader.trace(first)


def decode_frames(
    data: NDArray[np.uint8], frames: NDArray[np.int64]
) -> tuple[int, Records, NDArray[np.int64], list[NDArray[np.uint64]]]:
    """Decodes the nodes between the bounds *frames*, (R, 2) int64, in *data*.

    Returns:
        How many nodes are whole, up to the first that is not; (R,) NODE, a row for each; (R, 2)
        int64, where their data and control dependencies end; and these, as node ids.
    """
    rows = np.empty(frames.shape[0], NODE)
    ends = np.empty((frames.shape[0], 2), np.int64)
    state = np.zeros(3, np.int64)
    longest = int((frames[:, 1] - frames[:, 0]).max(initial=0))
    room = max(4 * frames.shape[0], longest)
    deps = [np.empty(room, np.uint64), np.empty(room, np.uint64)]
    while call("decode_nodes", data, frames, rows, ends, deps[0], deps[1], state) == FULL:
        deps = [np.concatenate((part, np.empty_like(part))) for part in deps]
    return int(state[NEXT_ROW]), rows, ends, deps


def check_metadata(first_message: bytes) -> None:
    """Lets metadata pass.

    Raises:
        WireError: The message is none.
    """
    plain = all(number == 1 and wire == LENGTH for number, wire, _, _ in fields(first_message))
    if not plain or not first_message.isascii():  # more than the text of a version
        from simcore.formats.chakra.wire import decode_metadata

        decode_metadata(first_message)


class _BlockReader:
    """Collects the rows of one file; holds one block of its bytes at a time."""

    def __init__(self, path: Path, *, empty_nodes: bool) -> None:
        self.path, self.empty_nodes = path, empty_nodes
        self.table: Records = np.empty(0, NODE)
        self.ends: NDArray[np.int64] = np.zeros((1, 2), np.int64)
        self.deps: list[NDArray[np.uint64]] = [np.empty(0, np.uint64), np.empty(0, np.uint64)]

    def read(self, stream: BinaryIO, offset: int, block_bytes: int) -> None:
        """Takes all messages from *stream*, whose next byte is at *offset* of the file."""
        data = np.empty(block_bytes, np.uint8)
        frames = np.empty((_FRAMES_AT_ONCE, 2), np.int64)
        found = np.empty(3, np.int64)
        held = 0
        while True:
            if held == data.size:  # a message longer than the block
                data = np.concatenate((data, np.empty(data.size, np.uint8)))
            got = stream.readinto(data.data[held:])  # type: ignore[attr-defined]
            held += got
            done = 0
            while True:
                call("find_frames", data[done:held], held - done, frames, found)
                count, used, status = found.tolist()
                self._decode(data[done : done + used], frames[:count], offset + done)
                done += used
                if status == BROKEN:
                    raise ConfigError(
                        f"{self.path} byte {offset + done}",
                        "must be the length of a message",
                        got="a number beyond 32 bits",
                    )
                if count < _FRAMES_AT_ONCE:
                    break
            data[: held - done] = data[done:held].copy()
            held, offset = held - done, offset + done
            if not got:
                break
        if held:
            raise self._cut(data[:held], offset)

    def _cut(self, rest: NDArray[np.uint8], offset: int) -> ConfigError:
        from simcore.kernels.chakra.decode import read_varint

        length, start = read_varint(rest, 0, min(rest.size, LONGEST_LENGTH))
        if start < 0:
            rule = "a length must follow (the file is cut)"
            return ConfigError(f"{self.path} byte {offset}", rule, got=f"{rest.size} bytes")
        return truncated(self.path, offset + int(start), int(length), int(rest.size - start))

    def _decode(self, data: NDArray[np.uint8], frames: NDArray[np.int64], offset: int) -> None:
        if not frames.size:
            return
        self._refuse_empty(frames, offset)
        decoded, rows, ends, deps = decode_frames(data, frames)
        if decoded < frames.shape[0]:
            at = offset + int(frames[decoded, 0])
            raise ConfigError(
                f"{self.path} byte {at}", "must be a Chakra node", got="a broken message"
            )
        rows["offset"] += offset
        self._append(rows, ends, deps)

    def _append(
        self,
        rows: Records,
        ends: NDArray[np.int64],
        deps: list[NDArray[np.uint64]],
    ) -> None:
        # resize grows in place (realloc), so that a long trace never exists twice
        before = self.table.shape[0]
        self.table.resize(before + rows.shape[0], refcheck=False)
        self.table[before:] = rows
        base = self.ends[-1].copy()
        self.ends.resize((before + 1 + rows.shape[0], 2), refcheck=False)
        self.ends[before + 1 :] = ends + base
        for which in range(2):
            used = int(ends[-1, which])
            old = int(base[which])
            self.deps[which].resize(old + used, refcheck=False)
            self.deps[which][old:] = deps[which][:used]

    def _refuse_empty(self, frames: NDArray[np.int64], offset: int) -> None:
        empty = frames[:, 0] == frames[:, 1]
        if self.empty_nodes or not empty.any():
            return
        at = offset + int(frames[int(np.argmax(empty)), 0])
        rule = "a node must have content (an empty message ends the file for some readers)"
        raise ConfigError(f"{self.path} byte {at}", rule, got="an empty message")

    def trace(self, first_message: bytes) -> Trace:
        return Trace(
            path=self.path,
            first_message=first_message,
            table=self.table,
            data_start=np.ascontiguousarray(self.ends[:, 0]),
            data_deps=self.deps[0],
            ctrl_start=np.ascontiguousarray(self.ends[:, 1]),
            ctrl_deps=self.deps[1],
        )


_NODE_KINDS = {
    1: NodeKind.MEM_LOAD,
    2: NodeKind.MEM_STORE,
    3: NodeKind.COMPUTE,
    4: NodeKind.SEND,
    5: NodeKind.RECV,
    6: NodeKind.COLLECTIVE,
}
_COLLECTIVES = {
    1: CollectiveKind.ALL_REDUCE,
    2: CollectiveKind.ALL_TO_ALL,
    3: CollectiveKind.ALL_GATHER,
    4: CollectiveKind.REDUCE_SCATTER,
}
_ATTRIBUTE_FIELDS = {
    6: "tensor_size",
    12: "num_ops",
    13: "comm_type",
    15: "pg_name",
    16: "comm_src",
    17: "comm_dst",
    18: "comm_size",
    19: "comm_tag",
    20: "comm_priority",
}


def read_legacy(first: bytes, stream: BinaryIO, path: Path, *, start: int) -> Trace:
    """Reads the rest of a 0.0.1 trace whose first message, *first*, started at byte *start*.

    Its node and collective types become today's; durations are kept as microseconds.

    Raises:
        ConfigError: The file is cut or holds something else; names the place.
    """
    rows: list[Record] = []
    deps: list[int] = []
    starts = [0]
    for at, content in _all_messages(first, stream, path, start):
        try:
            row, parents = _decode(content)
        except WireError as error:
            rule = "must be a node of schema 0.0.1"
            raise ConfigError(f"{path} byte {at}", rule, got=str(error)) from None
        row["offset"] = at
        rows.append(row)
        deps.extend(parents)
        starts.append(len(deps))
    return Trace(
        path=path,
        first_message=b"",
        table=np.array(rows, NODE),
        data_start=np.array(starts, np.int64),
        data_deps=np.array(deps, np.uint64),
        ctrl_start=np.zeros(len(rows) + 1, np.int64),
        ctrl_deps=np.empty(0, np.uint64),
    )


def _all_messages(
    first: bytes, stream: BinaryIO, path: Path, start: int
) -> Iterator[tuple[int, bytes]]:
    yield start, first
    rest = start + len(first)
    for offset, content in messages(stream, path):
        yield rest + offset, content


def _decode(content: bytes) -> tuple[Record, list[int]]:
    row = np.zeros((), NODE)
    parents: list[int] = []
    involved: list[int] = []
    for number, wire, raw, _ in fields(content):
        if number in (4, 14):
            target = parents if number == 4 else involved
            target.extend(_varints(raw) if isinstance(raw, bytes) and wire == LENGTH else [raw])  # type: ignore[list-item]
        elif isinstance(raw, int):
            _store(row, number, raw)
    if involved:
        row["numbers"][ATTRIBUTE_BITS["involved_dim"] - 1] = sum(
            1 << i for i, flag in enumerate(involved) if flag and i < 62
        )
        row["flags"] |= 1 << ATTRIBUTE_BITS["involved_dim"]
        row["flags"] |= min(len(involved), 127) << INVOLVED_SHIFT
    return row, parents


def _store(row: Record, number: int, raw: int) -> None:
    if number == 1:
        row["id"] = raw - (1 << 64) if raw >> 63 else raw
    elif number == 3:
        row["type"] = _NODE_KINDS.get(raw, NodeKind.INVALID)
    elif number == 7:
        row["duration"] = raw
    elif number in _ATTRIBUTE_FIELDS:
        bit = ATTRIBUTE_BITS[_ATTRIBUTE_FIELDS[number]]
        if number == 13:
            if raw not in _COLLECTIVES:
                return
            raw = _COLLECTIVES[raw]
        row["numbers"][bit - 1] = raw - (1 << 64) if raw >> 63 else raw
        row["flags"] |= 1 << bit


def _varints(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = decode_varint(raw, at)
        yield value
