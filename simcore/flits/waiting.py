"""Circles of channels that wait for each other: those that can come up, and one that has.

A network whose links depend on each other in a circle, as the ways of packets lead from one to the
next, can come to a standstill. Source: W. Dally, C. Seitz, "Deadlock-free message routing in
multiprocessor interconnection networks", IEEE Transactions on Computers C-36(5), 1987.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from simcore.flits.case import Case
from simcore.flits.memory import Memory
from simcore.kernels.flits import network as of
from simcore.kernels.flits.routes.rule import ADAPTIVE_GROUPS, TABLE

Step = tuple[int, int]


def possible_circle(case: Case) -> list[int] | None:
    """Routers whose links may wait for each other in a circle; None: no such circle.

    Routes that are looked up are followed, and detours by groups, which share one channel. Those
    of the other kinds are free of circles: they take dimensions in order within one part of the
    channels, go up before they go down, or have channels to escape to that do.
    """
    if case.rule.kind == ADAPTIVE_GROUPS:
        return [router for router, _ in circle_of(_steps_of_detours(case))]
    if case.rule.kind != TABLE:
        return None
    after: dict[Step, set[Step]] = {}
    links, table = case.links, case.rule.table
    for node, last in enumerate(links.exit_router):
        here = np.unique(links.node_router[links.node_router != last])
        seen = np.zeros(len(links.router), np.bool_)
        while len(here):
            seen[here] = True
            ports = table[here, node]
            there = links.router[here, ports]
            goes_on = there != last
            for link in zip(
                here[goes_on].tolist(),
                ports[goes_on].tolist(),
                there[goes_on].tolist(),
                strict=True,
            ):
                after.setdefault(link[:2], set()).add((link[2], int(table[link[2], node])))
            here = np.unique(there[goes_on & ~seen[there]])
    circle = circle_of(after)
    return [router for router, _ in circle] if circle else None


def _steps_of_detours(case: Case) -> dict[Step, set[Step]]:
    """Links after each link: those between groups after those within, and the other way round."""
    after: dict[Step, set[Step]] = {}
    ends, nodes = case.links.router, case.rule.side
    between = 3 * nodes - 1  # the first output to another group
    for (router, port), end in np.ndenumerate(ends):
        if port >= nodes:
            ports = range(nodes, between) if port >= between else range(between, ends.shape[1])
            after[int(router), int(port)] = {(int(end), other) for other in ports}
    return after


def circle_of(after: Mapping[Step, set[Step]]) -> list[Step]:
    """Steps of one circle of a graph, in order; none if there is none."""
    done: set[Step] = set()
    for start in sorted(after):
        if start in done:
            continue
        path: list[Step] = [start]
        places = {start: 0}
        ways: list[Iterator[Step]] = [iter(sorted(after[start]))]
        while path:
            step = next(ways[-1], None)
            if step is None:
                done.add(path[-1])
                del places[path.pop()]
                ways.pop()
            elif step in places:
                return path[places[step] :]
            elif step not in done:
                places[step] = len(path)
                path.append(step)
                ways.append(iter(sorted(after.get(step, ()))))
    return []


def told(routers: Sequence[int]) -> str:
    """A circle of routers in words."""
    shown = [str(router) for router in routers[:12]] + (["..."] if len(routers) > 12 else [])
    return " -> ".join([*shown, str(routers[0])])


def present_circle(memory: Memory) -> list[int] | None:
    """Routers of channels that wait for each other in a circle now; None: there is no such circle.

    A channel that sends waits for the one at the end of its link, where that has no slot; a head
    waits for those of its own router that have the channels that it may take.
    """
    inputs = memory.table(of.AT_INPUT)
    holders = {
        (int(router), int(inputs[router, i, of.CHANNEL])): int(i)
        for router, i in np.argwhere(inputs[..., of.STATE] == of.ACTIVE)
    }
    after = {
        (int(router), int(i)): set(_waits_for(memory, int(router), int(i), holders))
        for router, i in np.argwhere(inputs[..., of.HELD] > 0)
    }
    circle = circle_of(after)
    routers = [router for router, _ in circle]
    found = [r for j, r in enumerate(routers) if r != routers[j - 1]]  # a router's own wait is one
    return found or None


def _waits_for(memory: Memory, router: int, i: int, holders: Mapping[Step, int]) -> Iterator[Step]:
    c = memory.table(of.AT_INPUT)[router, i]
    outputs = memory.table(of.AT_OUTPUT)[router]
    each = int(memory.words[of.CHANNELS])
    if c[of.STATE] == of.ACTIVE:
        if outputs[c[of.CHANNEL], of.CREDITS] == 0:
            yield from _behind(memory, router, int(c[of.CHANNEL]))
        return
    if c[of.STATE] != of.WAITING:
        return
    for way in memory.table(of.AT_WAY)[router, i, : c[of.WAYS]]:
        first = int(way[of.WAY_OUTPUT]) * each
        for o in range(first + int(way[of.WAY_LOW]), first + int(way[of.WAY_HIGH]) + 1):
            if (router, o) in holders:
                yield router, holders[router, o]
            elif outputs[o, of.TAKEN] >= of.UNTIL_TAIL:  # or until the credit of a tail that left
                yield from _behind(memory, router, o)


def _behind(memory: Memory, router: int, o: int) -> Iterator[Step]:
    """Input channel at the end of the link of an output channel, if a router is there."""
    each = int(memory.words[of.CHANNELS])
    link = memory.table(of.AT_LINK)[router, o // each]
    if link[of.TO] >= 0:
        yield int(link[of.TO]), int(link[of.TO_CHANNEL]) + o % each
