"""The kernels that Python calls, in the form in which they are kept as machine code.

Each takes the address and the size of every array, so that it can be called without numba.
"""

from collections.abc import Callable
from typing import Any

from numba import carray  # type: ignore[attr-defined]

from simcore.kernels.chakra_columns import COLUMNS
from simcore.kernels.chakra_decode import decode_nodes, find_frames
from simcore.kernels.chakra_graph import link_dependencies, longest_paths
from simcore.kernels.engine.run_loop import add_event, run_events, schedule_starts

Address = Any  # of the first element of an array


def _run_events(arena: Address, words: int, rates: Address, rate_count: int) -> int:
    return run_events(carray(arena, words), carray(rates, rate_count))


def _schedule_starts(arena: Address, words: int, starts: Address, count: int) -> int:
    schedule_starts(carray(arena, words), carray(starts, count))
    return 0


def _add_event(arena: Address, words: int, time_ns: int, event: int) -> int:
    add_event(carray(arena, words), time_ns, event)
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


def _decode_nodes(
    data: Address, size: int, frames: Address, frame_words: int,
    table: Address, table_words: int,
    dep_ends: Address, dep_end_words: int, data_deps: Address, data_room: int,
    ctrl_deps: Address, ctrl_room: int, state: Address, state_words: int,
) -> int:  # fmt: skip
    return decode_nodes(
        carray(data, size),
        carray(frames, (frame_words // 2, 2)),
        carray(table, (table_words // COLUMNS, COLUMNS)),
        carray(dep_ends, (dep_end_words // 2, 2)),
        carray(data_deps, data_room),
        carray(ctrl_deps, ctrl_room),
        carray(state, state_words),
    )


def _link_dependencies(
    ids: Address, id_count: int, rows: Address, row_count: int,
    data_start: Address, data_starts: int, ctrl_start: Address, ctrl_starts: int,
    data_deps: Address, data_count: int, ctrl_deps: Address, ctrl_count: int,
    dep_start: Address, dep_starts: int, dep: Address, dep_room: int, out: Address, _: int,
) -> int:  # fmt: skip
    result = carray(out, 3)
    used, node, entry = link_dependencies(
        carray(ids, id_count),
        carray(rows, row_count),
        (carray(data_start, data_starts), carray(ctrl_start, ctrl_starts)),
        (carray(data_deps, data_count), carray(ctrl_deps, ctrl_count)),
        (carray(dep_start, dep_starts), carray(dep, dep_room)),
    )
    result[0], result[1], result[2] = used, node, entry
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


ENTRIES: dict[str, tuple[Callable[..., int], str]] = {
    "run_events": (_run_events, "IF"),
    "schedule_starts": (_schedule_starts, "II"),
    "add_event": (_add_event, "Iii"),
    "find_frames": (_find_frames, "BiII"),
    "decode_nodes": (_decode_nodes, "BIIIUUI"),
    "link_dependencies": (_link_dependencies, "UIIIUUIII"),
    "longest_paths": (_longest_paths, "IIIII"),
}
"""Per name the function, and a letter per argument: arrays of Int64, Uint64, Float64 or Bytes as
``I``, ``U``, ``F`` and ``B``; a whole number as ``i``."""
