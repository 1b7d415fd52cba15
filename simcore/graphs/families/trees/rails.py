"""Rails: NPUs at the same place of their servers share leaf switches."""

from typing import Self

import numpy as np
from pydantic import model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters, MaybeNone
from simcore.graphs.families.trees.leaf_spine import every_pair
from simcore.graphs.graph import Wiring


class RailsParameters(FamilyParameters):
    """Size of a rail-optimised network.

    Attributes:
        servers: Servers.
        npus_per_server: NPUs of each, and rails of a pod.
        servers_per_pod: Servers that share the leaves of a pod.
        spines: Spine switches; 0: rails only, and messages between rails pass through NPUs.
        links_per_pair: Cables between a leaf and a spine.
        nvswitches: Switches within each server, each joined to all of its NPUs.
    """

    servers: Count
    npus_per_server: Count
    servers_per_pod: Count
    spines: MaybeNone
    links_per_pair: Count = 1
    nvswitches: Count = 1

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.servers % self.servers_per_pod:
            rule = f"must divide the {self.servers} servers"
            raise ConfigError("servers_per_pod", rule, got=self.servers_per_pod)
        return self


SERVER_CABLES = "npu-nvswitch"
"""Kind of the cables within servers."""


def server_switches(wiring: Wiring, servers: int, npus_per_server: int, nvswitches: int) -> None:
    """Add the switches within servers, server by server, and their cables."""
    first = wiring.switches("nvswitch", servers * nvswitches)
    per_server = npus_per_server * nvswitches
    cable = np.arange(servers * per_server)
    server, place = cable // per_server, cable % per_server
    switch = first + server * nvswitches + place // npus_per_server
    npu = server * npus_per_server + place % npus_per_server
    wiring.cables(SERVER_CABLES, npu, switch)


class Rails(Family):
    """Each server's NPU number r has a cable to leaf r of the server's pod.

    NVIDIA, "DGX SuperPOD Reference Architecture"; without spines W. Wang et al., "Rail-only",
    arXiv 2307.12169.
    """

    parameters = RailsParameters
    npus_forward = True

    def wire(self, parameters: RailsParameters) -> Wiring:
        p = parameters
        wiring = Wiring(p.servers * p.npus_per_server)
        server_switches(wiring, p.servers, p.npus_per_server, p.nvswitches)
        leaves = p.servers // p.servers_per_pod * p.npus_per_server
        leaf = wiring.switches("rail-leaf", leaves)
        npus = np.arange(wiring.npus)
        pod = npus // p.npus_per_server // p.servers_per_pod
        rail = npus % p.npus_per_server
        wiring.cables("npu-rail-leaf", npus, leaf + pod * p.npus_per_server + rail)
        spine = wiring.switches("spine", p.spines)
        pairs = every_pair(leaf, leaves, spine, p.spines, p.links_per_pair)
        wiring.cables("leaf-spine", *pairs)
        return wiring

    def domain(self, parameters: RailsParameters) -> tuple[int, str]:
        return parameters.npus_per_server, SERVER_CABLES

    def levels(self, parameters: RailsParameters) -> tuple[int, ...]:
        return parameters.npus_per_server, parameters.servers
