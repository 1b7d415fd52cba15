"""Schedules of all-gathers by matching chunks to links; networks without switches only."""

import numpy as np

from simcore.errors import SimulationError
from simcore.kernels.synthesis.matching import match
from simcore.synthesis.fabric import Fabric
from simcore.synthesis.kinds import ALL_GATHER
from simcore.synthesis.schedule import Schedule, ordered

_MOST_LOOKS = 30_000_000


def can_match(fabric: Fabric, count: int) -> bool:
    """True if a matching of *count* chunks a piece is known how to find, in little time."""
    chunks = fabric.npus * count
    looks = chunks * chunks * (fabric.npus - 1)
    return fabric.nodes == fabric.npus > 1 and looks <= _MOST_LOOKS


def matched(fabric: Fabric, count: int, part: float, draw: int) -> Schedule:
    """A schedule of an all-gather by matching; even draws send the rarest chunks first.

    Args:
        fabric: The network.
        count: Chunks of a piece.
        part: Size of each.
        draw: Seed of the choice among equals.

    Raises:
        SimulationError: An NPU cannot be reached.
    """
    npus, chunks = fabric.npus, fabric.npus * count
    owner = np.tile(np.arange(npus), count)
    most = chunks * (npus - 1)
    chunk, arc = np.zeros(most, np.int64), np.zeros(most, np.int64)
    start = np.zeros(most)
    order = np.argsort(fabric.link, kind="stable")
    offsets = np.searchsorted(fabric.link[order], np.arange(fabric.links + 1)).astype(np.int64)
    takes = part / fabric.rate
    noise = np.random.default_rng(draw).random(max(8 * chunks, fabric.links) + 1)
    ways = fabric.tail, fabric.head, offsets, order
    who = owner, npus, *ways, takes, fabric.latency
    if match(*who, noise, draw % 2 == 0, chunk, arc, start) < most:
        raise SimulationError("network: every NPU must be reachable from every other")
    link = fabric.link[arc]
    return ordered(
        kind=ALL_GATHER,
        npus=npus,
        part=part,
        owner=owner,
        target=np.full(chunks, -1, np.int64),
        chunk=chunk,
        tail=fabric.tail[arc],
        head=fabric.head[arc],
        link=link,
        joins=np.zeros(most, np.bool_),
        flight=np.arange(most),
        start=start,
        time=float((start + takes[link] + fabric.latency[link]).max()),
    )
