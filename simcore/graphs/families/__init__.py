"""Families of networks: one file per family, and the table of their names."""

from simcore.graphs.families.base import Family, FamilyParameters, build_family
from simcore.graphs.families.checks import check_family
from simcore.graphs.families.grids.hypercube import Hypercube
from simcore.graphs.families.grids.mesh import Mesh
from simcore.graphs.families.grids.ring import Ring
from simcore.graphs.families.grids.torus import Torus
from simcore.graphs.families.grids.torus_slice import TorusSlice
from simcore.graphs.families.grids.twisted_torus import TwistedTorus
from simcore.graphs.families.low_diameter.dragonfly import Dragonfly
from simcore.graphs.families.low_diameter.dragonfly_plus import DragonflyPlus
from simcore.graphs.families.low_diameter.fully_connected import FullyConnected
from simcore.graphs.families.low_diameter.hyperx import HyperX
from simcore.graphs.families.low_diameter.slim_fly import SlimFly
from simcore.graphs.families.servers.bcube import BCube
from simcore.graphs.families.servers.dcell import DCell
from simcore.graphs.families.servers.hybrid_cube_mesh import HybridCubeMesh
from simcore.graphs.families.servers.islands import Islands
from simcore.graphs.families.trees.domains import Domains
from simcore.graphs.families.trees.fat_tree import FatTree
from simcore.graphs.families.trees.leaf_spine import LeafSpine
from simcore.graphs.families.trees.nvl_rails import NvlRails
from simcore.graphs.families.trees.rails import Rails
from simcore.graphs.families.trees.star import Star
from simcore.registry import Registry, instance_of

FAMILIES: Registry[Family] = Registry(
    "family",
    {
        "ring": Ring(),
        "mesh": Mesh(),
        "torus": Torus(),
        "twisted_torus": TwistedTorus(),
        "torus_slice": TorusSlice(),
        "hypercube": Hypercube(),
        "fully_connected": FullyConnected(),
        "star": Star(),
        "hyperx": HyperX(),
        "leaf_spine": LeafSpine(),
        "fat_tree": FatTree(),
        "rails": Rails(),
        "nvl_rails": NvlRails(),
        "domains": Domains(),
        "dragonfly": Dragonfly(),
        "dragonfly_plus": DragonflyPlus(),
        "hybrid_cube_mesh": HybridCubeMesh(),
        "islands": Islands(),
        "bcube": BCube(),
        "dcell": DCell(),
        "slim_fly": SlimFly(),
    },
    check=check_family,
    adapt=instance_of(Family),
)

__all__ = ["FAMILIES", "Family", "FamilyParameters", "build_family"]
