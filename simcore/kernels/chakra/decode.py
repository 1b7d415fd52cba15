"""Decodes blocks of Chakra trace bytes into a table of nodes.

The wire format is protobuf's: https://protobuf.dev/programming-guides/encoding/. Field numbers are
those of Chakra's ``et_def.proto`` (MLCommons Chakra, schema 0.0.4 to 1.0.0).
"""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.chakra.columns import (
    ATTRIBUTES,
    BROKEN,
    CPU_BIT,
    CTRL_USED,
    DATA_USED,
    DONE,
    FULL,
    INVOLVED_DIM,
    INVOLVED_SHIFT,
    IS_CPU_OP,
    NAME_NOT_NUMBER_BIT,
    NEXT_ROW,
    PG_NAME,
    WRONG_SHIFT,
)
from simcore.kernels.jit import njit
from simcore.kernels.records import Record, Records

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]
Int = int | np.int64

_NAMES = np.frombuffer("".join(ATTRIBUTES).encode(), np.uint8).copy()
_NAME_START = np.cumsum(np.array([0] + [len(name) for name in ATTRIBUTES], np.int64))


@njit(cache=True)
def read_varint(data: Bytes, at: int, end: int) -> tuple[Int, int]:
    """The varint at *at* as 64 bits (int64), and where it ends; an end of -1 means broken."""
    value = np.int64(0)
    shift = 0
    while at < end and shift < 70:
        byte = np.int64(data[at])
        at += 1
        if shift < 64:
            value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
    return value, -1


@njit(cache=True)
def read_fixed(data: Bytes, at: int, width: int) -> Int:
    """*width* little-endian bytes at *at*, zero-extended to 64 bits."""
    value = np.int64(0)
    for i in range(width):
        value |= np.int64(data[at + i]) << (8 * i)
    return value


@njit(cache=True)
def find_frames(data: Bytes, size: int, frames: Ints) -> tuple[int, int, int]:
    """Finds the complete messages at the start of *data*.

    Args:
        data: Bytes; the first *size* count, and the first is the first of a length varint.
        size: Bytes to look at.
        frames: (F, 2) int64, receives start and end of each message.

    Returns:
        Messages found, bytes they take, and DONE or BROKEN (a length beyond 32 bits).
    """
    count, at = 0, 0
    while count < frames.shape[0] and at < size:
        limit = min(size, at + 5)
        length, start = read_varint(data, at, limit)
        if start < 0:
            return count, at, BROKEN if limit == at + 5 else DONE
        if length > 0xFFFFFFFF:
            return count, at, BROKEN
        if start + length > size:
            break
        frames[count, 0] = start
        frames[count, 1] = start + length
        count += 1
        at = start + length
    return count, at, DONE


@njit(cache=True)
def find_all_frames(data: Bytes, bounds: Ints, frames: Ints, first: Ints) -> int:
    """Finds the messages of several files, all whole and none empty.

    Args:
        data: The files' bytes.
        bounds: (F, 2) int64, where the messages of each file begin and end in *data*.
        frames: (R, 2) int64, receives start and end of each message.
        first: (F + 1,) int64, receives the first message of each file.

    Returns:
        Files found whole: F, or the number of the first one that is not, or that does not fit.
    """
    count = 0
    first[0] = 0
    for f in range(bounds.shape[0]):
        at, end = bounds[f, 0], bounds[f, 1]
        while at < end:
            length, start = read_varint(data, at, min(end, at + 5))
            if start < 0 or length <= 0 or length > end - start or count == frames.shape[0]:
                return f
            frames[count, 0] = start
            frames[count, 1] = start + length
            count += 1
            at = start + length
        first[f + 1] = count
    return bounds.shape[0]


@njit(cache=True)
def _skip(data: Bytes, wire: int, at: int, end: int) -> int:
    if wire == 0:
        return read_varint(data, at, end)[1]
    if wire == 1:
        after = at + 8
    elif wire == 5:
        after = at + 4
    elif wire == 2:
        length, start = read_varint(data, at, end)
        after = start + length if start >= 0 and length >= 0 else -1
    else:
        after = -1
    return after if after <= end else -1


