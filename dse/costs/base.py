"""Base of cost models."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from dse.costs.prices import PriceBook
from simcore import Platform, plain_sum

GB = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """A cost and what it is made of.

    Attributes:
        unit: ``USD``, ``USD/h`` or ``W``.
        parts: Amount per part, in that unit.
        low, high: Between which the total lies as prices go; None: the model knows no range.
    """

    unit: str
    parts: Mapping[str, float]
    low: float | None = None
    high: float | None = None

    @property
    def total(self) -> float:
        """Sum of the parts."""
        return plain_sum(self.parts.values())


class CostModel(ABC):
    """Gives one kind of cost of a platform; ``cost.model`` and ``cost.network`` name a class.

    Each worker, and the process of the search, makes an object of the study's price book, whose
    ``cost`` is then asked of one platform after the other: it depends on nothing but the platform
    and the prices, and, unless the class says that it does not rise, never falls when an NPU count
    or a bandwidth rises.

    Attributes:
        unit: Unit of its costs; studies take those in USD as price of a machine or a network.
        rises: Whether that holds; gaps are proven with such costs alone.
        is_of_parts: Whether it makes machines of parts that are sold. A study that names such a
            model proposes no other machine, whatever it seeks.
        power_model: Name of the model of the power that the same machine draws.
    """

    unit: ClassVar[str] = "USD"
    rises: ClassVar[bool] = True
    is_of_parts: ClassVar[bool] = False
    power_model: ClassVar[str] = "power"

    def __init__(self, prices: PriceBook) -> None:
        """*prices*: quantities in base units, as their names tell."""
        self.prices = prices

    @abstractmethod
    def cost(self, platform: Platform) -> Cost:
        """The cost of *platform*.

        Raises:
            ConfigError: A price that the model needs is given nowhere.
            InfeasibleError: The model knows no such machine.
        """
