"""Contract of a family of networks: from a handful of parameters to a wiring."""

from abc import ABC, abstractmethod
from typing import Annotated, Any, ClassVar

from pydantic import Field

from simcore.graphs.graph import NetworkGraph, Wiring
from simcore.schema import Schema

Count = Annotated[int, Field(ge=1, le=1 << 24)]
"""A number of parts, at least one."""
MaybeNone = Annotated[int, Field(ge=0, le=1 << 24)]
"""A number of parts that may be 0."""
Sizes = Annotated[tuple[Count, ...], Field(min_length=1, max_length=16)]
"""Sizes of dimensions."""


class FamilyParameters(Schema):
    """Parameters that every family has.

    Attributes:
        failed: Numbers of cables, in the order of their creation from 0, that are not there.
    """

    failed: tuple[int, ...] = ()


class Family(ABC):
    """Networks of one kind, told apart by parameters.

    Attributes:
        parameters: Their names, ranges and defaults.
        npus_forward: Whether messages pass through NPUs unless a file says otherwise.
        level_topology: Shape of the dimensions that its levels are like, of ``TOPOLOGIES``.
        through_circuits: Kind of cables that lead through circuit switches, which are set before a
            job; empty: there are none.
    """

    parameters: ClassVar[type[FamilyParameters]]
    npus_forward: ClassVar[bool] = False
    level_topology: ClassVar[str] = "switch"
    through_circuits: ClassVar[str] = ""

    @abstractmethod
    def wire(self, parameters: Any) -> Wiring:
        """Switches and cables of the network, in the order in which they get their numbers.

        Raises:
            ConfigError: Parameters that do not go together.
        """

    def dims(self, parameters: Any) -> tuple[int, ...]:
        """Sizes of the dimensions in which the NPUs have coordinates; empty: none."""
        return ()

    def levels(self, parameters: Any) -> tuple[int, ...]:
        """NPUs of each level, innermost first, along which groups of NPUs are laid."""
        return self.dims(parameters)

    def domain(self, parameters: Any) -> tuple[int, str] | None:
        """NPUs of a scale-up domain and the kind of its cables; None: there are no domains.

        Domains are consecutive NPUs, and messages within one stay on its cables.
        """
        return None

    def wraps(self) -> bool:
        """True if the ends of a dimension of three or more are joined."""
        return False

    def bisection(self, parameters: Any) -> tuple[int, str] | None:
        """Cables of the narrowest cut into halves and the source of the formula; None: no formula.

        Only asked where no cable has failed.
        """
        return None


def build_family(family: Family, params: object, at: str = "params") -> NetworkGraph:
    """The network of *family* with *params*, as read from a file at the place *at*.

    Raises:
        ConfigError: An unknown parameter, one out of range, or such that do not go together.
    """
    from dataclasses import replace

    parameters = family.parameters.from_file_data(params, at=at)
    graph = family.wire(parameters).graph(parameters.failed)
    dims, wraps = family.dims(parameters), family.wraps()
    graph = replace(graph, npus_forward=family.npus_forward, dims=dims, wraps=wraps)
    if family.through_circuits not in graph.kinds:
        return graph
    from simcore.graphs.circuits import standing

    return replace(graph, circuits=standing(graph, family.through_circuits))
