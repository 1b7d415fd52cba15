"""Ways of messages between stages, over classes of links that are used alike.

The NPUs of a stage send at once, each to its peer at another stage: a message of that *pair* of
stages. Links are alike if they have the same speed, and equally many messages of each pair cross
them (where messages queue: one at most, at the same place of its way). Where all messages of each
pair cross alike links, alike links are in one state whatever happens, for what comes to one of them
comes to all; so one message stands for all of its pair, and one link for all alike ones.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.engines.in_step.loads import LoadedLinks
from simcore.graphs.routing import RouteTable
from simcore.network.base import LinkRule

Floats = NDArray[np.float64]
Pair = tuple[int, int]
"""Stages of sender and receiver."""

_MOST_ENTRIES = 1 << 24
_DIGITS = 9
"""Digits to which loads of links are equal but for rounding."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageWay:
    """Way of one pair's messages.

    Attributes:
        links: (H,) classes of links, in their order where messages queue.
        parts: (H,) of a message, what a link of the class carries of all that cross it.
        latency_ns: Of the way.
    """

    links: Ints
    parts: Floats
    latency_ns: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageWays:
    """Ways of all pairs.

    Attributes:
        bytes_per_ns: (K,) capacity of a link of each class.
        latency_ns: (K,) of it.
        of_pair: Way of each pair.
    """

    bytes_per_ns: Floats
    latency_ns: Floats
    of_pair: Mapping[Pair, StageWay]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Classes:
    """Classes of U links: number of each link (-1: not used), loads by pair and place, speeds."""

    number: Ints
    load: Floats
    speed: Floats


def stage_ways(
    links: LoadedLinks, ends: Mapping[Pair, tuple[Ints, Ints]], rule: LinkRule
) -> StageWays | None:
    """Ways of pairs of stages; None where messages of one pair cross links that differ.

    Args:
        links: Of the machine.
        ends: Senders and receivers of each pair.
        rule: How messages share links.
    """
    routes = {pair: links.ways(*npus) for pair, npus in ends.items()}
    places = 1
    if rule is LinkRule.QUEUED:
        places = max((int(np.diff(own.offsets).max()) for own in routes.values()), default=1)
    classes = _classes(links, list(routes.values()), places)
    if classes is None or (rule is LinkRule.QUEUED and (classes.load > 1).any()):
        return None
    of_pair = dict[Pair, StageWay]()
    for number, (pair, own) in enumerate(routes.items()):
        way = _way(classes, own, number, places)
        if way is None:
            return None
        of_pair[pair] = way
    speed = classes.speed
    return StageWays(bytes_per_ns=speed[:, 0], latency_ns=speed[:, 1], of_pair=of_pair)


def _classes(links: LoadedLinks, routes: list[RouteTable], places: int) -> _Classes | None:
    """Classes by speed, and by the load of each pair's messages (at each place of their ways)."""
    capacity, latency = links.bytes_per_ns, links.latency_ns
    used, row = np.unique(np.concatenate([own.links for own in routes]), return_inverse=True)
    columns = len(routes) * places
    if used.size * columns > _MOST_ENTRIES:
        return None
    column = np.concatenate(list(_columns(routes, places)))
    parts = np.concatenate([own.parts for own in routes])
    load: Floats = np.bincount(row * columns + column, parts, used.size * columns).astype(
        np.float64
    )
    load = load.round(_DIGITS).reshape(used.size, columns)
    speed = np.column_stack([capacity[used], latency[used]])
    _, first, number = np.unique(
        np.column_stack([speed, load]), axis=0, return_index=True, return_inverse=True
    )
    of_link = np.full(len(capacity), -1)
    of_link[used] = number.ravel()
    return _Classes(number=of_link, load=load[first], speed=speed[first])


def _columns(routes: list[RouteTable], places: int) -> Iterator[Ints]:
    for number, own in enumerate(routes):
        counts = np.diff(own.offsets)
        place = np.arange(len(own.links)) - np.repeat(own.offsets[:-1], counts)
        yield number * places + (place if places > 1 else 0 * place)


def _way(classes: _Classes, routes: RouteTable, pair: int, places: int) -> StageWay | None:
    """The way that all *routes* of a pair have; None: they differ."""
    count, own = len(routes), classes.number[routes.links]
    latency = routes.latency_ns
    if (np.abs(latency - latency[0]) > 1e-9 * latency[0]).any():
        return None
    if places == 1:  # all links at once, each class counts once
        key = np.unique(np.repeat(np.arange(count), np.diff(routes.offsets)) * len(classes.load)
                        + own)  # fmt: skip
        message, own = np.divmod(key, len(classes.load))
        hops = np.bincount(message, minlength=count)
    else:
        hops = np.diff(routes.offsets)
    if (hops != hops[0]).any():
        return None
    table = own.reshape(count, int(hops[0]))
    if (table != table[0]).any():
        return None
    at = np.arange(len(table[0])) if places > 1 else np.zeros(len(table[0]), np.int64)
    parts = classes.load[table[0], pair * places + at]
    return StageWay(links=table[0], parts=parts, latency_ns=float(latency[0]))
