"""Servers of the list that a build is made of: told by accelerators and network cards of each."""

from collections.abc import Mapping
from dataclasses import dataclass

from simcore import Catalogue, InfeasibleError, Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Servers:
    """All servers or racks of a build.

    Attributes:
        usd, low_usd, high_usd: Of all, USD; None: the list has no price of them.
        power_w, most_power_w: Of all, typical and largest, W.
    """

    usd: float | None
    low_usd: float | None
    high_usd: float | None
    power_w: float
    most_power_w: float


def racks(count: int, npus: int, parts: Catalogue, prices: Mapping[str, float]) -> Servers:
    """So many racks of *npus* accelerators, each a server of the list.

    Raises:
        InfeasibleError: The list has none.
    """
    for name, part in parts.of_kind("server"):
        if part.npus == npus:
            return _all(count, name, part, parts, prices)
    raise InfeasibleError("parts", f"no rack of {npus} accelerators is on the parts list")


def servers(
    *,
    nodes: int | None,
    npus: int | None,
    endpoints: int,
    gbps: float | None,
    parts: Catalogue,
    prices: Mapping[str, float],
) -> Servers:
    """Servers with as many accelerators and as many cards of this speed; the first on the list.

    Endpoints that make no whole card of every server are those of others, such as storage.

    Args:
        nodes: Servers with accelerators.
        npus: Accelerators of all.
        endpoints: Ports that the network joins.
        gbps: Speed of a card, Gb/s.
        parts: The parts list.
        prices: USD of a server, by name of its part.

    Raises:
        InfeasibleError: The list has none, or it is not told how many there are.
    """
    if not (nodes and npus):
        raise InfeasibleError("parts", "accelerators and nodes are not told")
    wanted = (npus / nodes, endpoints // nodes)
    for name, part in parts.of_kind("server"):
        if (part.npus, part.ports) == wanted and part.speed_gbps == gbps:
            return _all(nodes, name, part, parts, prices)
    speed = "untold speed" if gbps is None else f"{gbps:g} Gb/s"
    reason = f"no server of {wanted[0]:g} accelerators and {wanted[1]} cards of {speed}"
    raise InfeasibleError("parts", f"{reason} is on the parts list")


def _all(
    count: int, name: str, part: Part, parts: Catalogue, prices: Mapping[str, float]
) -> Servers:
    spread = parts["accelerator_range"]
    usd, low, high = part.price_usd, part.low_usd, part.high_usd
    if usd is None and name in prices:
        usd = prices[name]
        low, high = usd * (spread.low_usd or 1.0), usd * (spread.high_usd or 1.0)
    most = part.power_w if part.most_power_w is None else part.most_power_w
    return Servers(
        usd=None if usd is None else count * usd,
        low_usd=None if low is None else count * low,
        high_usd=None if high is None else count * high,
        power_w=count * part.power_w,
        most_power_w=count * most,
    )
