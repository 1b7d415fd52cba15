"""HyperX: a grid of switches, all joined along each dimension."""

from math import prod

import numpy as np

from simcore.graphs.families.base import Count, Family, FamilyParameters, Sizes
from simcore.graphs.families.grids.coordinates import coordinates
from simcore.graphs.graph import Ints, Wiring


class HyperXParameters(FamilyParameters):
    """Size of a HyperX.

    Attributes:
        dims: Switches in each dimension.
        terminals: NPUs of each switch.
    """

    dims: Sizes
    terminals: Count


class HyperX(Family):
    """Switches of a grid, each joined to all that differ from it in one coordinate.

    J. Ahn et al., "HyperX", SC 2009; a flattened butterfly where all dimensions are equal.
    """

    parameters = HyperXParameters

    def wire(self, parameters: HyperXParameters) -> Wiring:
        dims, terminals = parameters.dims, parameters.terminals
        switches = prod(dims)
        wiring = Wiring(switches * terminals)
        first = wiring.switches("switch", switches)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-switch", npus, first + npus // terminals)
        at, stride = coordinates(dims), 1
        for dim, size in enumerate(dims):
            higher = size - 1 - at[dim]
            low = np.repeat(np.arange(switches), higher)
            begin = np.repeat(np.cumsum(higher) - higher, higher)
            steps = np.arange(len(low)) - begin + 1
            wiring.cables(f"dim{dim}", first + low, first + low + steps * stride)
            stride *= size
        return wiring

    def levels(self, parameters: HyperXParameters) -> tuple[int, ...]:
        return parameters.terminals, *parameters.dims

    def bisection(self, parameters: HyperXParameters) -> tuple[int, str] | None:
        """Best over the numbers of switches on one side, their NPUs counted or moved.

        J. Lindsey, "Assignment of numbers to vertices", Amer. Math. Monthly 71, 1964: of all sets
        of so many switches, the first ones, counted along the largest dimension first, have the
        fewest cables out.
        """
        sizes = sorted(parameters.dims, reverse=True)
        switches = prod(sizes)
        out = _cables_out(sizes)
        terminals = parameters.terminals
        moved = np.abs(np.arange(switches + 1) * terminals - switches * terminals // 2)
        return int((out + moved).min()), "Lindsey, 1964"


def _cables_out(sizes: list[int]) -> Ints:
    """(switches + 1,) int64: cables out of the first so many switches."""
    at = coordinates(sizes)
    # a switch has as many cables to earlier ones as its coordinates add up to, for its row in
    # each dimension begins with the switches of lower coordinates, which are all earlier
    change = sum(size - 1 for size in sizes) - 2 * at.sum(axis=0)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(change)])
