"""Shapes that ``simcore profile`` measures: grids, so that times between them can be joined."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """Shapes of one kind of kernel: every combination of the values along its coordinates.

    Attributes:
        axes: Values along each coordinate, in the order of the kind of table.
        bytes_each: Of the operands per element of the shape's largest product of coordinates.
    """

    axes: tuple[Sequence[int], ...]

    @property
    def shapes(self) -> list[Shape]:
        return list(product(*self.axes))


def _powers(first: int, last: int, step: int = 1) -> list[int]:
    return [2**power for power in range(first, last + 1, step)]


_EDGES = [128, 512, 2048, 8192, 32768]

FULL: dict[str, Grid] = {
    "product": Grid((_powers(0, 14), _EDGES, _EDGES)),
    "attention_decode": Grid(
        (_powers(0, 8, 2), [1, 8], [1, 4, 8, 16], _powers(7, 17, 2), [64, 128])
    ),
    "attention_prefill": Grid((_powers(0, 6, 2), [1, 8], [1, 8], _powers(6, 14, 2), [64, 128])),
    "elementwise": Grid((_powers(12, 32, 2),)),
    "norm": Grid((_powers(14, 32, 2),)),
    "copy": Grid((_powers(12, 32, 2),)),
    "optimizer": Grid((_powers(14, 34, 2),)),
}
"""Shapes for an accelerator; those whose operands do not fit in its memory are left out."""

QUICK: dict[str, Grid] = {
    "product": Grid((_powers(0, 12, 4), [512, 4096, 16384], [512, 4096, 16384])),
    "attention_decode": Grid((_powers(0, 6, 3), [1, 8], [1, 8], _powers(8, 14, 3), [128])),
    "attention_prefill": Grid(([1, 8], [1, 8], [1, 8], _powers(7, 13, 3), [128])),
    "elementwise": Grid((_powers(12, 30, 6),)),
    "norm": Grid((_powers(14, 30, 4),)),
    "copy": Grid((_powers(12, 30, 6),)),
    "optimizer": Grid((_powers(14, 30, 4),)),
}
"""Fewer of them: a few minutes on an accelerator."""

ON_PROCESSOR: dict[str, Grid] = {
    "product": Grid(([1, 16, 256], [64, 256, 1024], [64, 256, 1024])),
    "attention_decode": Grid(([1, 4], [1, 4], [1, 4], [64, 512, 4096], [64])),
    "attention_prefill": Grid(([1], [1, 4], [1, 4], [64, 256, 512], [64])),
    "elementwise": Grid((_powers(12, 24, 4),)),
    "norm": Grid((_powers(14, 24, 5),)),
    "copy": Grid((_powers(12, 24, 4),)),
    "optimizer": Grid((_powers(14, 26, 4),)),
}
"""Shapes with which profiling can be tried where there is no accelerator, in about a minute."""

BUFFERS = _powers(10, 30, 2)
"""Bytes of the buffers that collectives reduce or exchange."""
"""Bytes of the buffers on a processor."""
BUFFERS_ON_PROCESSOR = _powers(10, 22, 4)
