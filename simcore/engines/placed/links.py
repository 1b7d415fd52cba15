"""Links of a machine under the traffic of ranks that are placed on it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.engines.placed.traffic import AxisTraffic
from simcore.graphs.stack import StackedGraph
from simcore.network import NetworkDimension
from simcore.network.lines import lines_of

Floats = NDArray[np.float64]

_PAIRS_AT_ONCE = 1 << 18


class PlacedLinks:
    """Links of a machine, and what keeps them.

    Args:
        dimensions: Of the machine, innermost first.

    Raises:
        ConfigError: A network breaks a rule.
    """

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        self.stack = StackedGraph(lines_of(dimensions))

    def distance(self, npus: Ints) -> Floats:
        """(n, n) ns for which a byte from one of *npus* to another keeps links, added up."""
        count = len(npus)
        found = np.zeros(count * count)
        rows = max(1, _PAIRS_AT_ONCE // count)
        for first in range(0, count, rows):
            source = np.repeat(npus[first : first + rows], count)
            kept, _ = self._kept(source, np.tile(npus, len(source) // count))
            found[first * count : first * count + len(kept)] = kept
        return found.reshape(count, count)

    def _kept(self, source: Ints, target: Ints) -> tuple[Floats, Floats]:
        """Time in ns for which a byte of each pair keeps links, and links that it crosses."""
        routes = self.stack.ways(source, target)
        pair = np.repeat(np.arange(len(source)), np.diff(routes.offsets))
        kept = routes.parts / self.stack.bytes_per_ns[routes.links]
        links = np.bincount(pair, routes.parts, len(source))
        return np.bincount(pair, kept, len(source)).astype(np.float64), links.astype(np.float64)

    def crossed(self, traffic: AxisTraffic, where: Ints) -> float:
        """Links that a byte crosses, on average, with rank i on NPU ``where[i]``."""
        whole = float(traffic.size_bytes.sum())
        if not whole:
            return 0.0
        total = 0.0
        for first in range(0, len(traffic.source), _PAIRS_AT_ONCE):
            part = slice(first, first + _PAIRS_AT_ONCE)
            _, links = self._kept(where[traffic.source[part]], where[traffic.target[part]])
            total += float(links @ traffic.size_bytes[part])
        return total / whole

    def carried(self, source: Ints, target: Ints, size_bytes: Floats) -> Floats:
        """(L,) bytes on each link of what NPUs *source* (F,) send NPUs *target* (F,)."""
        found = np.zeros(len(self.stack.bytes_per_ns))
        for first in range(0, len(source), _PAIRS_AT_ONCE):
            part = slice(first, first + _PAIRS_AT_ONCE)
            routes = self.stack.ways(source[part], target[part])
            sent = np.repeat(size_bytes[part], np.diff(routes.offsets)) * routes.parts
            found += np.bincount(routes.links, sent, len(found))
        return found

    def kept_ns(self, traffic: Sequence[AxisTraffic], where: Ints) -> Floats:
        """(L,) ns for which each link is kept, with rank i on NPU ``where[i]``."""
        found = np.zeros(len(self.stack.bytes_per_ns))
        for one in traffic:
            found += self.carried(where[one.source], where[one.target], one.size_bytes)
        return np.asarray(found / self.stack.bytes_per_ns, np.float64)
