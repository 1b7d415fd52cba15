"""Fabrics by name: what a builder's parameters make of switches and links."""

from dse.costs.fabrics.base import Fabric, FabricCounts
from simcore import Registry, class_of

FABRICS: Registry[type[Fabric]] = Registry(
    "fabric",
    {
        "bcube": "dse.costs.fabrics.groups:BCube",
        "clos1_pair": "dse.costs.fabrics.scale_up:Clos1Pair",
        "clos2": "dse.costs.fabrics.clos:Clos2",
        "clos2_planes": "dse.costs.fabrics.rails:Clos2Planes",
        "clos2_rail": "dse.costs.fabrics.rails:Clos2Rail",
        "clos2_zones": "dse.costs.fabrics.pods:Clos2Zones",
        "clos3": "dse.costs.fabrics.clos:Clos3",
        "clos3_oversub": "dse.costs.fabrics.pods:Clos3Oversubscribed",
        "clos3_rail": "dse.costs.fabrics.rails:Clos3Rail",
        "direct": "dse.costs.fabrics.unswitched:Direct",
        "dragonfly": "dse.costs.fabrics.groups:Dragonfly",
        "dragonfly_group": "dse.costs.fabrics.groups:DragonflyGroup",
        "hyperx": "dse.costs.fabrics.groups:HyperX",
        "nvl_domain": "dse.costs.fabrics.scale_up:NvlDomain",
        "rail_only": "dse.costs.fabrics.rails:RailOnly",
        "rail_only_planes": "dse.costs.fabrics.rails:RailOnlyPlanes",
        "slimfly": "dse.costs.fabrics.groups:SlimFly",
        "torus": "dse.costs.fabrics.unswitched:Torus",
        "torus3d_ocs": "dse.costs.fabrics.unswitched:Torus3dOcs",
        "unspecified": "dse.costs.fabrics.unspecified:Unspecified",
    },
    adapt=class_of(Fabric),
)

__all__ = ["FABRICS", "Fabric", "FabricCounts"]
