"""Lays out pieces, which are told by runs of sections, node by node."""

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.stages.piece_rows import PART_DEP, PART_NODE, PART_NODES
from simcore.kernels.stages.stage_layout import BEFORE

RUN_PIECE, RUN_SECTION, RUN_TIMES = 0, 1, 2
"""Rows of the runs: the piece, the section, and how often it stands there."""

Ints = NDArray[np.int64]


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
