"""Layers and arrays: what a systolic array is asked to work out, and with what."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from simcore.errors import ConfigError

MOST_ACROSS = 1 << 31
"""Most of anything along one dimension of a layer."""
MOST_WORDS = 1 << 40
"""Most words of an operand."""
MOST_ON_A_SIDE = 1 << 16
"""Most rows, and most columns, of an array."""
MOST_BUFFER_WORDS = 1 << 40
LEAST_BUFFER_WORDS = 100
"""Fewest words of a buffer, which is counted in hundredths."""
MOST_FOLDS = 1 << 31


class Dataflow(StrEnum):
    """Operand of a product that stays in the array, as SCALE-Sim names it."""

    OUTPUT = "os"
    WEIGHT = "ws"
    INPUT = "is"


def _check(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ConfigError(name, f"must be from {least} to {most:,}", got=value)


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution without padding, of one image; a matrix product is one with one row.

    Attributes:
        ifmap_h, ifmap_w: Rows and columns of the input.
        filt_h, filt_w: Of a filter.
        channels: Of both.
        num_filt: Filters.
        stride_h, stride_w: Steps of the filter down and across. Where they do not divide what is
            left of the input, one more, partly empty window is counted.
    """

    ifmap_h: int
    ifmap_w: int
    filt_h: int
    filt_w: int
    channels: int
    num_filt: int
    stride_h: int = 1
    stride_w: int = 1

    def __post_init__(self) -> None:
        for name in self.__slots__:
            _check(name, getattr(self, name), 1, MOST_ACROSS)
        for side, size, window in (("h", self.out_h, self.filt_h), ("w", self.out_w, self.filt_w)):
            if size < 1:
                rule = f"must be so small that a window fits into ifmap_{side}"
                raise ConfigError(f"filt_{side}", rule, got=window)
        m, n, k = self.product
        for words in (m * k, k * n, m * n):
            _check("words of an operand", words, 1, MOST_WORDS)

    @classmethod
    def gemm(cls, m: int, n: int, k: int) -> Self:
        """A product of an (m, k) and a (k, n) matrix."""
        return cls(m, k, 1, k, 1, n)

    @property
    def out_h(self) -> int:
        """Rows of windows."""
        return -(-(self.ifmap_h - self.filt_h + self.stride_h) // self.stride_h)

    @property
    def out_w(self) -> int:
        """Columns of windows."""
        return -(-(self.ifmap_w - self.filt_w + self.stride_w) // self.stride_w)

    @property
    def product(self) -> tuple[int, int, int]:
        """Rows, columns and depth (m, n, k) of the product that the layer becomes."""
        return self.out_h * self.out_w, self.num_filt, self.filt_h * self.filt_w * self.channels


@dataclass(frozen=True, slots=True)
class Array:
    """A systolic array with a buffer for each operand.

    Attributes:
        rows, cols: Of multiply-add units.
        dataflow: Operand that stays in them.
        ifmap_words, filter_words, ofmap_words: Sizes of the buffers; a word is one byte.
        bandwidth: Words per cycle between each buffer and memory; None: no limit.
    """

    rows: int
    cols: int
    dataflow: Dataflow
    ifmap_words: int
    filter_words: int
    ofmap_words: int
    bandwidth: int | None = None

    def __post_init__(self) -> None:
        for name in ("rows", "cols"):
            _check(name, getattr(self, name), 1, MOST_ON_A_SIDE)
        for name in ("ifmap_words", "filter_words", "ofmap_words"):
            _check(name, getattr(self, name), LEAST_BUFFER_WORDS, MOST_BUFFER_WORDS)
        if self.bandwidth is not None:
            _check("bandwidth", self.bandwidth, 1, MOST_ACROSS)
