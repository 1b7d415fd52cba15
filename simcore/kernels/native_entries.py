"""The kernels that Python calls, in the form in which they are kept as machine code.

Each takes the address and the size of every array, so that it can be called without numba.
"""

from collections.abc import Callable
from typing import Any

from numba import carray  # type: ignore[attr-defined]

from simcore.kernels.chakra.columns import NODE
from simcore.kernels.chakra.decode import decode_nodes, find_all_frames, find_frames
from simcore.kernels.chakra.graph import link_dependencies, longest_paths
from simcore.kernels.chakra.program_tables import (
    count_lists,
    mark_bodies,
    write_bodies,
    write_states,
)
from simcore.kernels.events.issue_order import order_nodes
from simcore.kernels.events.run_loop import add_event, run_events, schedule_starts

Address = Any  # of the first element of an array


def _run_events(arena: Address, words: int, rates: Address, rate_count: int) -> int:
    return run_events(carray(arena, words), carray(rates, rate_count))


def _schedule_starts(arena: Address, words: int, starts: Address, count: int) -> int:
    schedule_starts(carray(arena, words), carray(starts, count))
    return 0


def _add_event(arena: Address, words: int, time_ns: int, event: int, number: int) -> int:
    add_event(carray(arena, words), time_ns, event, number)
    return 0


def _find_frames(
    data: Address, held: int, size: int, frames: Address, frame_words: int, out: Address, _: int
) -> int:
    result = carray(out, 3)
    count, used, status = find_frames(
        carray(data, held), size, carray(frames, (frame_words // 2, 2))
    )
    result[0], result[1], result[2] = count, used, status
    return 0


def _find_all_frames(
    data: Address, size: int, bounds: Address, bound_words: int,
    frames: Address, frame_words: int, first: Address, firsts: int,
) -> int:  # fmt: skip
    return find_all_frames(
        carray(data, size),
        carray(bounds, (bound_words // 2, 2)),
        carray(frames, (frame_words // 2, 2)),
        carray(first, firsts),
    )


def _decode_nodes(
    data: Address, size: int, frames: Address, frame_words: int,
    table: Address, nodes: int,
    dep_ends: Address, dep_end_words: int, data_deps: Address, data_room: int,
    ctrl_deps: Address, ctrl_room: int, state: Address, state_words: int,
) -> int:  # fmt: skip
    return decode_nodes(
        carray(data, size),
        carray(frames, (frame_words // 2, 2)),
        carray(table, nodes, NODE),
        carray(dep_ends, (dep_end_words // 2, 2)),
        carray(data_deps, data_room),
        carray(ctrl_deps, ctrl_room),
        carray(state, state_words),
    )


def _link_dependencies(
    ids: Address, id_count: int, rows: Address, row_count: int, first: Address, firsts: int,
    data_start: Address, data_starts: int, ctrl_start: Address, ctrl_starts: int,
    data_deps: Address, data_count: int, ctrl_deps: Address, ctrl_count: int,
    dep_start: Address, dep_starts: int, dep: Address, dep_room: int, out: Address, _: int,
) -> int:  # fmt: skip
    result = carray(out, 4)
    result[0], result[1], result[2], result[3] = link_dependencies(
        carray(ids, id_count),
        carray(rows, row_count),
        carray(first, firsts),
        (carray(data_start, data_starts), carray(ctrl_start, ctrl_starts)),
        (carray(data_deps, data_count), carray(ctrl_deps, ctrl_count)),
        (carray(dep_start, dep_starts), carray(dep, dep_room)),
    )
    return 0


def _longest_paths(
    dep_start: Address, dep_starts: int, dep: Address, deps: int,
    weight: Address, weights: int, end: Address, ends: int, scratch: Address, room: int,
) -> int:  # fmt: skip
    longest_paths(
        carray(dep_start, dep_starts),
        carray(dep, deps),
        carray(weight, weights),
        carray(end, ends),
        carray(scratch, room),
    )
    return 0


def _write_bodies(
    arena: Address, words: int, first: Address, firsts: int, code: Address, codes: int,
    communicates: Address, flags: int, duration_ns: Address, durations: int,
    dep_start: Address, dep_starts: int, dep: Address, deps: int,
    tables: Address, table_count: int, children: Address, child_count: int,
) -> int:  # fmt: skip
    write_bodies(
        carray(arena, words),
        carray(first, firsts),
        carray(code, codes),
        carray(communicates, flags),
        carray(duration_ns, durations),
        carray(dep_start, dep_starts),
        carray(dep, deps),
        carray(tables, table_count),
        carray(children, child_count),
    )
    return 0


def _count_lists(
    first: Address, firsts: int, dep_start: Address, dep_starts: int, dep: Address, deps: int,
    scratch: Address, room: int, words: Address, count: int,
) -> int:  # fmt: skip
    count_lists(
        carray(first, firsts),
        carray(dep_start, dep_starts),
        carray(dep, deps),
        carray(scratch, room),
        carray(words, count),
    )
    return 0


def _write_states(
    arena: Address, words: int, states: Address, state_count: int,
    bodies: Address, body_count: int, first: Address, firsts: int,
    dep_start: Address, dep_starts: int,
) -> int:  # fmt: skip
    write_states(
        carray(arena, words),
        carray(states, state_count),
        carray(bodies, body_count),
        carray(first, firsts),
        carray(dep_start, dep_starts),
    )
    return 0


def _mark_bodies(
    first: Address, firsts: int, code: Address, codes: int, value: Address, values: int,
    dep_start: Address, dep_starts: int, dep: Address, deps: int, marks: Address, count: int,
) -> int:  # fmt: skip
    mark_bodies(
        carray(first, firsts),
        carray(code, codes),
        carray(value, values),
        carray(dep_start, dep_starts),
        carray(dep, deps),
        carray(marks, count),
    )
    return 0


def _order_nodes(
    dep_start: Address, dep_starts: int, dep: Address, deps: int,
    child_start: Address, child_starts: int, children: Address, child_count: int,
    order: Address, nodes: int, scratch: Address, room: int,
) -> int:  # fmt: skip
    order_nodes(
        carray(dep_start, dep_starts),
        carray(dep, deps),
        carray(child_start, child_starts),
        carray(children, child_count),
        carray(order, nodes),
        carray(scratch, room),
    )
    return 0


ENTRIES: dict[str, tuple[Callable[..., int], str]] = {
    "run_events": (_run_events, "IF"),
    "schedule_starts": (_schedule_starts, "II"),
    "add_event": (_add_event, "Iiii"),
    "find_frames": (_find_frames, "BiII"),
    "decode_nodes": (_decode_nodes, "BIRIUUI"),
    "find_all_frames": (_find_all_frames, "BIII"),
    "link_dependencies": (_link_dependencies, "UIIIIUUIHI"),
    "longest_paths": (_longest_paths, "IHIII"),
    "order_nodes": (_order_nodes, "IIIIII"),
    "write_bodies": (_write_bodies, "IIBBIIHII"),
    "count_lists": (_count_lists, "IIHII"),
    "write_states": (_write_states, "IIIII"),
    "mark_bodies": (_mark_bodies, "IBIIHU"),
}
"""Per name the function, and a letter per argument: arrays of Int64, Uint64, Float64, Bytes or
int32 (half a word) as ``I``, ``U``, ``F``, ``B`` and ``H``, of records as ``R``; a whole number as
``i``."""
