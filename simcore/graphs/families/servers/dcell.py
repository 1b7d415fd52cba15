"""DCell: cells of NPUs around a switch, joined NPU to NPU, again and again."""

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.families.base import Family
from simcore.graphs.families.servers.bcube import ServerCentricParameters
from simcore.graphs.graph import MOST_NODES, Wiring


class DCell(Family):
    """A cell of level l is t + 1 cells of the level below, of t NPUs, each two joined once.

    C. Guo et al., "DCell", SIGCOMM 2008.
    """

    parameters = ServerCentricParameters
    npus_forward = True

    def wire(self, parameters: ServerCentricParameters) -> Wiring:
        n = parameters.n
        sizes = [n]
        for _ in range(parameters.k):
            sizes.append(sizes[-1] * (sizes[-1] + 1))
            if sizes[-1] > MOST_NODES:
                raise ConfigError("k", f"must give at most {MOST_NODES:,} NPUs", got=parameters.k)
        wiring = Wiring(sizes[-1])
        switch = wiring.switches("switch", sizes[-1] // n)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-switch", npus, switch + npus // n)
        for level in range(1, parameters.k + 1):
            part = sizes[level - 1]
            low, high = np.triu_indices(part + 1, 1)
            for cell in range(0, sizes[-1], sizes[level]):
                a, b = cell + low * part + high - 1, cell + high * part + low
                wiring.cables(f"level{level}", a, b)
        return wiring
