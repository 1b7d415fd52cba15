"""NPUs at equal distances."""

from collections.abc import Sequence

from pydantic import Field

from simcore.jobs.allocations.base import AllocationOptions, AllocationRule


class StridedOptions(AllocationOptions):
    """Options of NPUs at equal distances.

    Attributes:
        first: The first one.
        step: From each to the next.
    """

    first: int = Field(default=0, ge=0)
    step: int = Field(ge=1)


class Strided(AllocationRule):
    """Every so many NPUs one, such as one of each host."""

    options = StridedOptions

    def allocate(self, free: Sequence[int], count: int, options: StridedOptions) -> Sequence[int]:
        return range(options.first, options.first + count * options.step, options.step)
