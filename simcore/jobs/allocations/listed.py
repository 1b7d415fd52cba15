"""NPUs that a file lists."""

from collections.abc import Sequence

from simcore.jobs.allocations.base import AllocationOptions, AllocationRule


class ListedOptions(AllocationOptions):
    """Options of listed NPUs.

    Attributes:
        npus: NPU of each rank.
    """

    npus: tuple[int, ...]


class Listed(AllocationRule):
    """NPUs by their numbers, rank by rank."""

    options = ListedOptions

    def allocate(self, free: Sequence[int], count: int, options: ListedOptions) -> Sequence[int]:
        return options.npus
