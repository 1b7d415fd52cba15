"""Contract of an allocation: which NPUs of a machine a job gets."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from pydantic import Field

from simcore.errors import ConfigError
from simcore.schema import Schema


class AllocationOptions(Schema):
    """Options that every allocation has.

    Attributes:
        count: NPUs; as many as the job's plan has unless given.
    """

    count: int | None = Field(default=None, ge=1)


class AllocationRule(ABC):
    """Rule by which a job gets its NPUs.

    Attributes:
        options: Names, ranges and defaults of what a file may say.
    """

    options: ClassVar[type[AllocationOptions]] = AllocationOptions

    @abstractmethod
    def allocate(self, free: Sequence[int], count: int, options: Any) -> Sequence[int]:
        """NPUs of a job, that of its rank 0 first.

        Args:
            free: NPUs that no job has yet, ascending.
            count: How many NPUs it is to get.
            options: What the file says.

        Raises:
            ConfigError: There are no such NPUs.
        """


def no_room(what: str, count: int, free: Sequence[int]) -> ConfigError:
    """The error for a job of *count* NPUs for which the *free* ones do not do."""
    return ConfigError("", f"must find {count} NPUs {what}", got=f"{len(free)} free ones")
