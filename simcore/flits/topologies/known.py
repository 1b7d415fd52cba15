"""Topologies by name, each with its routing functions."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from simcore.flits.topologies.any_network import any_network
from simcore.flits.topologies.butterfly import butterfly
from simcore.flits.topologies.dragonfly import dragonfly
from simcore.flits.topologies.fat_tree import fat_tree
from simcore.flits.topologies.flattened import flattened
from simcore.flits.topologies.grid import concentrated, mesh, torus
from simcore.flits.topologies.wires import Wires
from simcore.kernels.flits.routes import rule


class Routing(NamedTuple):
    """A routing function.

    Attributes:
        kind: Of the kernel's.
        least: Virtual channels that it needs.
        parts: Equal parts that it divides them into.
        skipped: Thirds of them that it leaves unused between routers.
    """

    kind: int
    least: int = 1
    parts: int = 1
    skipped: int = 0


class Topology(NamedTuple):
    """A topology.

    Attributes:
        wires: Its links, from parameters.
        routings: Its routing functions by name.
    """

    wires: Callable[[Mapping[str, Any]], Wires]
    routings: Mapping[str, Routing]


TOPOLOGIES: Mapping[str, Topology] = {
    "mesh": Topology(
        mesh,
        {
            "dor": Routing(rule.MESH),
            "dim_order": Routing(rule.MESH),
            "xy_yx": Routing(rule.ORDER, 2, 2),
            "adaptive_xy_yx": Routing(rule.ADAPTIVE_ORDER, 2, 2),
            "romm": Routing(rule.ROMM, 2, 2),
            "valiant": Routing(rule.VALIANT, 2, 2),
            "min_adapt": Routing(rule.ESCAPE_MESH, 2),
            # the way in the next dimension has the same priority, and BookSim 2 keeps but one
            "planar_adapt": Routing(rule.MESH, skipped=2),
        },
    ),
    "torus": Topology(
        torus,
        {
            "dim_order": Routing(rule.TORUS, 2, 2),
            "dim_order_bal": Routing(rule.BALANCED_TORUS, 2, 2),
            "min_adapt": Routing(rule.ESCAPE_TORUS, 4),
            "valiant": Routing(rule.VALIANT_TORUS, 4, 4),
        },
    ),
    "cmesh": Topology(concentrated, {"dor_no_express": Routing(rule.MESH)}),
    "fly": Topology(butterfly, {"dest_tag": Routing(rule.TABLE)}),
    "fattree": Topology(fat_tree, {"nca": Routing(rule.TREE), "anca": Routing(rule.ADAPTIVE_TREE)}),
    "flatfly": Topology(
        flattened,
        {
            "ran_min": Routing(rule.TABLE),
            "xyyx": Routing(rule.FLAT_ORDER, 2, 2),
            "adaptive_xyyx": Routing(rule.FLAT_ADAPTIVE_ORDER, 2, 2),
            "valiant": Routing(rule.FLAT_VALIANT, 2, 2),
            "ugal": Routing(rule.FLAT_DETOUR, 2, 2),
        },
    ),
    "dragonflynew": Topology(
        dragonfly,
        {"min": Routing(rule.GROUPS, 2), "ugal": Routing(rule.ADAPTIVE_GROUPS, 3)},
    ),
    "anynet": Topology(any_network, {"min": Routing(rule.TABLE)}),
}
