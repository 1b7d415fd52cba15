"""The network alone, at LIBRA's prices per tier.

Source: W. Won et al., "LIBRA: Enabling Workload-Aware Multi-Dimensional Network Topology
Optimization", ISPASS 2024, network cost model. Its Python code charges a switch port one link; the
C++ copy that COSMIC (arXiv 2505.15020) used charges two.
"""

from math import inf

from dse.costs.base import GB, Cost, CostModel
from dse.costs.fabric import refuse_networks
from dse.costs.prices import PriceBook, TierPrice
from simcore import Dimension, InfeasibleError, Platform

TIER_NAMES = {
    1: ("package",),
    2: ("package", "pod"),
    3: ("package", "node", "pod"),
    4: ("chiplet", "package", "node", "pod"),
}


class LibraPy(CostModel):
    """Network cost as LIBRA's Python code counts it: link + switch + NIC for a switch port."""

    def cost(self, platform: Platform) -> Cost:
        return Cost(unit=self.unit, parts=_network_usd(platform, self.prices, switch_links=1))


class LibraCpp(CostModel):
    """Network cost as COSMIC's simulator counts it: 2 links + switch + NIC for a switch port."""

    def cost(self, platform: Platform) -> Cost:
        return Cost(unit=self.unit, parts=_network_usd(platform, self.prices, switch_links=2))


class AcceleratorsAndLibraPy(CostModel):
    """The accelerators at their price, and all of the network as ``LibraPy``."""

    def cost(self, platform: Platform) -> Cost:
        accelerators = platform.npus * self.prices.accelerator_usd(platform.npu)
        network = _network_usd(platform, self.prices, switch_links=1)
        return Cost(unit=self.unit, parts={"accelerators": accelerators, **network})


def _network_usd(platform: Platform, prices: PriceBook, *, switch_links: int) -> dict[str, float]:
    """USD per dimension of the whole machine."""
    refuse_networks(platform)
    names = TIER_NAMES.get(len(platform.dimensions))
    if names is None:
        reason = f"LIBRA prices 1 to 4 dimensions, and this network has {len(platform.dimensions)}"
        raise InfeasibleError("network_tiers", reason)
    parts = {}
    for position, (dimension, tier) in enumerate(zip(platform.dimensions, names, strict=True)):
        unit = _usd_per_gb_per_s(dimension, getattr(prices.network_tiers, tier), tier, switch_links)
        gb_per_s = dimension.bandwidth_bytes_per_s / GB
        parts[f"dimension_{position}"] = platform.npus * unit * gb_per_s
    return parts


def tier_units(dimensions: int, prices: PriceBook) -> tuple[tuple[float, float], ...]:
    """USD per GB/s of one NPU in each dimension, without and with a switch, as ``LibraPy``.

    Infinite where LIBRA prices no switch, or no such number of dimensions.
    """
    names = TIER_NAMES.get(dimensions)
    if names is None:
        return ((inf, inf),) * dimensions
    tiers = [getattr(prices.network_tiers, name) for name in names]
    return tuple((float(tier.link), _switch_usd(tier, 1)) for tier in tiers)


def _usd_per_gb_per_s(
    dimension: Dimension, price: TierPrice, tier: str, switch_links: int
) -> float:
    if not dimension.shape.has_switches:
        return float(price.link)
    if price.switch is None:
        raise InfeasibleError("network_tiers", f"LIBRA prices no switch on the {tier} tier")
    return _switch_usd(price, switch_links)


def _switch_usd(price: TierPrice, switch_links: int) -> float:
    """USD per GB/s of an NPU at a switch; infinite where the tier has none."""
    if price.switch is None:
        return inf
    return float(switch_links * price.link + price.switch + (price.nic or 0.0))
