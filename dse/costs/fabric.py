"""Dimensions that are scale-up, those that are scale-out, and the switch tiers of the latter."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from dse.costs.base import GB
from dse.costs.prices import PriceBook
from simcore import Dimension, InfeasibleError, Platform


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleUpLink:
    """One scale-up dimension, per NPU.

    Attributes:
        has_switch: Whether its NPUs meet in a switch.
        priced_gb_per_s: Bandwidth beyond what the accelerator's price includes.
    """

    has_switch: bool
    priced_gb_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleOutLink:
    """One scale-out dimension, per NPU.

    Attributes:
        gb_per_s: Bandwidth of one NPU.
        has_port: Whether it has ports of its own at the NPU.
        tier_shares: Per switch tier from the lowest, the part of it to pay for; empty in a ring
            or fully connected dimension.
    """

    gb_per_s: float
    has_port: bool
    tier_shares: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedFabric:
    """The network of one machine, sorted for pricing."""

    scale_up: tuple[ScaleUpLink, ...]
    scale_out: tuple[ScaleOutLink, ...]


def sort_fabric(platform: Platform, prices: PriceBook) -> PricedFabric:
    """Sort the dimensions of *platform* for pricing.

    Dimension 0 is scale-up, and so is each next one while all NPUs joined so far fit into the
    accelerator's native domain or into one rack of the price book. The accelerator's price
    includes bandwidth up to the native one in dimensions inside the native domain.

    A scale-out dimension with those after it that share its ports is one fabric. A fabric of
    switches needs the tiers that join all its endpoints. Its outermost level pays for the top
    tier, each before for one, the first for the rest; oversubscription divides a level's top tier,
    but for a fabric of one tier, where nothing can be saved.

    Raises:
        InfeasibleError: A dimension cannot share the ports of the one before, or is a network.
    """
    refuse_networks(platform)
    scale_up = _scale_up(platform, prices)
    inner = len(scale_up)
    scale_out = [
        link
        for levels in _fabrics(platform, inner)
        for link in _levels(platform, levels, inner, prices)
    ]
    return PricedFabric(scale_up=scale_up, scale_out=tuple(scale_out))


def refuse_networks(platform: Platform) -> None:
    """Refuse networks that are graphs, whose cost is that of their parts.

    Raises:
        InfeasibleError: The platform has one.
    """
    if any(dimension.network is not None for dimension in platform.dimensions):
        reason = (
            "the price of a network that is a graph is that of its switches and cables, which "
            "bandwidth alone does not tell: choose bill_of_materials as the cost model"
        )
        raise InfeasibleError("network_price", reason)


def _scale_up(platform: Platform, prices: PriceBook) -> tuple[ScaleUpLink, ...]:
    native = platform.npu.scale_up
    reach = max(native.npus, prices.scale_up.npus)
    included_gb_per_s = native.bandwidth_bytes_per_s / GB
    links: list[ScaleUpLink] = []
    joined = 1
    for dimension in platform.dimensions:
        joined *= dimension.npus
        if links and joined > reach:
            break
        gb_per_s = dimension.bandwidth_bytes_per_s / GB
        free = min(gb_per_s, included_gb_per_s) if joined <= native.npus else 0.0
        included_gb_per_s -= free
        has_switch = dimension.shape.has_switches
        links.append(ScaleUpLink(has_switch=has_switch, priced_gb_per_s=gb_per_s - free))
    return tuple(links)


def _fabrics(platform: Platform, inner: int) -> list[list[int]]:
    """Positions of the scale-out dimensions, those of one fabric together."""
    fabrics: list[list[int]] = []
    for position in range(inner, len(platform.dimensions)):
        dimension = platform.dimensions[position]
        if dimension.shares_ports:
            before = platform.dimensions[position - 1] if fabrics else None
            _check_shared(position, dimension, before)
            fabrics[-1].append(position)
        else:
            fabrics.append([position])
    return fabrics


def _check_shared(position: int, dimension: Dimension, before: Dimension | None) -> None:
    """Check that *dimension* can be a further level of switches of the one before."""
    if before is None or not (before.shape.has_switches and dimension.shape.has_switches):
        reason = f"dimension {position} shares ports, and the one before is no scale-out switch"
        raise InfeasibleError("shares_ports", reason)
    if dimension.bandwidth_bytes_per_s > before.bandwidth_bytes_per_s:
        reason = f"dimension {position} has more bandwidth than the ports it shares"
        raise InfeasibleError("shares_ports", reason)


def _levels(
    platform: Platform, positions: list[int], inner: int, prices: PriceBook
) -> Iterator[ScaleOutLink]:
    """The levels of one fabric."""
    needed = _tiers(platform, inner, positions[-1], prices)
    spare = max(needed - len(positions), 0)
    for level, position in enumerate(positions):
        dimension = platform.dimensions[position]
        shares: tuple[float, ...] = ()
        if dimension.shape.has_switches:
            below = (0.0,) * (spare + level) if level else (1.0,) * spare
            shares = _oversubscribed((*below, 1.0), dimension.oversubscription)
        gb_per_s = dimension.bandwidth_bytes_per_s / GB
        yield ScaleOutLink(gb_per_s=gb_per_s, has_port=level == 0, tier_shares=shares)


def _tiers(platform: Platform, inner: int, position: int, prices: PriceBook) -> int:
    """Switch tiers of the fabric whose outermost level is the dimension at *position*."""
    first = inner if platform.dimensions[position].rails else 0
    endpoints = prod(d.npus for d in platform.dimensions[first : position + 1])
    return 1 + sum(endpoints > limit for limit in prices.scale_out.tier_endpoints)


def _oversubscribed(shares: tuple[float, ...], oversubscription: float) -> tuple[float, ...]:
    if len(shares) < 2:
        return shares
    return (*shares[:-1], shares[-1] / oversubscription)
