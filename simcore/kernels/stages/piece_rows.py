"""Writes the pieces of a program as the stage kernels read them."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.piece_sections import MOST_PLACES, Sections, mark_sections
from simcore.kernels.stages.stage_layout import BEFORE

Ints = NDArray[np.int64]

# A part: first of its nodes and how many, first of its dependencies, last compute node, last exit.
PART_NODE, PART_NODES, PART_DEP, PART_LAST, PART_EXIT = range(5)

# An entry of the sequence that makes up a piece: the part, and whether it is a backward pass.
ENTRY_PART, ENTRY_BACKWARD = range(2)


@njit(cache=True)
def write_rows(
    node: Ints, dep: Ints, part: Ints, sequence: Ints, piece_start: Ints, item: Ints, operators: int
) -> tuple[Ints, Ints, Ints]:
    """Write pieces that are made of parts, one after the other.

    Args:
        node: (4, N) int64, all parts' kinds, items, layers (unused), numbers of dependencies.
        dep: (D,) int64, their dependencies, relative to the part, or BEFORE or FORWARD.
        part: (Q, 5) int64.
        sequence: (L, 2) int64, the entries of all pieces.
        piece_start: (P + 1,) int64, where those of each begin.
        item: (2, O + C + T + 1) int64 of operators, collectives, transfers and messages: category,
            and number of the collectives between stages (-1: none). Transfers count on from the
            collectives.
        operators: O.

    Returns:
        ``fixed`` from its start (rows, children, receives, what nodes miss), (P, PIECE_FIELDS)
        int64, and (Q,) int64, nodes of the sections that repeat, by place in one.
    """
    pieces = piece_start.size - 1
    rows, edges = 1, 0
    for entry in range(sequence.shape[0]):
        rows += part[sequence[entry, ENTRY_PART], PART_NODES]
        edges += _end_of_deps(part, dep, sequence[entry, ENTRY_PART])
        edges -= part[sequence[entry, ENTRY_PART], PART_DEP]
    rows += 2 * pieces
    children = rows * f.NODE_FIELDS
    receives = children + edges
    misses = receives + sequence.shape[0] + pieces
    fixed = np.zeros(misses + rows - 2 * pieces - 1, np.int64)
    empty = np.zeros((3, MOST_PLACES), np.int64)
    sections = Sections(empty[0], empty[1], empty[2])
    places = 1
    record = np.zeros((pieces, f.PIECE_FIELDS), np.int64)
    row = n.ZERO
    for piece in range(pieces):
        first, behind = piece_start[piece], piece_start[piece + 1]
        record[piece, f.ROWS] = row * f.NODE_FIELDS
        record[piece, f.RECEIVES] = receives
        last = part[sequence[first, ENTRY_PART]]
        record[piece, f.LAST] = last[PART_LAST] if behind == first + 1 else -1
        record[piece, f.EXIT] = last[PART_EXIT] if behind == first + 1 else -1
        begin = row
        for entry in range(first, behind):
            fixed[receives] = -1
            what = sequence[entry]
            for place in range(part[what[ENTRY_PART], PART_NODES]):
                at = part[what[ENTRY_PART], PART_NODE] + place
                _write_node(fixed, row, node[:, at], what[1], item, operators)
                fixed[misses] = fixed[row * f.NODE_FIELDS + n.MISSING]
                misses += 1
                if node[0, at] == n.SEND:
                    fixed[row * f.NODE_FIELDS + n.MATE] = entry - first
                elif node[0, at] == n.RECV:
                    fixed[receives] = row - begin
                row += 1
            receives += 1
        fixed[receives] = n.NEVER
        receives += 1
        record[piece, f.NODES] = row - begin
        record[piece, f.MISSES] = misses - (row - begin)
        record[piece, f.OUTSIDE] = row * f.NODE_FIELDS
        row += 2
        entries = sequence[first:behind]
        children = _write_children(fixed, node, dep, part, entries, begin, children)
        _close_nodes(fixed, record[piece])
        places = mark_sections(fixed, record[piece], sections, places)
    fixed[row * f.NODE_FIELDS + n.CHILDREN] = children
    return fixed, record, sections.nodes[:places]


@njit(cache=True)
def _end_of_deps(part: Ints, dep: Ints, which: int) -> int:
    return int(part[which + 1, PART_DEP]) if which + 1 < part.shape[0] else dep.size


@njit(cache=True)
def _write_node(
    fixed: Ints, row: int, node: Ints, backward: int, item: Ints, operators: int
) -> None:
    """Write a node's row but for its children."""
    at, kind = row * f.NODE_FIELDS, node[0]
    time_of = item.shape[1] - 1
    if kind == n.COMPUTE:
        time_of = node[1]
    elif kind == n.COMMUNICATION or kind >= n.TRANSFER:
        time_of = operators + node[1]
        if item[1, time_of] >= 0:
            kind = n.SHARED
            fixed[at + n.MATE] = item[1, time_of]
    fixed[at + n.KIND] = kind
    fixed[at + f.ITEM] = time_of * f.TIMES_FIELDS
    fixed[at + n.CATEGORY] = item[0, time_of]
    fixed[at + n.MISSING] = 1 if kind == n.RECV else node[3]
    if kind == n.SEND or kind == n.RECV:
        fixed[at + f.DIRECTION] = -1 if backward != 0 else 1