@njit(cache=True)
def _attribute_index(data: Bytes, start: int, end: int) -> int:
    for index in range(_NAME_START.size - 1):
        first = _NAME_START[index]
        if _NAME_START[index + 1] - first != end - start:
            continue
        same = True
        for i in range(end - start):
            if data[start + i] != _NAMES[first + i]:
                same = False
                break
        if same:
            return index
    return -1


@njit(cache=True)
def _integer(field: int, raw: Int) -> tuple[Int, bool]:
    """The value of a scalar integer or bool field of AttributeProto, and whether it is one."""
    if field == 7 or field == 23:  # int32, sfixed32
        low = raw & 0xFFFFFFFF
        return (low - 0x100000000 if low >= 0x80000000 else low), True
    if field == 9 or field == 25:  # int64, sfixed64
        return raw, True
    if field == 11 or field == 19:  # uint32, fixed32
        return raw & 0xFFFFFFFF, True
    if field == 13 or field == 21:  # uint64, fixed64: beyond 2^63 - 1 is of no use here
        return raw, raw >= 0
    if field == 15 or field == 17:  # zigzag
        return ((raw >> 1) & 0x7FFFFFFFFFFFFFFF) ^ -(raw & 1), True
    if field == 27:  # bool
        return np.int64(raw != 0), True
    return np.int64(0), False


@njit(cache=True)
def _group_number(data: Bytes, start: int, end: int) -> Int:
    """The decimal number in the bytes (nothing is 0), or -1."""
    value = np.int64(0)
    if end - start > 18:
        return np.int64(-1)
    for at in range(start, end):
        digit = np.int64(data[at]) - 48
        if digit < 0 or digit > 9:
            return np.int64(-1)
        value = value * 10 + digit
    return value


@njit(cache=True)
def _flag_list(data: Bytes, at: int, end: int) -> tuple[Int, int]:
    """A BoolList as bits, and its length; a length of -1 means broken."""
    bits, count = np.int64(0), 0
    while at < end:
        tag, at = read_varint(data, at, end)
        if at < 0:
            return bits, -1
        stop, packed = at, tag == 10
        if packed:
            length, at = read_varint(data, at, end)
            stop = at + length
            if at < 0 or length < 0 or stop > end:
                return bits, -1
        elif tag == 8:
            stop = at + 1
        else:
            at = _skip(data, tag & 7, at, end)
            if at < 0:
                return bits, -1
            continue
        while at < stop:
            value, at = read_varint(data, at, end)
            if at < 0:
                return bits, -1
            if value != 0 and count < 62:
                bits |= np.int64(1) << count
            count += 1
    return bits, count


@njit(cache=True)
def _decode_attribute(data: Bytes, at: int, end: int, row: Record) -> bool:
    """Stores one AttributeProto in its field of *row*; False if its bytes are broken."""
    index, field = -1, 0
    raw, start, stop = np.int64(0), 0, 0
    while at < end:
        tag, at = read_varint(data, at, end)
        if at < 0:
            return False
        number, wire = tag >> 3, tag & 7
        begin = at
        at = _skip(data, wire, at, end)
        if at < 0:
            return False
        if wire == 2:
            begin = read_varint(data, begin, end)[1]
        if number == 1 and wire == 2:
            index = _attribute_index(data, begin, at)
        elif 3 <= number <= 32:
            expected = 0
            if number == 3 or number == 21 or number == 25:
                expected = 1
            elif number == 5 or number == 19 or number == 23:
                expected = 5
            elif number % 2 == 0 or number >= 29:
                expected = 2
            if wire != expected:
                continue
            field, start, stop = number, begin, at
            if wire == 0:
                raw = read_varint(data, begin, end)[0]
            elif wire != 2:
                raw = read_fixed(data, begin, 8 if wire == 1 else 4)
    if index >= 0:
        return _store(data, index, field, raw, start, stop, row)
    return True


