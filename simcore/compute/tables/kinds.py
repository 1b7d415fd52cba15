"""Kinds of measured kernels: their coordinates, and the bound that their times follow."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.machine import Npu
from simcore.terms import FORMATS, NumberFormat, Precision

Floats = NDArray[np.float64]
Columns = Mapping[str, Floats]
Work = tuple[Floats, Floats]
"""FLOP, and bytes that must come from memory."""

TABLE_FORMATS = {**FORMATS, "fp32": NumberFormat(4.0, Precision.FP32)}
"""Number formats of tables; 16 bits of either kind are ``bf16``."""

_FLOP_PER_US, _BYTES_PER_US = 1e9, 4e6
"""Rates of the bound in us, whose course alone matters: 1 PFLOP/s of 8 bits, and 4 TB/s."""


@dataclass(frozen=True, slots=True)
class TableKind:
    """A kind of kernel as tables hold it.

    Attributes:
        shape: Columns that are coordinates.
        work: FLOP and bytes of kernels, from the bytes of a stored number and the coordinates.
        floor_us: About what the least kernel takes.
        reads_surely: At least the bytes of ``work`` are read; false: about as many.
        is_product: It multiplies in the format of the table, and not in 16 bits.
        has_lines: Its points lie on lines along the first coordinate; see ``Lines``.
    """

    shape: tuple[str, ...]
    work: Callable[[float, Columns], Work]
    floor_us: float
    reads_surely: bool = True
    is_product: bool = False
    has_lines: bool = False

    def bound_us(self, format_: str, at: Columns) -> Floats:
        """Time that varies with the shape about as the measured one does."""
        size = TABLE_FORMATS[format_].weight_bytes
        flop, moved = self.work(size, at)
        flop_us = flop * (size if self.is_product else 2.0) / _FLOP_PER_US
        return np.maximum(flop_us, moved / _BYTES_PER_US) + self.floor_us

    def least_us(self, npu: Npu, format_: str, at: Columns) -> Floats:
        """Time that the peaks of *npu* allow at least."""
        flop, moved = self.work(TABLE_FORMATS[format_].weight_bytes, at)
        product = TABLE_FORMATS[format_].product if self.is_product else Precision.BF16
        peak = npu.peak(product if product in npu.peak_flop_per_s else Precision.BF16)
        surely = moved if self.reads_surely else 0 * moved
        return 1e6 * np.maximum(flop / peak, surely / npu.memory_bandwidth_bytes_per_s)


def _product(size: float, at: Columns) -> Work:
    m, n, k = at["m"], at["n"], at["k"]
    return 2 * m * n * k, size * k * (m + n) + 2 * m * n


def _decode(size: float, at: Columns) -> Work:
    cached = at["sequences"] * at["key_heads"] * at["keys"] * at["width"]
    return 4 * cached * at["group"], 2 * size * cached


def _prefill(size: float, at: Columns) -> Work:
    heads = at["sequences"] * at["key_heads"] * at["group"]
    return 2 * heads * at["keys"] ** 2 * at["width"], 0 * heads


def _latent_decode(size: float, at: Columns) -> Work:
    cached = at["sequences"] * at["keys"]
    return 2 * (576 + 512) * cached * at["heads"], 576 * size * cached


def _latent_prefill(size: float, at: Columns) -> Work:
    scores = at["sequences"] * at["heads"] * at["keys"] ** 2 / 2
    return 2 * (192 + 128) * scores, 0 * scores


def _experts(size: float, at: Columns) -> Work:
    # rows that spread evenly and at random; where they crowd, fewer experts are met
    met = at["held"] * -np.expm1(-at["rows"])
    of_one = 3 * at["hidden"] * at["inner"]
    return 2 * at["rows"] * at["held"] * of_one, size * met * of_one


def _stream(size: float, at: Columns) -> Work:
    return 0 * at["bytes"], at["bytes"]


_ATTENTION = ("sequences", "key_heads", "group", "keys", "width")
_LATENT = ("sequences", "heads", "keys")
# bytes that the caches of the accelerator hold need not come from memory
_STREAM = TableKind(("bytes",), _stream, 2.0, reads_surely=False)

TABLE_KINDS: dict[str, TableKind] = {
    "product": TableKind(("m", "n", "k"), _product, 2.0, is_product=True),
    "attention_decode": TableKind(_ATTENTION, _decode, 3.0),
    "attention_prefill": TableKind(_ATTENTION, _prefill, 3.0),
    "latent_decode": TableKind(_LATENT, _latent_decode, 4.0),
    "latent_prefill": TableKind(_LATENT, _latent_prefill, 4.0),
    "experts": TableKind(
        ("rows", "held", "hidden", "inner"),
        _experts,
        8.0,
        reads_surely=False,
        is_product=True,
        has_lines=True,
    ),
    "elementwise": _STREAM,
    "norm": _STREAM,
    "copy": _STREAM,
    "optimizer": _STREAM,
}
"""By the names of their files: an (m, k) by (k, n) product; attention of sequences, whose queries
share a head of keys in groups; latent attention, with the widths of DeepSeek-V2 and later; and the
experts that one accelerator holds, with so many rows each: all products, and what is between; and
kernels that stream, by the bytes that they read and write."""
