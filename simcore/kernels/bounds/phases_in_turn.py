"""Least time of the chunks of a collective that pass their phases one after another."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.jit import njit
from simcore.kernels.records import Record, Records

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Chunks(NamedTuple):
    """Chunks of the collective at hand, and what they run on."""

    size: float
    count: float
    active: float  # that a dimension works on at once
    delay_ns: float  # what it costs an NPU to handle a message
    memory_ns: float  # per byte that is reduced
    ends_first: int  # 1: costs of a phase are those of the member that ends first, 0: last


@njit(cache=True, error_model="numpy")
def _phase_ns(cost: Record, size: float, latency: float, per_byte: float, chunks: Chunks) -> float:
    unit = size if cost["divisor"] == 1.0 else np.floor(size / cost["divisor"])
    time = cost["hops"] * latency + cost["units"] * unit * per_byte
    time = max(time - cost["messages"], 0.0) + cost["delays"] * chunks.delay_ns
    reduced = cost["reduced"] * unit * chunks.memory_ns - cost["reductions"]
    return time + max(3.0 * reduced, 0.0)


@njit(cache=True, error_model="numpy")
def in_order_ns(
    phases: Records, step: Ints, count: int, link_ns: Floats, chunks: Chunks, work: Floats,
    weak: bool,
) -> float:  # fmt: skip
    """Least time of chunks that pass *count* phases one after another.

    Each dimension works on a few chunks at once: no schedule is shorter than one chunk's way, nor
    than a dimension's work after the first chunk has come there and before the last one has gone
    on from there.
    """
    size, path, opening = chunks.size, 0.0, 0.0
    for j in range(count):
        work[0, step[0, j]] = 0.0
    for j in range(count):
        d, cost = step[0, j], phases[step[1, j] + chunks.ends_first]
        spent = _phase_ns(cost, size, link_ns[0, d], link_ns[1, d], chunks)
        if cost["grows"] != cost["shrinks"]:
            size = np.floor(size * cost["grows"] / cost["shrinks"])
        if work[0, d] == 0.0:
            work[1, d] = path
        if j == 0:
            opening = spent
        path += spent
        work[0, d] += spent
        work[2, d] = path
    if weak:
        return path + (np.ceil(chunks.count / chunks.active) - 1) * opening
    least, rounds = path, max(chunks.count / chunks.active, 1.0)
    for j in range(count):
        d = step[0, j]
        least = max(least, work[1, d] + work[0, d] * rounds + path - work[2, d])
    return least


@njit(cache=True, error_model="numpy")
def any_order_ns(
    phases: Records, step: Ints, count: int, scatters: int, link_ns: Floats, chunks: Chunks,
    weak: bool,
) -> float:  # fmt: skip
    """``in_order_ns`` where each dimension may be the last one, with the smallest chunks."""
    path, busiest = 0.0, 0.0
    for j in range(count):
        d, cost = step[0, j], phases[step[1, j] + chunks.ends_first]
        size = chunks.size
        if scatters > 1:
            size = np.floor(size / scatters) * cost["shrinks"]
        spent = _phase_ns(cost, size, link_ns[0, d], link_ns[1, d], chunks)
        path += spent
        busiest = max(busiest, spent)
    return path if weak else max(path, busiest * chunks.count / chunks.active)
