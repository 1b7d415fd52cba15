"""Dragonfly: groups of routers, a cable between any two groups."""

from typing import Self

import numpy as np
from pydantic import model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Wiring


class DragonflyParameters(FamilyParameters):
    """Size of a dragonfly.

    Attributes:
        p: NPUs of a router.
        a: Routers of a group.
        h: Global ports of a router.
        groups: Groups; a h + 1 unless given.
        links_per_pair: Cables between two groups, where there are few enough for several.
    """

    p: Count
    a: Count
    h: Count
    groups: Count | None = None
    links_per_pair: Count = 1

    @model_validator(mode="after")
    def _has_ports(self) -> Self:
        check_groups(self.groups, self.a * self.h // self.links_per_pair)
        return self


def check_groups(groups: int | None, ports: int) -> None:
    """Refuse more groups than the global *ports* of one can reach.

    Raises:
        ConfigError: There are more.
    """
    if groups is not None and groups > ports + 1:
        rule = f"must be at most {ports + 1}: a group has {ports} global ports"
        raise ConfigError("groups", rule, got=groups)


def join_groups(wiring: Wiring, first: list[int], ports: int, per_router: int) -> None:
    """Add the global cables, by the lower group and its port.

    Args:
        wiring: Takes the cables.
        first: Node of each group's first router with global ports.
        ports: Global ports of a group.
        per_router: Global ports of a router.
    """
    for group, node in enumerate(first):
        for port in range(ports):
            other = (group + port + 1) % (ports + 1)
            if group < other < len(first):
                there = first[other] + (ports - 1 - port) // per_router
                wiring.cable("global", node + port // per_router, there)


def join_groups_often(wiring: Wiring, first: list[int], per_pair: int, per_router: int) -> None:
    """Add *per_pair* global cables between any two groups, side by side.

    Each group counts the others from the next one on, and its ports in that order.

    Args:
        wiring: Takes the cables.
        first: Node of each group's first router.
        per_pair: Cables between two groups.
        per_router: Global ports of a router.
    """
    groups = len(first)
    for group in range(groups):
        for other in range(group + 1, groups):
            here = (other - group - 1) * per_pair + np.arange(per_pair)
            there = (groups - other + group - 1) * per_pair + np.arange(per_pair)
            ends = first[group] + here // per_router, first[other] + there // per_router
            wiring.cables("global", *ends)


class Dragonfly(Family):
    """Groups of fully connected routers, joined by a cable between any two groups, or several.

    J. Kim et al., "Technology-Driven, Highly-Scalable Dragonfly Topology", ISCA 2008.
    """

    parameters = DragonflyParameters

    def wire(self, parameters: DragonflyParameters) -> Wiring:
        p, a, h = parameters.p, parameters.a, parameters.h
        per_pair = parameters.links_per_pair
        groups = parameters.groups or a * h // per_pair + 1
        wiring = Wiring(groups * a * p)
        router = wiring.switches("router", groups * a)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-router", npus, router + npus // p)
        first = [router + group * a for group in range(groups)]
        low, high = np.triu_indices(a, 1)
        for node in first:
            wiring.cables("local", node + low, node + high)
        if per_pair > 1:
            join_groups_often(wiring, first, per_pair, h)
        else:
            join_groups(wiring, first, a * h, h)
        return wiring

    def levels(self, parameters: DragonflyParameters) -> tuple[int, ...]:
        p, a, h = parameters.p, parameters.a, parameters.h
        return p, a, parameters.groups or a * h // parameters.links_per_pair + 1
