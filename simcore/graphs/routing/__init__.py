"""Routings: one class per rule, and the table of their names."""

from simcore.graphs.routing.base import Demands, Routing, RoutingOptions
from simcore.graphs.routing.deadlock import check_virtual_channels, virtual_channels
from simcore.graphs.routing.detours import Ugal, Valiant
from simcore.graphs.routing.dimension_order import DimensionOrder
from simcore.graphs.routing.minimal import DModK, EcmpHash, MinimalLowest
from simcore.graphs.routing.spray import Spray
from simcore.graphs.routing.table import Route, RouteTable, merged
from simcore.graphs.routing.up_down import UpDown
from simcore.registry import Registry, has_options, instance_of

ROUTINGS: Registry[Routing] = Registry(
    "routing",
    {
        "minimal_lowest": MinimalLowest(),
        "ecmp_hash": EcmpHash(),
        "dmodk": DModK(),
        "dimension_order": DimensionOrder(),
        "spray": Spray(),
        "up_down": UpDown(),
        "valiant": Valiant(),
        "ugal": Ugal(),
    },
    check=has_options(RoutingOptions),
    adapt=instance_of(Routing),
)

__all__ = [
    "ROUTINGS",
    "Demands",
    "Route",
    "RouteTable",
    "Routing",
    "RoutingOptions",
    "check_virtual_channels",
    "merged",
    "virtual_channels",
]
