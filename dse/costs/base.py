"""What a cost model does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

from simcore import Platform

GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A cost and what it is made of.

    Attributes:
        unit: ``USD``, ``USD/h`` or ``W``.
        parts: Amount per part, in that unit.
    """

    unit: str
    parts: Mapping[str, float]

    @property
    def total(self) -> float:
        """Sum of the parts."""
        return sum(self.parts.values())


class CostModel(ABC):
    """Gives one kind of cost of a platform, from the prices it was built with.

    Never falls when an NPU count or a bandwidth rises.
    """

    @abstractmethod
    def cost(self, platform: Platform) -> Cost:
        """The cost of *platform*.

        Raises:
            ConfigError: A price that the model needs is given nowhere.
            InfeasibleError: The model knows no such machine.
        """
