"""Contract of a placement: which rank of a job runs on which NPU."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.schema import Schema

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST_WEIGHED = 4096
"""Ranks whose traffic is weighed, at most: it is a table of all pairs."""


class PlacementOptions(Schema):
    """Options of a placement that has none."""


class Ranks:
    """Ranks that are to be placed on as many NPUs.

    Args:
        count: Ranks, n.
        traffic: Makes ``traffic``.
        distance: Makes ``distance``.
    """

    def __init__(
        self, count: int, traffic: Callable[[], Floats], distance: Callable[[], Floats]
    ) -> None:
        self.count = count
        self._traffic, self._distance = traffic, distance

    @cached_property
    def traffic(self) -> Floats:
        """(n, n) bytes from rank to rank in an iteration.

        Raises:
            ConfigError: There are too many ranks.
        """
        return self._weighed(self._traffic)

    @cached_property
    def distance(self) -> Floats:
        """(n, n) ns for which a byte from NPU to NPU keeps links, added up over its way.

        Raises:
            ConfigError: There are too many ranks.
        """
        return self._weighed(self._distance)

    def cost(self, where: Ints) -> float:
        """Time for which links are kept, added up over all, in ns, with rank i on ``where[i]``."""
        source, target = np.nonzero(self.traffic)
        kept = self.distance[where[source], where[target]]
        return float(self.traffic[source, target] @ kept)

    def _weighed(self, make: Callable[[], Floats]) -> Floats:
        if self.count > MOST_WEIGHED:
            rule = f"weighs the traffic of at most {MOST_WEIGHED} ranks; choose as_is or listed"
            raise ConfigError("placement", rule, got=self.count)
        return make()


class PlacementRule(ABC):
    """Rule by which ranks get their NPUs.

    Attributes:
        options: Names, ranges and defaults of what a file may say.
        weighs_traffic: It chooses by what links carry, which need not be what takes time: ranks
            stay as they are where an iteration is sooner so.
    """

    weighs_traffic: ClassVar[bool] = False
    options: ClassVar[type[PlacementOptions]] = PlacementOptions

    @abstractmethod
    def place(self, ranks: Ranks, options: Any) -> Ints:
        """(n,) NPU of each rank, 0 to n - 1, each once.

        Raises:
            ConfigError: The ranks cannot be placed so.
        """
