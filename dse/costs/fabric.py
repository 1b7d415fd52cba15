"""Which dimensions are scale-up and which scale-out, and the switch tiers of the latter."""

from dataclasses import dataclass
from math import prod

from dse.costs.base import GB
from dse.costs.prices import PriceBook
from simcore import ConfigError, InfeasibleError, Platform, TopologyKind


@dataclass(frozen=True, slots=True, kw_only=True)
class FabricRules:
    """How the scale-out network is built.

    Attributes:
        is_rail_only: One plane per position in the scale-up domain, instead of one fabric that
            every NPU joins.
        has_shared_ports: All scale-out switch dimensions are levels of one fabric and share an
            NPU's ports, so that a lower bandwidth further out is oversubscription. Otherwise
            each has ports and switches of its own, which is what the simulator assumes.
        oversubscription: Bandwidth into the outermost fabric's top tier over bandwidth out of
            it, at least 1. A fabric of one tier has nothing to save there.
    """

    is_rail_only: bool = False
    has_shared_ports: bool = False
    oversubscription: float = 1.0

    def __post_init__(self) -> None:
        if not self.oversubscription >= 1:
            raise ConfigError("oversubscription", "must be 1 or more", got=self.oversubscription)


DEFAULT_RULES = FabricRules()


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
class Fabric:
    """The network of one machine, sorted for pricing."""

    scale_up: tuple[ScaleUpLink, ...]
    scale_out: tuple[ScaleOutLink, ...]


def sort_fabric(platform: Platform, prices: PriceBook, rules: FabricRules) -> Fabric:
    """Sort the dimensions of *platform* for pricing.

    Dimension 0 is scale-up, and so is each next one while all NPUs joined so far fit into the
    accelerator's native domain or into one rack of the price book. The accelerator's price
    includes bandwidth up to the native one in dimensions inside the native domain. A scale-out
    switch dimension needs the tiers of a fabric that joins all NPUs up to and with it.

    Raises:
        InfeasibleError: Shared ports, and an outer level has more bandwidth than an inner one.
    """
    scale_up = _scale_up(platform, prices)
    inner = len(scale_up)
    scale_out = _shared if rules.has_shared_ports else _separate
    return Fabric(scale_up=scale_up, scale_out=scale_out(platform, inner, prices, rules))


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
        has_switch = dimension.topology is TopologyKind.SWITCH
        links.append(ScaleUpLink(has_switch=has_switch, priced_gb_per_s=gb_per_s - free))
    return tuple(links)


def _separate(
    platform: Platform, inner: int, prices: PriceBook, rules: FabricRules
) -> tuple[ScaleOutLink, ...]:
    links = []
    outermost = _switch_positions(platform, inner)[-1:]
    for position in range(inner, len(platform.dimensions)):
        dimension = platform.dimensions[position]
        shares: tuple[float, ...] = ()
        if dimension.topology is TopologyKind.SWITCH:
            shares = (1.0,) * _tiers(platform, inner, position, prices, rules)
            if position in outermost:
                shares = _oversubscribed(shares, rules.oversubscription)
        gb_per_s = dimension.bandwidth_bytes_per_s / GB
        links.append(ScaleOutLink(gb_per_s=gb_per_s, has_port=True, tier_shares=shares))
    return tuple(links)


def _shared(
    platform: Platform, inner: int, prices: PriceBook, rules: FabricRules
) -> tuple[ScaleOutLink, ...]:
    """The outermost level pays for the top tier, each before for one, the first for the rest."""
    levels = _switch_positions(platform, inner)
    needed = _tiers(platform, inner, levels[-1], prices, rules) if levels else 0
    spare = max(needed - len(levels), 0)
    links = []
    for position in range(inner, len(platform.dimensions)):
        gb_per_s = platform.dimensions[position].bandwidth_bytes_per_s / GB
        shares: tuple[float, ...] = ()
        level = levels.index(position) if position in levels else None
        if level is not None:
            before = platform.dimensions[levels[max(level - 1, 0)]].bandwidth_bytes_per_s / GB
            if gb_per_s > before:
                reason = f"dimension {position} has more bandwidth than the ports it shares"
                raise InfeasibleError("shared_ports", reason)
            below = spare + level
            shares = (0.0,) * below + (1.0,) if level else (1.0,) * (spare + 1)
            if position == levels[-1]:
                shares = _oversubscribed(shares, rules.oversubscription)
        links.append(ScaleOutLink(gb_per_s=gb_per_s, has_port=not level, tier_shares=shares))
    return tuple(links)


def _switch_positions(platform: Platform, inner: int) -> list[int]:
    dimensions = list(enumerate(platform.dimensions))[inner:]
    return [position for position, d in dimensions if d.topology is TopologyKind.SWITCH]


def _tiers(
    platform: Platform, inner: int, position: int, prices: PriceBook, rules: FabricRules
) -> int:
    """Switch tiers of the fabric that the dimension at *position* belongs to."""
    first = inner if rules.is_rail_only else 0
    endpoints = prod(d.npus for d in platform.dimensions[first : position + 1])
    return 1 + sum(endpoints > limit for limit in prices.scale_out.tier_endpoints)


def _oversubscribed(shares: tuple[float, ...], oversubscription: float) -> tuple[float, ...]:
    if len(shares) < 2:
        return shares
    return (*shares[:-1], shares[-1] / oversubscription)
