"""Racks that are one scale-up domain each, joined by rails."""

from typing import Self

import numpy as np
from pydantic import model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters, MaybeNone
from simcore.graphs.families.trees.leaf_spine import every_pair
from simcore.graphs.families.trees.rails import SERVER_CABLES, server_switches
from simcore.graphs.graph import Wiring


class NvlRailsParameters(FamilyParameters):
    """Size of a network of racks.

    Attributes:
        racks: Racks.
        npus_per_rack: NPUs of each.
        nvswitches: Switches within each rack, each joined to all of its NPUs.
        rails: Rails, each with one leaf for all racks.
        spines: Spine switches; 0: rails only.
        links_per_pair: Cables between a leaf and a spine.
    """

    racks: Count
    npus_per_rack: Count
    nvswitches: Count
    rails: Count
    spines: MaybeNone
    links_per_pair: Count = 1

    @model_validator(mode="after")
    def _divides(self) -> Self:
        if self.npus_per_rack % self.rails:
            rule = f"must divide the {self.npus_per_rack} NPUs of a rack"
            raise ConfigError("rails", rule, got=self.rails)
        return self


class NvlRails(Family):
    """Racks as of GB200 NVL72; an NPU's rail is its number in the rack modulo the rails."""

    parameters = NvlRailsParameters
    npus_forward = True

    def wire(self, parameters: NvlRailsParameters) -> Wiring:
        p = parameters
        wiring = Wiring(p.racks * p.npus_per_rack)
        server_switches(wiring, p.racks, p.npus_per_rack, p.nvswitches)
        leaf = wiring.switches("rail-leaf", p.rails)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-rail-leaf", npus, leaf + npus % p.npus_per_rack % p.rails)
        spine = wiring.switches("spine", p.spines)
        pairs = every_pair(leaf, p.rails, spine, p.spines, p.links_per_pair)
        wiring.cables("leaf-spine", *pairs)
        return wiring

    def domain(self, parameters: NvlRailsParameters) -> tuple[int, str]:
        return parameters.npus_per_rack, SERVER_CABLES

    def levels(self, parameters: NvlRailsParameters) -> tuple[int, ...]:
        return parameters.npus_per_rack, parameters.racks
