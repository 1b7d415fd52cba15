"""NPUs wherever some are free, as on a machine on which jobs have come and gone."""

from collections.abc import Sequence

import numpy as np
from pydantic import Field

from simcore.jobs.allocations.base import AllocationOptions, AllocationRule, no_room


class FragmentedOptions(AllocationOptions):
    """Options of NPUs here and there.

    Attributes:
        block: NPUs in a row, such as those of a host, that are given together; blocks begin at
            multiples of it.
        seed: Of the draw.
    """

    block: int = Field(default=1, ge=1)
    seed: int = Field(default=0, ge=0)


class Fragmented(AllocationRule):
    """Free blocks that are drawn, in ascending order of their numbers.

    The last block may be used in part.
    """

    options = FragmentedOptions

    def allocate(
        self, free: Sequence[int], count: int, options: FragmentedOptions
    ) -> Sequence[int]:
        there, size = set(free), options.block
        blocks = [
            list(range(first, first + size))
            for first in range(0, (max(free, default=-1) // size + 1) * size, size)
            if there.issuperset(range(first, first + size))
        ]
        needed = -(-count // size)
        if needed > len(blocks):
            raise no_room(f"in free blocks of {size}", count, free)
        drawn = np.random.default_rng(options.seed).permutation(len(blocks))[:needed]
        return [npu for block in sorted(drawn.tolist()) for npu in blocks[block]][:count]
