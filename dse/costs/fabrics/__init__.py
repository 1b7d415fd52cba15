"""Fabrics by name: what a builder's parameters make of switches and links."""

from dse.costs.fabrics.base import Fabric, FabricCounts
from dse.costs.fabrics.clos import Clos2, Clos3
from dse.costs.fabrics.groups import BCube, Dragonfly, DragonflyGroup, HyperX, SlimFly
from dse.costs.fabrics.pods import Clos2Zones, Clos3Oversubscribed
from dse.costs.fabrics.rails import Clos2Planes, Clos2Rail, Clos3Rail, RailOnly, RailOnlyPlanes
from dse.costs.fabrics.scale_up import Clos1Pair, NvlDomain
from dse.costs.fabrics.unspecified import Unspecified
from dse.costs.fabrics.unswitched import Direct, Torus, Torus3dOcs
from simcore import Registry, class_of

FABRICS: Registry[type[Fabric]] = Registry(
    "fabric",
    {
        "bcube": BCube,
        "clos1_pair": Clos1Pair,
        "clos2": Clos2,
        "clos2_planes": Clos2Planes,
        "clos2_rail": Clos2Rail,
        "clos2_zones": Clos2Zones,
        "clos3": Clos3,
        "clos3_oversub": Clos3Oversubscribed,
        "clos3_rail": Clos3Rail,
        "direct": Direct,
        "dragonfly": Dragonfly,
        "dragonfly_group": DragonflyGroup,
        "hyperx": HyperX,
        "nvl_domain": NvlDomain,
        "rail_only": RailOnly,
        "rail_only_planes": RailOnlyPlanes,
        "slimfly": SlimFly,
        "torus": Torus,
        "torus3d_ocs": Torus3dOcs,
        "unspecified": Unspecified,
    },
    adapt=class_of(Fabric),
)

__all__ = ["FABRICS", "Fabric", "FabricCounts"]
