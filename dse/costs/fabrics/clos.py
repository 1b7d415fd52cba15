"""Folded Clos networks (fat trees) of two and three tiers.

Sources: C. Leiserson, IEEE Trans. Comput. C-34, 1985; M. Al-Fares, A. Loukissas, A. Vahdat,
SIGCOMM 2008 (k-ary fat tree: k^3/4 hosts, 5k^2/4 switches). That the uplinks of a leaf go evenly to
every spine is the builders' rule that NVIDIA's SuperPOD tables follow (RA-11333-001, Table 4).
"""

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse, up


def one_switch(endpoints: int, radix: int) -> FabricCounts:
    """One switch that joins all.

    Raises:
        InfeasibleError: It has too few ports.
    """
    if endpoints > radix:
        reason = f"one switch of {radix} ports cannot join {endpoints} endpoints"
        raise refuse("radix", reason)
    return FabricCounts(endpoints=endpoints, switches=(1,), links_host=endpoints)


def two_tiers(leaves: int, radix: int, uplinks: int) -> tuple[int, int]:
    """Spines, and links between leaves and spines.

    A leaf's uplinks go evenly to every spine: the number of spines is the least that has ports for
    all uplinks and divides those of a leaf. Unused ports of leaves keep their uplinks.

    Raises:
        InfeasibleError: Not even a spine for each uplink has a port for every leaf.
    """
    if leaves > radix:
        reason = f"two tiers of switches with {radix} ports hold {radix} leaves, not {leaves}"
        raise refuse("two tiers", reason)
    least = up(leaves * uplinks / radix)
    spines = next(n for n in range(max(least, 1), uplinks + 1) if uplinks % n == 0)
    return spines, leaves * uplinks


def ports_up(radix: int, oversubscription: float) -> int:
    """Ports of a leaf that go up; the others, so many times as many, go down.

    Raises:
        InfeasibleError: The ports do not divide so.
    """
    uplinks = radix / (oversubscription + 1)
    if abs(uplinks - round(uplinks)) > 1e-9 or uplinks < 1:
        reason = f"{radix} ports cannot be split {oversubscription:g} to 1"
        raise refuse("oversubscription", reason)
    return round(uplinks)


def clos(endpoints: int, radix: int, tiers: int, oversubscription: float = 1.0) -> FabricCounts:
    """A fabric of one, two or three tiers for so many endpoints.

    Of three tiers, leaves and spines are as many, and cores half as many; the leaves are
    oversubscribed, what is above them is not.

    Raises:
        InfeasibleError: So many endpoints need more tiers, or ports do not divide.
    """
    if tiers == 1:
        return one_switch(endpoints, radix)
    uplinks = ports_up(radix, oversubscription)
    leaves = up(endpoints / (radix - uplinks))
    if tiers == 2:
        spines, between = two_tiers(leaves, radix, uplinks)
        return FabricCounts(
            endpoints=endpoints, switches=(leaves, spines), links_host=endpoints, links=(between,)
        )
    most = most_endpoints(radix, 3, oversubscription)
    if endpoints > most:
        reason = f"three tiers of switches with {radix} ports join {most}, not {endpoints}"
        raise refuse("three tiers", reason)
    between = leaves * uplinks
    spines = up(between / (radix / 2))
    cores = up(spines * (radix / 2) / radix)
    return FabricCounts(
        endpoints=endpoints,
        switches=(leaves, spines, cores),
        links_host=endpoints,
        links=(between, between),
    )


def most_endpoints(radix: int, tiers: int, oversubscription: float = 1.0) -> int:
    """Endpoints that so many tiers join at most: k, k^2/2 and k^3/4 without oversubscription."""
    if tiers == 1:
        return radix
    down = radix - ports_up(radix, oversubscription)
    leaves = radix if tiers == 2 else radix * radix // 2
    return down * leaves


def least_tiers(endpoints: int, radix: int) -> int:
    """Tiers that so many endpoints need without oversubscription.

    Raises:
        InfeasibleError: Three are not enough.
    """
    for tiers in (1, 2, 3):
        if endpoints <= most_endpoints(radix, tiers):
            return tiers
    most = most_endpoints(radix, 3)
    reason = f"three tiers of switches with {radix} ports join {most}, not {endpoints}"
    raise refuse("three tiers", reason)


class _Clos(Fabric):
    """Attributes: radix of all switches; endpoints, None: as many as the tiers hold; leaves."""

    radix: int = Field(ge=2)
    endpoints: int | None = Field(default=None, ge=1)
    leaves: int | None = Field(default=None, ge=1)
    oversubscription: float = Field(default=1.0, ge=1)


class Clos2(_Clos):
    """Leaves and spines; by default as many leaves as a spine has ports."""

    tiers: int = Field(default=2, ge=2, le=2)

    def counts(self) -> FabricCounts:
        down = self.radix - ports_up(self.radix, self.oversubscription)
        leaves = self.leaves or self.radix
        endpoints = self.endpoints or leaves * down
        return clos(endpoints, self.radix, 2, self.oversubscription)


class Clos3(_Clos):
    """Leaves, spines and cores; by default k^3/4 endpoints."""

    tiers: int = Field(default=3, ge=3, le=3)

    def counts(self) -> FabricCounts:
        endpoints = self.endpoints
        if endpoints is None and self.leaves:
            down = self.radix - ports_up(self.radix, self.oversubscription)
            endpoints = self.leaves * down
        most = most_endpoints(self.radix, 3, self.oversubscription)
        return clos(endpoints or most, self.radix, 3, self.oversubscription)
