"""NPUs in a row."""

from collections.abc import Sequence

from pydantic import Field

from simcore.jobs.allocations.base import AllocationOptions, AllocationRule, no_room


class ContiguousOptions(AllocationOptions):
    """Options of NPUs in a row.

    Attributes:
        first: The first one; the lowest from which enough are free in a row, unless given.
    """

    first: int | None = Field(default=None, ge=0)


class Contiguous(AllocationRule):
    """NPUs with numbers that follow each other."""

    options = ContiguousOptions

    def allocate(
        self, free: Sequence[int], count: int, options: ContiguousOptions
    ) -> Sequence[int]:
        if options.first is not None:
            return range(options.first, options.first + count)
        for at in range(len(free) - count + 1):
            if free[at + count - 1] - free[at] == count - 1:
                return free[at : at + count]
        raise no_room("in a row", count, free)
