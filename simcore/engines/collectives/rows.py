"""Phases and machines as the kernels of collectives read them: arrays of records."""

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from simcore.engines.collectives.alike import phase_alike
from simcore.engines.collectives.phases import Phase, placed_row
from simcore.engines.events.input import Ints
from simcore.kernels.collectives.records import LINK, PHASE, Machine, PhaseRow, Program, Records
from simcore.kernels.collectives.topology_codes import TABLE
from simcore.machine.dimension import Dimension
from simcore.topologies import Topology, distances, npu_links


def phase_row(phase: Phase, over: Dimension) -> Program:
    """Row and step table of one *phase*, on the dimension *over*."""
    return _phase_row(phase, over.shape, over.npus)


@lru_cache(maxsize=4096)
def _phase_row(phase: Phase, shape: Topology, npus: int) -> Program:
    row, table = placed_row(phase)
    place = shape, npus, phase.members, phase.stride
    return row._replace(alike=int(phase_alike(phase.algorithm, phase.kind, *place))), table


def row_arrays(rows: Iterable[Program]) -> tuple[Records, Ints]:
    """(P,) PHASE, and the words of the step tables of *rows*."""
    placed, words = list[PhaseRow](), list[int]()
    for row, table in rows:
        placed.append(row._replace(table=len(words)) if table else row)
        words += table
    return np.array(placed, PHASE), np.array(words, np.int64)


def machine_of(
    dimensions: Sequence[Dimension], delay_ns: int = 0, memory_bytes_per_s: float = 0.0
) -> Machine:
    """The machine of *dimensions*; its memory rounded as the unfolded engine's, given in B/ns."""
    links = [
        (d.shape, d.npus, d.link_bandwidth_bytes_per_s / 1e9, d.latency_s * 1e9) for d in dimensions
    ]
    return machine_of_links(links, delay_ns, memory_bytes_per_s / 1e9 * 1e9)


def machine_of_links(
    links: Sequence[tuple[Topology, int, float, float]], delay_ns: int, memory_bytes_per_s: float
) -> Machine:
    """A machine of dimensions by topology, NPUs, B/ns of a link and its latency in ns."""
    rows, tables = [], [np.zeros(0, np.int64)]
    for shape, npus, bytes_per_ns, latency_ns in links:
        rows.append((shape.kernel_code, npus, bytes_per_ns, latency_ns, sum(map(len, tables))))
        if shape.kernel_code == TABLE:
            tables += distances(shape, npus).ravel(), npu_links(shape, npus).ravel()
    return Machine(np.array(rows, LINK), np.concatenate(tables), delay_ns, memory_bytes_per_s)
