"""Writes the nodes of programs into the arena of the unfolded engine, and tells programs apart."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.events import layout as f
from simcore.kernels.jit import njit

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Positions = NDArray[np.int32]
Marks = NDArray[np.uint64]


@njit(cache=True)
def write_bodies(
    arena: Ints,
    first: Ints,
    code: Bytes,
    communicates: Bytes,
    duration_ns: Ints,
    dep_start: Ints,
    dep: Positions,
    tables: Ints,
    children: Ints,
) -> None:
    """Write the nodes of each body, and who waits for each of them.

    Args:
        arena: Receives the tables and the lists of children.
        first: (S + 1,) int64, first node of each body.
        code: (B,) uint8, action, slot and account of each node, as in the low bits of its head.
        communicates: (B,) uint8, 1: the node has a detail, whose number is written where it does
            not just last its duration.
        duration_ns: (B,) int64.
        dep_start: (B + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions in the body.
        tables: (S,) int64, where in the arena each body's table lies.
        children: (S,) int64, likewise its lists of children: one word more than there are, for
            each node that has several.
    """
    for body in range(first.size - 1):
        begin, end = first[body], first[body + 1]
        edges = dep[dep_start[begin] : dep_start[end]]
        _write_children(arena, tables[body], end - begin, children[body], edges)
        for t in range(end - begin - 1, -1, -1):
            for e in range(dep_start[begin + t], dep_start[begin + t + 1]):
                _name_child(arena, tables[body] + dep[e] * f.NODE_WORDS, t)
        detail = 0
        for t in range(begin, end):
            node, action = tables[body] + (t - begin) * f.NODE_WORDS, code[t] & f.ACTION_MASK
            arena[node + f.NODE_HEAD] |= code[t]
            lasts = action in (f.ACTION_FIXED, f.ACTION_SKIP)
            arena[node + f.NODE_VALUE] = duration_ns[t] if lasts else detail
            detail += np.int64(communicates[t])  # of a byte, which alone would count to 255


@njit(cache=True)
def _write_children(arena: Ints, table: int, nodes: int, at: int, edges: Positions) -> None:
    """Give each node with several children a list, whose first word is where it is filled to."""
    for t in range(nodes):
        arena[table + t * f.NODE_WORDS + f.NODE_HEAD] = 0
    for parent in edges:
        arena[table + parent * f.NODE_WORDS + f.NODE_HEAD] += 1
    for t in range(nodes):
        head = table + t * f.NODE_WORDS + f.NODE_HEAD
        count = arena[head]
        if count == 1:
            arena[head] = f.ONLY_CHILD
        elif count > 1:
            arena[head] = at << f.CHILDREN_SHIFT
            arena[at] = count
            arena[at + 1] = count  # the place that is filled next, from the end
            at += count + 1


@njit(cache=True)
def _name_child(arena: Ints, node: int, child: int) -> None:
    """Enter a child; the last one comes first."""
    head = arena[node + f.NODE_HEAD]
    if head & f.ONLY_CHILD:
        arena[node + f.NODE_HEAD] = child << f.CHILDREN_SHIFT | f.ONLY_CHILD
        return
    at = head >> f.CHILDREN_SHIFT
    place = arena[at + 1]
    if place > 1:
        arena[at + 1] = place - 1
    arena[at + place] = child


@njit(cache=True)
def count_lists(first: Ints, dep_start: Ints, dep: Positions, scratch: Ints, words: Ints) -> None:
    """Count the words of the lists that ``write_bodies`` writes.

    Args:
        first: (S + 1,) int64, first node of each body.
        dep_start: (B + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions in the body.
        scratch: As many int64 as the largest body has nodes.
        words: (S,) int64, receives the result.
    """
    for body in range(first.size - 1):
        begin, end = first[body], first[body + 1]
        for t in range(end - begin):
            scratch[t] = 0
        for e in range(dep_start[begin], dep_start[end]):
            scratch[dep[e]] += 1
        words[body] = 0
        for t in range(end - begin):
            if scratch[t] > 1:
                words[body] += scratch[t] + 1


@njit(cache=True)
def write_states(arena: Ints, states: Ints, bodies: Ints, first: Ints, dep_start: Ints) -> None:
    """Write how many dependencies each node of each NPU has.

    Args:
        arena: Receives them.
        states: (K,) int64, where in the arena the states of each NPU's nodes lie.
        bodies: (K,) int64, what each NPU runs.
        first: (S + 1,) int64, first node of each body.
        dep_start: (B + 1,) int64, where each node's dependencies start.
    """
    for k in range(states.size):
        begin, end = first[bodies[k]], first[bodies[k] + 1]
        for t in range(begin, end):
            arena[states[k] + t - begin] = dep_start[t + 1] - dep_start[t]


@njit(cache=True)
def _mixed(mark: np.uint64, value: np.uint64) -> np.uint64:
    """A step of FNV-1a over a whole word, with the high bits folded back into the low ones."""
    mark = (mark ^ value) * np.uint64(0x9E3779B97F4A7C15)
    return mark ^ (mark >> np.uint64(29))


@njit(cache=True)
def mark_bodies(
    first: Ints, code: Bytes, value: Ints, dep_start: Ints, dep: Positions, marks: Marks
) -> None:
    """A number for each body, equal for equal bodies and almost never for others.

    Args:
        first: (S + 1,) int64, first node of each body.
        code: (B,) uint8, what its node is.
        value: (B,) int64, likewise.
        dep_start: (B + 1,) int64, where each node's dependencies start in *dep*.
        dep: (E,) int32, positions in the body.
        marks: (S,) uint64, receives the numbers.
    """
    for body in range(first.size - 1):
        begin, end = first[body], first[body + 1]
        mark = np.uint64(end - begin)
        for t in range(begin, end):
            mark = _mixed(mark, np.uint64(code[t]) << np.uint64(32))
            mark = _mixed(mark, np.uint64(value[t]))
            mark = _mixed(mark, np.uint64(dep_start[t + 1] - dep_start[t]))
            for e in range(dep_start[t], dep_start[t + 1]):
                mark = _mixed(mark, np.uint64(dep[e]))
        marks[body] = mark