@njit(cache=True)
def _write_children(
    fixed: Ints, node: Ints, dep: Ints, part: Ints, entries: Ints, row: int, children: int
) -> int:
    """Write the children of a piece's nodes, by node; where those of the next piece begin.

    A part waits for the last compute node of the part before, the first for what is outside.
    """
    nodes = 0
    for entry in range(entries.shape[0]):
        nodes += part[entries[entry, ENTRY_PART], PART_NODES]
    begin = np.zeros(nodes + 3, np.int64)
    for fill in range(2):
        start, before = 0, nodes
        for entry in range(entries.shape[0]):
            which = entries[entry, ENTRY_PART]
            edge = part[which, PART_DEP]
            for place in range(part[which, PART_NODES]):
                for _ in range(node[3, part[which, PART_NODE] + place]):
                    parent = dep[edge] + start
                    if dep[edge] == f.BEFORE:
                        parent = before
                    elif dep[edge] == f.FORWARD:
                        parent = nodes + 1
                    edge += 1
                    if fill == 0:
                        begin[parent + 1] += 1
                    else:
                        fixed[begin[parent]] = start + place
                        begin[parent] += 1
            before = start + part[which, PART_LAST]
            start += part[which, PART_NODES]
        if fill == 0:
            begin[0] = children
            for parent in range(nodes + 2):
                begin[parent + 1] += begin[parent]
                fixed[(row + parent) * f.NODE_FIELDS + n.CHILDREN] = begin[parent]
    return int(begin[nodes + 1])


@njit(cache=True)
def _close_nodes(fixed: Ints, piece: Ints) -> None:
    """Mark the computes and collectives that are CLOSED, and those of the others that LEAD on.

    CLOSED are the ends of passes, and what sends, collectives between stages, transfers, and nodes
    that wait for a message too, wait for.
    """
    row, nodes = piece[f.ROWS], piece[f.NODES]
    waits = np.zeros(nodes, np.bool_)
    for place in range(nodes):
        at = row + place * f.NODE_FIELDS
        if fixed[at + n.KIND] == n.RECV:
            for edge in range(fixed[at + n.CHILDREN], fixed[at + f.NODE_FIELDS + n.CHILDREN]):
                waits[fixed[edge]] = True
    for place in range(nodes):
        at = row + place * f.NODE_FIELDS
        if fixed[at + n.KIND] > n.COMMUNICATION:
            continue
        closed = place == piece[f.LAST] or place == piece[f.EXIT]
        for edge in range(fixed[at + n.CHILDREN], fixed[at + f.NODE_FIELDS + n.CHILDREN]):
            child = fixed[edge]
            kind = fixed[row + child * f.NODE_FIELDS + n.KIND]
            closed = closed or waits[child] or kind > n.COMMUNICATION
        fixed[at + n.MATE] = f.CLOSED if closed else 0
        begin, children = fixed[at + n.CHILDREN], fixed[at + f.NODE_FIELDS + n.CHILDREN]
        is_only = children - begin == 1 and fixed[begin] == place + 1
        if not closed and is_only and fixed[at + f.NODE_FIELDS + n.MISSING] == 1:
            fixed[at + n.MATE] = f.LEADS


