"""Common array layout of all executors of nodes, so that one feeder serves them.

Records are told by their *address*, the index of their first field in a flat int64 array, and a
field by the constants below; an executor adds fields of its own behind them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

COMPUTE, COMMUNICATION, SEND, RECV, SHARED, TRANSFER = range(6)
"""Kinds of nodes; the members of a SHARED collective are at several stages. TRANSFER + p moves data
through port p of the memory outside the accelerators."""

MOST_PORTS = 8
"""Ports of outer memory at most; a program uses one for each way into and out of a tier."""

NEVER = 2**62
"""A time that does not come."""

ZERO = np.int64(0)
"""A zero as an argument: of a plain one numba would compile a form of the callee for itself."""

# A node: what it is, how long it takes (a send: its message), how long before its end the event
# that ends it was scheduled (negative: at its start), what its time is booked under, how many
# others it waits for, where its children begin (they end where those of the next node begin), and
# what it belongs to: of a SHARED node its collective, of a send what the executor says.
KIND, DURATION, LAST_STEP, CATEGORY, MISSING, CHILDREN, MATE = range(7)

# An NPU: sizes of its heaps of ready nodes, one per lane, and until when its time is booked.
READY, BOOKED_UNTIL = 0, 2 + MOST_PORTS
HEADER = BOOKED_UNTIL + 1
"""Words that the feeder knows at the start of an NPU."""

# A slot: the node in it (-1: free), its end (NEVER: not known yet), and the address of its record.
POSITION, END, ROW = range(3)


class NpuLayout(NamedTuple):
    """Layout of an NPU for the feeder; an executor's layout has fields of these names.

    Attributes:
        slot, slot_fields: Its first slot, and words of each.
        compute_slots, slots: How many; all of them: after those of computes the streams of
            communication, then one for each port of outer memory.
        lanes: Kinds of slots, each with a heap: computes, communication, each port.
        booked, categories: Times by category, and how many; idle time is one more.
        ready, room: The heaps of ready nodes, lane by lane, and words of each.
        npu_size: Words from one NPU to the next.
    """

    slot: int
    slot_fields: int
    compute_slots: int
    slots: int
    lanes: int
    booked: int
    categories: int
    ready: int
    room: int
    npu_size: int


Tuple = TypeVar("Tuple", bound=tuple[int, ...])


def as_record(layout: Tuple) -> Tuple:
    """Copy as one record, which a kernel passes on by address.

    Passing the 40 numbers of a ``Layout`` by value took longer than most of the functions that are
    called with it.
    """
    return cast(Tuple, np.array(tuple(layout), _kind(type(layout))).view(np.recarray)[()])


def as_records(kind: type[Tuple], count: int, fields: Mapping[str, Any]) -> Any:
    """Table of *count* records of a *kind* of layout, from each field's value or values."""
    table = np.zeros(count, _kind(kind))
    for name, values in fields.items():
        table[name] = values
    return table.view(np.recarray)


@cache
def _kind(layout: Any) -> Any:
    return np.dtype([(name, np.int64) for name in layout._fields])
