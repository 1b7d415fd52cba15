"""Structure of network graphs: counts, distances, ways, cuts."""

from simcore.graphs.structure.bisection import Bisection, bisection
from simcore.graphs.structure.describe import Structure, describe
from simcore.graphs.structure.ways import shortest_ways

__all__ = ["Bisection", "Structure", "bisection", "describe", "shortest_ways"]
