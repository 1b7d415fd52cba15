"""Deadlock check: do messages that hold one link wait for each other's next ones in a circle?

W. Dally and C. Seitz, 1987: a routing cannot deadlock if its channel dependency graph has no
circle. Where it has, routes are moved to further virtual channels as in J. Domke, T. Hoefler and
W. Nagel, "Deadlock-Free Oblivious Routing for Arbitrary Topologies", IPDPS 2011.
"""

import itertools
from collections import defaultdict

import numpy as np

from simcore.errors import ConfigError
from simcore.graphs.routing.table import RouteTable

Turn = tuple[int, int]


def virtual_channels(routes: RouteTable) -> int:
    """Virtual channels with which *routes* cannot deadlock, if each keeps to one of them.

    1: no circle. An upper bound where it is more, for routes are moved one circle at a time, and a
    route that changes channels on its way, as over the dateline of a torus, is not considered.
    """
    left = _distinct(routes)
    channels = 0
    while left:
        channels += 1
        left = _moved(left)
    return max(channels, 1)


def check_virtual_channels(routes: RouteTable, there: int | None) -> None:
    """Refuse routes that can deadlock with the virtual channels that are there.

    Raises:
        ConfigError: They can; says how many would do.
    """
    if there is None:
        return
    needed = virtual_channels(routes)
    if needed > there:
        rule = f"must be {needed} or more: fewer can deadlock with these routes"
        raise ConfigError("routing.virtual_channels", rule, got=there)


def circle_among(ahead: dict[int, set[int]]) -> list[int] | None:
    """Links of which each waits for the next and the last for the first; None: there is no circle.

    Args:
        ahead: Links that messages on a link may wait for.
    """
    circle = _Circles(ahead).next()
    return None if circle is None else [turn[0] for turn in circle]


def _distinct(routes: RouteTable) -> list[tuple[int, ...]]:
    cuts = np.split(routes.links, routes.offsets[1:-1])
    return sorted({tuple(links.tolist()) for links in cuts if len(links) > 1})


def _moved(routes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Routes that have to leave a channel so that the others have no circle on it."""
    users: dict[Turn, set[int]] = defaultdict(set)
    ahead: dict[int, set[int]] = defaultdict(set)
    for number, links in enumerate(routes):
        for turn in itertools.pairwise(links):
            users[turn].add(number)
            ahead[turn[0]].add(turn[1])
    gone: list[tuple[int, ...]] = []
    search = _Circles(ahead)
    while (circle := search.next()) is not None:
        weakest = min(circle, key=lambda turn: (len(users[turn]), turn))
        for number in sorted(users[weakest]):
            links = routes[number]
            gone.append(links)
            for turn in itertools.pairwise(links):
                users[turn].discard(number)
                if not users[turn]:
                    ahead[turn[0]].discard(turn[1])
    return gone


class _Circles:
    """A walk in depth over the dependencies that goes on where it was after each circle."""

    def __init__(self, ahead: dict[int, set[int]]) -> None:
        self._ahead = ahead
        self._begin = sorted(ahead)
        self._done: set[int] = set()

    def next(self) -> list[Turn] | None:
        """A circle of turns, None once there is none."""
        while self._begin:
            circle = self._from(self._begin[-1])
            if circle is not None:
                return circle
            self._begin.pop()
        return None

    def _from(self, start: int) -> list[Turn] | None:
        if start in self._done:
            return None
        way, places = [start], {start: 0}
        left = [iter(sorted(self._ahead.get(start, ())))]
        while way:
            link = next(left[-1], None)
            if link is None:
                self._done.add(way[-1])
                del places[way.pop()]
                left.pop()
            elif link in places:
                ring = [*way[places[link] :], link]
                return list(itertools.pairwise(ring))
            elif link not in self._done:
                places[link] = len(way)
                way.append(link)
                left.append(iter(sorted(self._ahead.get(link, ()))))
        return None
