"""Phases, networks and NPUs as the kernels of collectives read them: arrays of numbers."""

from collections.abc import Sequence

import numpy as np

from simcore.collectives import algorithm_named
from simcore.hardware.dimension import Dimension
from simcore.kernels import phase_row as words
from simcore.kernels.topology_codes import FULLY_CONNECTED, RING, SWITCH
from simcore.system.engine_input import Floats, Ints
from simcore.system.phase_record import Rows, program_row
from simcore.system.phases import Phase
from simcore.terms import TopologyKind

TOPOLOGY_CODE = {
    TopologyKind.RING: RING,
    TopologyKind.FULLY_CONNECTED: FULLY_CONNECTED,
    TopologyKind.SWITCH: SWITCH,
}


def phase_rows(
    phases: Sequence[Phase], dimensions: Sequence[Dimension], known: Rows
) -> list[list[int]]:
    """A row of ``kernels.phase_row`` per phase of a chunk; *known* keeps what recurs."""
    return [phase_row(phase, dimensions[phase.dimension], known) for phase in phases]


def phase_row(phase: Phase, over: Dimension, known: Rows) -> list[int]:
    """The row of one phase, *over* a dimension."""
    algorithm = algorithm_named(phase.algorithm)
    row = program_row(algorithm, phase.kind, phase.members, known)
    row[words.STRIDE] = phase.stride
    row[words.DIMENSION] = phase.dimension
    row[words.ALIKE] = algorithm.alike(over.topology, over.npus, phase.members, phase.stride)
    return row


def row_array(rows: Sequence[Sequence[int]]) -> Ints:
    """(P, W) int64, rows of unequal length, as step tables have, filled up with 0."""
    widest = max(map(len, rows), default=words.ROW_WORDS)
    return np.array([[*row, *[0] * (widest - len(row))] for row in rows], np.int64)


def network_array(dimensions: Sequence[Dimension]) -> Floats:
    """(D, LINK_WORDS) float64."""
    links = [
        (
            TOPOLOGY_CODE[dimension.topology],
            dimension.npus,
            dimension.link_bandwidth_bytes_per_s / 1e9,
            dimension.latency_s * 1e9,
        )
        for dimension in dimensions
    ]
    return np.array(links, np.float64)


def local_array(delay_ns: int, memory_bytes_per_s: float) -> Floats:
    """(LOCAL_WORDS,) float64; the bandwidth rounded as the unfolded engine's, given in B/ns."""
    return np.array((delay_ns, memory_bytes_per_s / 1e9 * 1e9), np.float64)