@njit(cache=True)
def _store(
    data: Bytes, index: int, field: int, raw: int, start: int, stop: int, row: Record
) -> bool:
    one = np.int64(1)
    value, good = _integer(field, raw)
    flags = row["flags"] & ~(one << (WRONG_SHIFT + index)) | (one << index)
    if index == IS_CPU_OP:
        flags &= ~(one << CPU_BIT)
        if value != 0:
            flags |= one << CPU_BIT
    elif index == PG_NAME:
        good = field == 29
        value = _group_number(data, start, stop) if good else np.int64(0)
        flags &= ~(one << NAME_NOT_NUMBER_BIT)
        if value < 0:
            good = False
            flags |= one << NAME_NOT_NUMBER_BIT
    elif index == INVOLVED_DIM:
        good = field == 28
        if good:
            value, count = _flag_list(data, start, stop)
            if count < 0:
                return False
            flags &= ~(np.int64(127) << INVOLVED_SHIFT)
            flags |= np.int64(min(count, 127)) << INVOLVED_SHIFT
    elif index > INVOLVED_DIM:
        good = field == 30
    if not good:
        flags |= one << (WRONG_SHIFT + index)
    if IS_CPU_OP < index <= INVOLVED_DIM:
        row["numbers"][index - 1] = value
    row["flags"] = flags
    return True


@njit(cache=True)
def _ids(data: Bytes, span: tuple[int, int, int], out: NDArray[np.uint64], used: int) -> int:
    """Appends the ids of one ctrl_deps or data_deps field; -1 if its bytes are broken."""
    at, stop, wire = span
    if wire == 2:
        at = read_varint(data, at, stop)[1]
    while at < stop:
        value, at = read_varint(data, at, stop)
        if at < 0:
            return -1
        out[used] = np.uint64(value)
        used += 1
    return used


@njit(cache=True)
def _decode_node(
    data: Bytes,
    frame: Ints,
    row: Record,
    data_deps: NDArray[np.uint64],
    ctrl_deps: NDArray[np.uint64],
    used: Ints,
) -> bool:
    at, end = frame[0], frame[1]
    row["id"] = row["type"] = row["flags"] = row["duration"] = 0
    row["numbers"][:] = 0
    row["offset"] = at
    while at < end:
        tag, at = read_varint(data, at, end)
        if at < 0 or tag >> 3 == 0:
            return False
        number, wire, begin = tag >> 3, tag & 7, at
        at = _skip(data, wire, at, end)
        if at < 0:
            return False
        if wire == 0 and number == 1:
            row["id"] = read_varint(data, begin, end)[0]
        elif wire == 0 and number == 3:
            row["type"] = _integer(7, read_varint(data, begin, end)[0])[0]
        elif wire == 0 and number == 7:
            row["duration"] = read_varint(data, begin, end)[0]
        elif (number == 4 or number == 5) and (wire == 0 or wire == 2):
            which = CTRL_USED if number == 4 else DATA_USED
            out = ctrl_deps if number == 4 else data_deps
            used[which] = _ids(data, (begin, at, wire), out, used[which])
            if used[which] < 0:
                return False
        elif number == 10 and wire == 2:
            begin = read_varint(data, begin, end)[1]
            if not _decode_attribute(data, begin, at, row):
                return False
    return True


@njit(cache=True)
def decode_nodes(
    data: Bytes,
    frames: Ints,
    table: Records,
    dep_ends: Ints,
    data_deps: NDArray[np.uint64],
    ctrl_deps: NDArray[np.uint64],
    state: Ints,
) -> int:
    """Decodes Node messages into rows, from row ``state[NEXT_ROW]`` on.

    Args:
        data: The block.
        frames: (R, 2) int64, start and end of each message.
        table: (R,) NODE, receives the rows; an offset counts from the block's start.
        dep_ends: (R, 2) int64, receives how many data and control dependencies rows 0..r have.
        data_deps: (D,) uint64, receives the ids.
        ctrl_deps: Likewise.
        state: (3,) int64: NEXT_ROW, DATA_USED, CTRL_USED; brought up to date.

    Returns:
        DONE, FULL (enlarge the dependency arrays, call again) or BROKEN (at ``state[NEXT_ROW]``).
    """
    for r in range(state[NEXT_ROW], frames.shape[0]):
        longest = frames[r, 1] - frames[r, 0]  # a dependency takes a byte or more
        state[NEXT_ROW] = r
        if state[DATA_USED] + longest > data_deps.size or (
            state[CTRL_USED] + longest > ctrl_deps.size
        ):
            return FULL
        if not _decode_node(data, frames[r], table[r], data_deps, ctrl_deps, state):
            return BROKEN
        dep_ends[r, 0] = state[DATA_USED]
        dep_ends[r, 1] = state[CTRL_USED]
    state[NEXT_ROW] = frames.shape[0]
    return DONE
