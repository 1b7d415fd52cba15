"""NPUs of a job as a machine of their own: levels along which its groups and collectives lie."""

from collections.abc import Sequence

import numpy as np

from simcore.kernels.collectives.topology_codes import TABLE
from simcore.machine import Dimension, Platform


def part_for(platform: Platform, npus: Sequence[int]) -> Platform:
    """Machine of *npus*, in their order.

    Along a dimension lie as many of them as there are equally many of in each of its lines, one
    after the other; what is irregular lies along the outermost one.
    """
    dimensions = tuple(
        _part_of(platform.dimensions[at], extent)
        for at, extent in levels_of(npus, [one.npus for one in platform.dimensions])
    )
    update = {"dimensions": dimensions, "npu_scale": platform.scale_of(npus), "network": None}
    return platform.model_copy(update=update)


def levels_of(npus: Sequence[int], sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Dimensions that *npus* differ in, innermost first, and how many differ in each.

    Args:
        npus: NPUs of a job, in the order of its ranks.
        sizes: NPUs of the machine's dimensions.
    """
    blocks, found = np.asarray(npus, np.int64), list[tuple[int, int]]()
    for at, size in enumerate(sizes):
        count = len(blocks)
        extent = count if at == len(sizes) - 1 else _in_one_line(blocks // size)
        if extent > 1:
            found.append((at, extent))
        blocks = blocks[::extent] // size
    return found


def _in_one_line(lines: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> int:
    """The most that follow each other, everywhere equally many, in one line."""
    count = len(lines)
    for extent in range(count, 1, -1):
        if count % extent == 0:
            rows = lines.reshape(-1, extent)
            if (rows == rows[:, :1]).all():
                return extent
    return 1


def _part_of(dimension: Dimension, extent: int) -> Dimension:
    topology = dimension.topology
    if extent != dimension.npus and dimension.shape.kernel_code == TABLE:
        topology = "switch"  # a part of such a shape is another shape
    update = {"npus": extent, "network": None, "level": 0, "topology": topology}
    return dimension.model_copy(update=update)
