"""Contract of a routing: which links each flow takes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from simcore.errors import ConfigError
from simcore.graphs.graph import Floats, Ints, NetworkGraph
from simcore.graphs.routing.table import Route, RouteTable
from simcore.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demands:
    """Senders and receivers.

    Attributes:
        source: (F,) NPU that each flow leaves.
        target: (F,) NPU that it goes to.
        number: (F,) its number, which a hash may use.
        size_bytes: (F,) its bytes, which a routing that balances load may use.
    """

    source: Ints
    target: Ints
    number: Ints
    size_bytes: Floats


class RoutingOptions(Schema):
    """Options that every routing has.

    Attributes:
        npus_forward: Whether messages pass through NPUs; as the network's family says unless given.
        virtual_channels: Virtual channels that links have; a routing that can deadlock with so many
            is refused. Not given: not checked.
    """

    npus_forward: bool | None = None
    virtual_channels: Annotated[int, Field(ge=1)] | None = None


class Routing(ABC):
    """Rule by which flows find their ways.

    Attributes:
        options: Names, ranges and defaults of what a file may say.
    """

    options: ClassVar[type[RoutingOptions]] = RoutingOptions

    @abstractmethod
    def routes(self, graph: NetworkGraph, demands: Demands, options: Any) -> RouteTable:
        """Route of each flow; none where source and target are the same.

        Raises:
            ConfigError: A flow has no way.
        """

    def exact(self, graph: NetworkGraph, demands: Demands, options: Any) -> list[Route]:
        """Routes of the flows as lists; parts of those that are spread as fractions."""
        table = self.routes(graph, demands, options)
        cuts = np.split(table.links, table.offsets[1:-1])
        return [links.tolist() for links in cuts]


def no_way(graph: NetworkGraph, source: int, target: int) -> ConfigError:
    """The error for two nodes that no way joins."""
    through = "" if graph.npus_forward else " that passes through no other NPU"
    rule = f"must join all NPUs that send to each other by a way{through}"
    got = f"none from {graph.name(source)} to {graph.name(target)}"
    return ConfigError("network", rule, got=_Said(got))


class _Said(str):
    """Text that is shown as it stands."""

    def __repr__(self) -> str:
        return str(self)
