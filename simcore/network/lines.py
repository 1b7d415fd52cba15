"""Dimensions of a machine as lines of a graph."""

from collections.abc import Sequence

from simcore.errors import ConfigError
from simcore.graphs.stack import JoinedLine, NetworkLine, ShapedLine
from simcore.network.base import NetworkDimension


def lines_of(dimensions: Sequence[NetworkDimension]) -> list[JoinedLine]:
    """Each dimension of a shape, and each network once.

    Raises:
        ConfigError: Levels of a network are missing, or a network breaks a rule.
    """
    found: list[JoinedLine] = []
    at = 0
    while at < len(dimensions):
        one = dimensions[at]
        if one.network is None:
            found.append(ShapedLine(one.topology, one.npus, one.bytes_per_ns, one.latency_ns))
            at += 1
            continue
        line, joined, level = NetworkLine(one.network), 1, 0
        while joined < line.npus and at < len(dimensions):
            if dimensions[at].network != one.network or dimensions[at].level != level:
                rule = "must hold all levels of a network, one after the other"
                raise ConfigError(f"dimensions[{at}]", rule, got=dimensions[at].topology)
            joined, at, level = joined * dimensions[at].npus, at + 1, level + 1
        found.append(line)
    return found
