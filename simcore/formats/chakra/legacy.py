"""Traces of Chakra schema 0.0.1 (January 2023): fixed fields, one dependency list, no metadata."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from simcore.errors import ConfigError
from simcore.formats.chakra.fields import LENGTH, WireError, decode_varint, fields
from simcore.formats.chakra.stream import messages
from simcore.formats.chakra.trace import (
    ATTRIBUTE_BITS,
    COLUMNS,
    DURATION,
    FLAGS,
    ID,
    INVOLVED_SHIFT,
    OFFSET,
    TYPE,
    Trace,
)
from simcore.terms import CollectiveKind, NodeKind

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
    rows: list[list[int]] = []
    deps: list[int] = []
    starts = [0]
    for at, content in _all_messages(first, stream, path, start):
        try:
            row, parents = _decode(content)
        except WireError as error:
            rule = "must be a node of schema 0.0.1"
            raise ConfigError(f"{path} byte {at}", rule, got=str(error)) from None
        row[OFFSET] = at
        rows.append(row)
        deps.extend(parents)
        starts.append(len(deps))
    return Trace(
        path=path,
        first_message=b"",
        table=np.array(rows, np.int64).reshape(-1, COLUMNS),
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


def _decode(content: bytes) -> tuple[list[int], list[int]]:
    row = [0] * COLUMNS
    parents: list[int] = []
    involved: list[int] = []
    for number, wire, raw, _ in fields(content):
        if number in (4, 14):
            target = parents if number == 4 else involved
            target.extend(_varints(raw) if isinstance(raw, bytes) and wire == LENGTH else [raw])  # type: ignore[list-item]
        elif isinstance(raw, int):
            _store(row, number, raw)
    if involved:
        row[3 + ATTRIBUTE_BITS["involved_dim"]] = sum(
            1 << i for i, flag in enumerate(involved) if flag and i < 62
        )
        row[FLAGS] |= 1 << ATTRIBUTE_BITS["involved_dim"]
        row[FLAGS] |= min(len(involved), 127) << INVOLVED_SHIFT
    return row, parents


def _store(row: list[int], number: int, raw: int) -> None:
    if number == 1:
        row[ID] = raw - (1 << 64) if raw >> 63 else raw
    elif number == 3:
        row[TYPE] = _NODE_KINDS.get(raw, NodeKind.INVALID)
    elif number == 7:
        row[DURATION] = raw
    elif number in _ATTRIBUTE_FIELDS:
        bit = ATTRIBUTE_BITS[_ATTRIBUTE_FIELDS[number]]
        if number == 13:
            if raw not in _COLLECTIVES:
                return
            raw = _COLLECTIVES[raw]
        row[3 + bit] = raw - (1 << 64) if raw >> 63 else raw
        row[FLAGS] |= 1 << bit


def _varints(raw: bytes) -> Iterator[int]:
    at = 0
    while at < len(raw):
        value, at = decode_varint(raw, at)
        yield value
