"""Circuits of a network: links that are up by turns, and the limits that they keep."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.graphs.circuit_rules import NPU, WHOLE, CircuitLimit, CircuitRules
from simcore.graphs.graph import Ints, NetworkGraph

_NS_PER_S = 1e9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Circuits:
    """Circuits 0 to C - 1 and groups of them, of which few are up at once.

    Attributes:
        of_link: (L,) circuit that each link is part of; -1: it is always up.
        groups: For each circuit the groups that it counts in, one or more.
        most: For each group how many of its circuits are up at once.
        reconfiguration_ns: For each group, from when one of them is taken down until another is up.
        ports: (nodes,) ports of each node that lead to a circuit switch.
    """

    of_link: Ints
    groups: tuple[tuple[int, ...], ...]
    most: tuple[int, ...]
    reconfiguration_ns: tuple[float, ...]
    ports: Ints

    @property
    def turn(self) -> bool:
        """True if they are not all up at once."""
        counted = Counter(group for groups in self.groups for group in groups)
        return any(count > self.most[group] for group, count in counted.items())


def standing(graph: NetworkGraph, kind: str) -> Circuits:
    """Circuits of a *kind* of cables that are all up all the time."""
    told = {"cables": kind, "most": max(graph.cables, 1)}
    data = {"reconfiguration": "0 ns", "at_once": [told]}
    rules = CircuitRules.from_file_data(data, at="circuits")
    return circuits_of(graph, rules, "circuits")


def refuse_circuits(graph: NetworkGraph, what: str) -> None:
    """Refuse links of *graph* that are up by turns, in *what* uses all at once.

    Raises:
        ConfigError: There are such links.
    """
    if graph.circuits is not None and graph.circuits.turn:
        rule = f"must be left out: {what} use all links at once"
        raise ConfigError("circuits", rule, got=f"{len(graph.circuits.groups)} circuits")


def circuits_of(graph: NetworkGraph, rules: CircuitRules, at: str) -> Circuits:
    """Circuits of *graph* by the *rules* of its file, which stand at the place *at*.

    Raises:
        ConfigError: A limit names cables or switches that there are not.
    """
    of_link = np.full(graph.links, -1, np.int64)
    each_way = rules.at_once[0].each_way
    own = graph.cable_of if not each_way else np.arange(graph.links)
    members: list[set[int]] = [set() for _ in range(int(own.max(initial=-1)) + 1)]
    most = list[int]()
    named = [
        (limit, _links_of(graph, limit, f"{at}.at_once[{number}]"))
        for number, limit in enumerate(rules.at_once)
    ]
    for limit, links in named:
        of_link[links] = own[links]
        for group in _groups(graph, limit, links):
            for one in set(own[group].tolist()):
                members[one].add(len(most))
            most.append(limit.most)
    used = np.unique(of_link[of_link >= 0])
    number_of = np.full(len(members) + 1, -1, np.int64)
    number_of[used] = np.arange(len(used))
    for one in used.tolist():
        if not members[one]:
            rule = "must be counted at an end of each cable that it names"
            raise ConfigError(f"{at}.at_once", rule, got=f"cable {one}")
    return Circuits(
        of_link=number_of[of_link],
        groups=tuple(tuple(sorted(members[one])) for one in used.tolist()),
        most=tuple(most),
        reconfiguration_ns=(rules.reconfiguration_s * _NS_PER_S,) * len(most),
        ports=_ports(graph, named),
    )


def _links_of(graph: NetworkGraph, limit: CircuitLimit, at: str) -> Ints:
    """Links of the cables that a limit names."""
    if limit.per not in (NPU, *graph.tiers, WHOLE):
        rule = f"must be one of {', '.join((NPU, *graph.tiers, WHOLE))}"
        raise ConfigError(f"{at}.per", rule, got=limit.per)
    told = (limit.cables,) if isinstance(limit.cables, str) else limit.cables
    named = np.zeros(graph.cables, np.bool_)
    for one in told:
        if isinstance(one, str) and one in graph.kinds:
            named |= graph.kind_of == graph.kinds.index(one)
        elif isinstance(one, int) and 0 <= one < graph.cables:
            named[one] = True
        else:
            rule = (
                f"must be kinds of cables, which are {', '.join(graph.kinds)}, or numbers of "
                f"them, 0 to {graph.cables - 1}"
            )
            raise ConfigError(f"{at}.cables", rule, got=one)
    found: Ints = np.flatnonzero(named[graph.cable_of])
    if not len(found):
        raise ConfigError(f"{at}.cables", "must name cables", got=list(told))
    if graph.half[found].any():
        rule = "must carry both directions at once where they are set up and taken down"
        raise ConfigError(f"{at}.cables", rule, got="half-duplex cables")
    return found


def _ports(graph: NetworkGraph, named: Sequence[tuple[CircuitLimit, Ints]]) -> Ints:
    """(nodes,) ports that each node needs for the links that limits name: few, where one counts."""
    every = np.unique(np.concatenate([links for _, links in named]))
    found: Ints = np.bincount(graph.link_from[every], minlength=graph.nodes)
    limited = np.zeros(graph.links, np.bool_)
    for limit, links in named:
        at = graph.link_from[links]
        counted = np.full(len(links), fill_value=True)
        if limit.per != WHOLE:
            counted = _counted(graph, limit)[at]
        own = counted & ~limited[links]
        limited[links[own]] = True
        found -= np.maximum(np.bincount(at[own], minlength=graph.nodes) - limit.most, 0)
    return found


def _counted(graph: NetworkGraph, limit: CircuitLimit) -> NDArray[np.bool_]:
    """(nodes,) true where a limit counts."""
    tier_of = np.concatenate([np.full(graph.npus, -1), graph.tier_of])
    found: NDArray[np.bool_] = tier_of == (-1 if limit.per == NPU else graph.tiers.index(limit.per))
    return found


def _groups(graph: NetworkGraph, limit: CircuitLimit, links: Ints) -> Sequence[Ints]:
    """Links of each group of a limit: at each place those that leave it, and those that come."""
    if limit.per == WHOLE:
        return [links]
    counted, found = _counted(graph, limit), list[Ints]()
    for ends in (graph.link_from, graph.link_to) if limit.each_way else (graph.link_from,):
        own = links[counted[ends[links]]]
        order = own[np.argsort(ends[own], kind="stable")]
        found += np.split(order, np.flatnonzero(np.diff(ends[order])) + 1) if len(order) else []
    return found
