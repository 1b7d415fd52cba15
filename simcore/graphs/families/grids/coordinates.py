"""Coordinates of NPUs in a grid, its neighbours, and the narrowest cut of a grid."""

from collections.abc import Sequence
from math import prod

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.graph import MOST_NODES, Ints, Wiring


def grid_wiring(dims: Sequence[int]) -> Wiring:
    """A wiring of as many NPUs as a grid has.

    Raises:
        ConfigError: There are too many.
    """
    if prod(dims) > MOST_NODES:
        raise ConfigError("dims", f"must multiply to at most {MOST_NODES:,}", got=list(dims))
    return Wiring(prod(dims))


def coordinates(dims: Sequence[int]) -> Ints:
    """(dimensions, NPUs) int64: coordinates of NPU ``x0 + d0 x1 + d0 d1 x2 ...``."""
    left = np.arange(prod(dims), dtype=np.int64)
    rows = []
    for size in dims:
        rows.append(left % size)
        left = left // size
    return np.array(rows)


def numbers(at: Ints, dims: Sequence[int]) -> Ints:
    """(NPUs,) int64: the NPU at each column of coordinates."""
    strides = np.cumprod([1, *dims[:-1]], dtype=np.int64)
    found: Ints = (at * strides[:, None]).sum(axis=0)
    return found


def join_up(wiring: Wiring, dims: Sequence[int], dim: int, wrapped: Ints | None) -> None:
    """Cables of dimension *dim*, by NPU: to the next one up.

    Args:
        wiring: Takes the cables.
        dims: Sizes.
        dim: The dimension.
        wrapped: (dimensions, NPUs) where the last one's cable leads; None: it has none.
    """
    here = coordinates(dims)
    is_last = here[dim] == dims[dim] - 1
    there = here.copy()
    there[dim] += 1
    chosen = np.ones(len(is_last), np.bool_)
    if wrapped is None:
        chosen = ~is_last
    else:
        there[:, is_last] = wrapped[:, is_last]
    a, b = numbers(here, dims)[chosen], numbers(there % np.array(dims)[:, None], dims)[chosen]
    wiring.cables(f"dim{dim}", a, b)


def cut_of_mesh(dims: Sequence[int]) -> int:
    """Cables of the narrowest cut of a mesh into halves.

    J. Aroca and A. Fernández Anta, "Bisection (Band)Width of Product Graphs with Application to
    Data Center Networks", IEEE TPDS 25(3), 2014: with sizes falling, the sum over the dimensions
    up to the first even one of the product of the sizes after it.
    """
    sizes = sorted(dims, reverse=True)
    cut = 0
    for at, size in enumerate(sizes):
        if size > 1:
            cut += prod(sizes[at + 1 :])
        if size % 2 == 0:
            break
    return cut
