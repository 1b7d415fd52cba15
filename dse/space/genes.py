"""One flat variable of a sampler, and what turns some of them into a row of a block."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dse.space.parameters import Parameter, Value
from dse.space.space import KnobBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class Gene:
    """One flat variable of a sampler.

    Attributes:
        name: Fixed for the whole study.
        kind: ``choice`` (unordered), ``step`` (0 to *size* - 1, ordered) or ``real``.
        size: Number of values of a choice or a step.
        labels: Values of a choice as shown in the sampler's own records; empty: 0 to size - 1.
        low: Least value of a real.
        high: Greatest value of a real.
        log: Whether a real is drawn on a logarithmic scale.
    """

    name: str
    kind: Literal["choice", "step", "real"]
    size: int = 0
    labels: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False


Genes = Mapping[str, int | float]
"""Values of genes by name: positions for choices and steps."""


class BlockCode(ABC):
    """Choice of the rows of one block by genes."""

    block: KnobBlock
    genes: tuple[Gene, ...]

    @abstractmethod
    def row(self, values: Genes, dimensions: int | None) -> tuple[int, int]:
        """The number of network dimensions and the row that *values* mean.

        Args:
            values: Values of at least the genes of this block.
            dimensions: The number of network dimensions, or None if this block decides it.
        """

    @abstractmethod
    def values(self, dimensions: int, row: int) -> dict[str, int | float]:
        """Values of the genes of this block that mean *row*: the reverse of ``row``."""


def gene_of(parameter: Parameter) -> Gene:
    """The gene of a knob that stands for itself."""
    size = len(parameter.choices)
    if parameter.is_ordered:
        return Gene(name=parameter.name, kind="step", size=size)
    return Gene(name=parameter.name, kind="choice", size=size, labels=parameter.choices)
