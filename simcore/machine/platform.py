"""A whole machine: accelerators and the network between them."""

from math import prod
from typing import TYPE_CHECKING, Any, Self

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

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray


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
        npu_scale: Speeds of NPUs that compute slower than others, by number or range:
            ``3:0.8,8-15:0.5``. Every NPU is followed then; the accelerator's own speed is 1.
        tiers: Memory outside the accelerators, by name, in which a plan may put data.
        source: Where the network's values come from.
    """

    name: str = Field(default="custom", min_length=1)
    npu: Npu
    dimensions: tuple[Dimension, ...] = Field(min_length=1, max_length=8)
    network: NetworkFile | None = None
    npu_scale: str = ""
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

    @model_validator(mode="after")
    def _slows_npus(self) -> Self:
        """Speeds are of NPUs that there are, and none is above the accelerator's own."""
        if self.npu_scale and (fastest := float(self.speeds().max())) > 1.0:
            rule = "speeds must be at most 1: name the fastest accelerator as npu"
            raise ConfigError("npu_scale", rule, got=fastest)
        return self

    def speeds(self) -> "NDArray[np.float64]":
        """Speed of each NPU (npus,), 1 being the accelerator's own."""
        from simcore.machine.speeds import read_speeds

        return read_speeds(self.npu_scale, self.npus, "npu_scale")

    def scale_of(self, npus: "Sequence[int]") -> str:
        """The text of ``npu_scale`` for a machine of these *npus*, in their order."""
        if not self.npu_scale:
            return ""
        own = self.speeds()[list(npus)].tolist()
        return ",".join(f"{npu}:{speed!r}" for npu, speed in enumerate(own) if speed != 1.0)

    def with_bandwidth(self, at: int, times: float) -> Self:
        """This platform with *times* the bandwidth in dimension *at*, or in all of its network."""
        return self.model_copy(update={"dimensions": faster(self.dimensions, at, times)})

    def with_share(self, share: float) -> Self:
        """This platform with that *share* of each link's bandwidth."""
        platform = self
        for at, dimension in enumerate(self.dimensions):
            if share != 1.0 and dimension.level == 0:  # the levels of a network have its links
                platform = platform.with_bandwidth(at, share)
        return platform

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
