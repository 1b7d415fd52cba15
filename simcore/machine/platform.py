"""A whole machine: accelerators and the network between them."""

from math import prod
from typing import Any, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.network_table import NetworkFile
from simcore.machine.dimension import Dimension
from simcore.machine.graph_dimensions import (
    KEY,
    faster,
    is_network,
    network_dimensions,
    read_network,
    with_levels,
)
from simcore.machine.native import is_native, with_native_links
from simcore.machine.npu import Npu
from simcore.machine.tiers import Tier, TierName
from simcore.schema import Schema


class Platform(Schema):
    """Accelerators of one kind on a multi-dimensional network.

    NPU ids are mixed-radix numbers over the dimensions, dimension 0 fastest.

    Attributes:
        name: Short name, as in ``configs/platforms``.
        npu: The accelerator.
        dimensions: The network, innermost dimension first, 1 to 8 of them. In a file, shape,
            bandwidth and latency of one may be ``native``: those of the accelerator; and one may
            be a ``network``, whose levels then stand in its place.
        network: The whole network as a graph, in a file in the place of ``dimensions``.
        tiers: Memory outside the accelerators, by name, in which a plan may put data.
        source: Where the network's values come from.
    """

    name: str = Field(default="custom", min_length=1)
    npu: Npu
    dimensions: tuple[Dimension, ...] = Field(min_length=1, max_length=8)
    network: NetworkFile | None = None
    tiers: dict[TierName, Tier] = Field(default_factory=dict)
    source: str = ""

    @model_validator(mode="before")
    @classmethod
    def _with_levels(cls, data: Any) -> Any:
        """The levels of networks are dimensions like others."""
        if not isinstance(data, dict):
            return data
        whole, listed = data.get(KEY), data.get("dimensions")
        if whole is not None and listed is None:
            network = read_network(whole, KEY)
            return {**data, KEY: network, "dimensions": network_dimensions(network, KEY)}
        if not isinstance(listed, list | tuple):
            return data
        if whole is not None and not all(_is_level(one, whole) for one in listed):
            rule = "must stand in the place of dimensions, or in their list"
            raise ConfigError(KEY, rule, got="both")
        if any(map(is_network, listed)):
            return {**data, "dimensions": with_levels(listed)}
        return data

    @model_validator(mode="before")
    @classmethod
    def _with_native_links(cls, data: Any) -> Any:
        """An accelerator that is only named, or wrong, is told by the check of its own."""
        if not isinstance(data, dict) or not isinstance(npu := data.get("npu"), Npu):
            return data
        listed = data.get("dimensions")
        if not isinstance(listed, list | tuple) or not any(map(is_native, listed)):
            return data
        return {**data, "dimensions": with_native_links(listed, npu)}

    @model_validator(mode="after")
    def _holds_whole_networks(self) -> Self:
        """Levels of a network that is one part are all there, one after the other."""
        for at, own in enumerate(self.dimensions):
            if not own.level:
                continue
            before = self.dimensions[at - 1]  # of the first, the last: no level before it either
            if before.network != own.network or before.level != own.level - 1:
                rule = "must follow the level before it: name the network in its place"
                raise ConfigError(f"dimensions[{at}].level", rule, got=own.level)
        return self

    def with_bandwidth(self, at: int, times: float) -> Self:
        """This platform with *times* the bandwidth in dimension *at*, or in all of its network."""
        return self.model_copy(update={"dimensions": faster(self.dimensions, at, times)})

    def tier(self, name: str) -> Tier:
        """The tier *name*.

        Raises:
            ConfigError: There is none; lists those that there are.
        """
        if name not in self.tiers:
            known = ", ".join(self.tiers) or "none"
            rule = f"must name npu or one of platform.tiers, which are: {known}"
            raise ConfigError("plan.offload", rule, got=name)
        return self.tiers[name]

    @property
    def npus(self) -> int:
        """NPUs of the whole machine."""
        return prod(dimension.npus for dimension in self.dimensions)


def _is_level(dimension: object, network: object) -> bool:
    return isinstance(dimension, Dimension) and dimension.network == network