@njit(cache=True)
def may_be_remembered(fixed: Ints, piece: Ints, is_first: bool) -> bool:
    """True if a unit's work is decided once it may begin, so that it can be looked up.

    It has at most one message each way and no collective between stages; nothing else in it can
    start before the last compute node of the unit before has ended, and what waits for its message
    or for its forward pass waits for that too.
    """
    row, nodes = piece[f.ROWS], piece[f.NODES]
    chained = np.zeros(nodes, np.bool_)
    outside = row + nodes * f.NODE_FIELDS
    for edge in range(fixed[outside + n.CHILDREN], fixed[outside + f.NODE_FIELDS + n.CHILDREN]):
        chained[fixed[edge]] = True
    sends, receives = 0, 0
    for place in range(nodes + 2):
        at = row + place * f.NODE_FIELDS
        asks = place == nodes + 1
        if place < nodes:
            kind = fixed[at + n.KIND]
            sends += 1 if kind == n.SEND else 0
            receives += 1 if kind == n.RECV else 0
            if kind == n.SHARED or (fixed[at + n.MISSING] == 0 and not is_first):
                return False
            asks = kind == n.RECV
        if asks and not is_first:
            for edge in range(fixed[at + n.CHILDREN], fixed[at + f.NODE_FIELDS + n.CHILDREN]):
                if not chained[fixed[edge]]:
                    return False
    return sends <= 1 and receives <= 1


RUN_PIECE, RUN_SECTION, RUN_TIMES = 0, 1, 2
"""Rows of the runs: the piece, the section, and how often it stands there."""


@njit(cache=True)
def lay_out(
    runs: Ints, nodes: Ints, deps: Ints, node: Ints, dep: Ints, part: Ints
) -> tuple[Ints, Ints]:
    """Write the nodes of pieces one after the other.

    Args:
        runs: (3 or more, R) int64, in order of their pieces.
        nodes: (Q,) int64, nodes of each section.
        deps: (Q,) int64, dependencies of each section.
        node: (3, M) int64, all sections' kinds, items and numbers of dependencies.
        dep: (E,) int64, their dependencies, relative to the section, or BEFORE and below.
        part: (P, 5) int64, gets where each piece begins, and how many nodes it has.

    Returns:
        (4, K) int64 and (D,) int64, as ``write_rows`` reads them.
    """
    first_node, first_dep = np.cumsum(nodes) - nodes, np.cumsum(deps) - deps
    total, edges = 0, 0
    for run in range(runs.shape[1]):
        section = runs[RUN_SECTION, run]
        total += runs[RUN_TIMES, run] * nodes[section]
        edges += runs[RUN_TIMES, run] * deps[section]
    out, out_dep = np.zeros((4, total), np.int64), np.empty(edges, np.int64)
    at, edge, piece = 0, 0, -1
    for run in range(runs.shape[1]):
        if runs[RUN_PIECE, run] != piece:
            piece = runs[RUN_PIECE, run]
            part[piece, PART_NODE], part[piece, PART_DEP] = at, edge
        section, begin = runs[RUN_SECTION, run], part[piece, PART_NODE]
        for _ in range(runs[RUN_TIMES, run]):
            for place in range(first_dep[section], first_dep[section] + deps[section]):
                parent = dep[place]
                out_dep[edge] = parent if parent <= BEFORE else parent + at - begin
                edge += 1
            for place in range(first_node[section], first_node[section] + nodes[section]):
                out[0, at], out[1, at], out[3, at] = node[0, place], node[1, place], node[2, place]
                at += 1
        part[piece, PART_NODES] = at - begin
    return out, out_dep
