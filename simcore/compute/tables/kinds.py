"""Kinds of measured kernels: their coordinates, and the bound that their times follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of kernel as tables hold it.

    Attributes:
        shape: Columns that are coordinates.
        bound_us: Time that varies with the shape about as the measured one does, of which tables
            keep the multiple: with bytes per stored number, and the coordinates.
        width: Head width is a key of the table.
    """

    shape: tuple[str, ...]
    bound_us: Callable[[float, Columns], Floats]
    by_width: bool = False


_FLOP_PER_US, _BYTES_PER_US = 1e9, 4e6
"""Rates of the bounds: 1 PFLOP/s of 8 bits and 4 TB/s. Only the course of a bound matters."""


def _product(size: float, at: Columns) -> Floats:
    m, n, k = at["m"], at["n"], at["k"]
    moved = size * k * (m + n) + 2 * m * n
    return np.maximum(2 * m * n * k * size / _FLOP_PER_US, moved / _BYTES_PER_US) + 2


def _decode(size: float, at: Columns) -> Floats:
    cached = at["sequences"] * at["key_heads"] * at["keys"]
    return 2 * 128 * size * cached / _BYTES_PER_US + 3


def _prefill(size: float, at: Columns) -> Floats:
    heads = at["sequences"] * at["key_heads"] * at["group"]
    return 2 * 128 * heads * at["keys"] ** 2 / _FLOP_PER_US + 3


def _latent_decode(size: float, at: Columns) -> Floats:
    return 576 * size * at["sequences"] * at["keys"] / _BYTES_PER_US + 4


def _latent_prefill(size: float, at: Columns) -> Floats:
    return 320 * at["sequences"] * at["heads"] * at["keys"] ** 2 / _FLOP_PER_US + 4


def _experts(size: float, at: Columns) -> Floats:
    met = at["held"] * -np.expm1(-at["rows"])
    of_one = at["hidden"] * at["inner"] * size
    flop = 6 * at["rows"] * at["held"] * of_one
    return np.maximum(3 * met * of_one / _BYTES_PER_US, flop / _FLOP_PER_US) + 8


_ATTENTION = ("sequences", "key_heads", "group", "keys")
_LATENT = ("sequences", "heads", "keys")

TABLE_KINDS: dict[str, TableKind] = {
    "product": TableKind(("m", "n", "k"), _product),
    "attention_decode": TableKind(_ATTENTION, _decode, by_width=True),
    "attention_prefill": TableKind(_ATTENTION, _prefill, by_width=True),
    "latent_decode": TableKind(_LATENT, _latent_decode),
    "latent_prefill": TableKind(_LATENT, _latent_prefill),
    "experts": TableKind(("rows", "held", "hidden", "inner"), _experts),
}
"""By the names of their files: an (m, k) by (k, n) product; attention of sequences whose queries
share a head of keys in groups; latent attention; the experts that an accelerator holds, with so
many rows each, all products and the activation between them."""
