"""Pieces that end an iteration, begun at later units, for stages that had left their finale."""

import numpy as np

from simcore.kernels.collectives.records import Ints
from simcore.kernels.jit import njit
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import stage_layout as f


@njit(cache=True)
def write_resumed(
    fixed: Ints, pieces: Ints, piece_start: Ints, starts: Ints, lasts: Ints
) -> tuple[Ints, Ints, Ints]:
    """Write the pieces that end an iteration from each unit on that this waits for.

    Args:
        fixed: Rows of all pieces; gets the marks of nodes that end the chain of a unit.
        pieces: (P, PIECE_FIELDS) int64; gets where their units begin.
        piece_start: (P + 1,) int64, where the parts of each begin, the last of which is the tail.
        starts: (L,) int64, place in its piece at which each part begins.
        lasts: (L,) int64, its last compute node, counted from there.

    Returns:
        What is to follow *fixed*; (R, PIECE_FIELDS) int64 of these pieces; and (R, 2) int64, number
        of the whole piece and of its unit.
    """
    size = 0
    for piece in range(pieces.shape[0]):
        units = piece_start[piece + 1] - piece_start[piece] - 1
        if units > 0:
            size += units + 2 + units * (2 * pieces[piece, f.NODES] + 3 * f.NODE_FIELDS)
    out, records = np.zeros(size, np.int64), np.zeros((starts.size, f.PIECE_FIELDS), np.int64)
    which = np.zeros((starts.size, 2), np.int64)
    used, count = 0, 0
    for piece in range(pieces.shape[0]):
        record, first = pieces[piece], piece_start[piece]
        units = piece_start[piece + 1] - first - 1
        if units == 0:
            continue
        record[f.STARTS] = fixed.size + used
        begin = np.append(starts[first : first + units + 1], record[f.NODES])
        out[used : used + begin.size] = begin
        used += begin.size
        for unit in range(units):
            chain_end = begin[unit] + lasts[first + unit]
            if not _is_awaited(fixed, record, begin[unit], begin[unit + 1], begin[units]):
                fixed[record[f.ROWS] + chain_end * f.NODE_FIELDS + n.MATE] = f.CHAIN_END
            elif unit > 0:
                before = begin[unit - 1] + lasts[first + unit - 1]
                records[count] = record
                records[count, f.FIRST_UNIT] = unit
                records[count, f.RECEIVES] += unit
                used = _write(fixed, records[count], begin[unit], begin[units], before, out, used)
                which[count, 0], which[count, 1] = piece, unit
                count += 1
    return out[:used], records[:count], which[:count]


@njit(cache=True)
def _is_awaited(fixed: Ints, piece: Ints, first: int, behind: int, tail: int) -> bool:
    """True if nodes from the *tail* on wait for one of those from *first* up to *behind*."""
    for place in range(first, behind):
        row = piece[f.ROWS] + place * f.NODE_FIELDS
        for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
            if fixed[edge] >= tail:
                return True
    return False


@njit(cache=True)
def _write(
    fixed: Ints, piece: Ints, first: int, tail: int, before: int, out: Ints, used: int
) -> int:
    """Write what a piece needs that begins with the node *first*.

    All nodes before, and those of the *tail* that wait for such alone, have ended. What waits for
    the node *before* waits for what is outside.

    Returns:
        How much of *out* is used now.
    """
    rows, nodes = piece[f.ROWS], piece[f.NODES]
    missing, outside = used, used + nodes
    children = outside + 3 * f.NODE_FIELDS
    for place in range(nodes):
        out[missing + place] = fixed[piece[f.MISSES] + place]
    out[outside + n.CHILDREN] = fixed.size + children
    for place in range(nodes):
        if place >= first and (place < tail or out[missing + place] != 0):
            continue
        out[missing + place] = f.DONE
        row = rows + place * f.NODE_FIELDS
        for edge in range(fixed[row + n.CHILDREN], fixed[row + f.NODE_FIELDS + n.CHILDREN]):
            child = fixed[edge]
            if child < first:
                continue
            if place == before:
                out[children] = child
                children += 1
            else:
                out[missing + child] -= 1
    out[outside + f.NODE_FIELDS + n.CHILDREN] = fixed.size + children
    out[outside + 2 * f.NODE_FIELDS + n.CHILDREN] = fixed.size + children
    piece[f.MISSES], piece[f.OUTSIDE] = fixed.size + missing, fixed.size + outside
    return children
