"""Phases, networks and NPUs as the kernels of collectives read them: arrays of numbers."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from simcore.engines.collectives.alike import phase_alike
from simcore.engines.collectives.phases import Phase, placed_row
from simcore.engines.events.input import Floats, Ints
from simcore.kernels.collectives import phase_row as words
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.machine.dimension import Dimension
from simcore.topologies import Topology, distances, npu_links


def phase_row(phase: Phase, over: Dimension) -> tuple[int, ...]:
    """The row of ``kernels.collectives.phase_row`` for one *phase*, on the dimension *over*."""
    return _phase_row(phase, over.shape, over.npus)


@lru_cache(maxsize=4096)
def _phase_row(phase: Phase, shape: Topology, npus: int) -> tuple[int, ...]:
    row = placed_row(phase)
    place = shape, npus, phase.members, phase.stride
    row[words.ALIKE] = phase_alike(phase.algorithm, phase.kind, *place)
    return tuple(row)


def row_array(rows: Sequence[Sequence[int]]) -> Ints:
    """(P, W) int64, rows of unequal length, as step tables have, filled up with 0."""
    widest = max(map(len, rows), default=words.ROW_WORDS)
    return np.array([[*row, *[0] * (widest - len(row))] for row in rows], np.int64)


def network_array(dimensions: Sequence[Dimension]) -> Floats:
    """(D, W) float64, W >= LINK_WORDS: a row of ``kernels.collectives.hops`` per dimension."""
    rows = [
        link_row(
            dimension.shape,
            dimension.npus,
            dimension.link_bandwidth_bytes_per_s / 1e9,
            dimension.latency_s * 1e9,
        )
        for dimension in dimensions
    ]
    network = np.zeros((len(rows), max([row.size for row in rows])), np.float64)
    for row, known in zip(network, rows, strict=True):
        row[: known.size] = known
    return network


def link_row(shape: Topology, npus: int, bytes_per_ns: float, latency_ns: float) -> Floats:
    """The row of one dimension: its links and, where kernels need one, the table of distances."""
    row = np.array((shape.kernel_code, npus, bytes_per_ns, latency_ns), np.float64)
    if shape.kernel_code != TABLE:
        return row
    return np.concatenate([row, distances(shape, npus).ravel(), npu_links(shape, npus).ravel()])


def local_array(delay_ns: int, memory_bytes_per_s: float) -> Floats:
    """(LOCAL_WORDS,) float64; the bandwidth rounded as the unfolded engine's, given in B/ns."""
    return np.array((delay_ns, memory_bytes_per_s / 1e9 * 1e9), np.float64)
