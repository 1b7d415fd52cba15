"""Networks whose switches all have endpoints: dragonfly, Slim Fly, HyperX; and BCube.

Sources: J. Kim et al., ISCA 2008 (dragonfly: at most ah + 1 groups, balanced at a = 2p = 2h);
M. Besta, T. Hoefler, SC 2014 (Slim Fly: 2q^2 switches of network radix (3q - d) / 2, q = 4w + d);
J. Ahn et al., SC 2009 (HyperX); C. Guo et al., SIGCOMM 2009 (BCube).
"""

from math import prod

from pydantic import Field

from dse.costs.fabrics.base import Fabric, FabricCounts, refuse


class Dragonfly(Fabric):
    """Groups of fully connected switches, and global links between groups.

    Attributes:
        p: Endpoints of a switch.
        a: Switches of a group.
        h: Global ports of a switch; None: not told, global links then are not counted.
        g: Groups.
    """

    p: int = Field(ge=1)
    a: int = Field(ge=1)
    h: int | None = Field(default=None, ge=0)
    g: int | None = Field(default=None, ge=1)

    def counts(self) -> FabricCounts:
        groups = self.g or (self.a * self.h + 1 if self.h is not None else None)
        if groups is None:
            raise refuse("g", "groups (g) or global ports of a switch (h) must be told")
        if self.h is not None and groups > self.a * self.h + 1:
            reason = f"{self.a} switches with {self.h} global ports reach {self.a * self.h} groups"
            raise refuse("g", f"{reason}, not the {groups - 1} others")
        switches = groups * self.a
        ends = None if self.h is None else switches * self.h
        if ends is not None and ends % 2:
            raise refuse("h", f"{ends} global ports do not pair")
        return FabricCounts(
            endpoints=switches * self.p,
            switches=(switches,),
            links_host=switches * self.p,
            links=(switches * (self.a - 1) // 2, None if ends is None else ends // 2),
        )


class DragonflyGroup(Fabric):
    """One group: switches with ports down, to each other, and for other groups."""

    switches: int = Field(ge=2)
    down: int = Field(ge=1)
    local: int = Field(ge=1)
    radix: int | None = Field(default=None, ge=2)
    global_max: int = Field(default=0, ge=0)

    def counts(self) -> FabricCounts:
        if self.radix is not None and self.down + self.local + self.global_max > self.radix:
            raise refuse("radix", f"{self.radix} ports are fewer than those stated")
        if self.local < self.switches - 1:
            reason = f"{self.local} local ports do not reach {self.switches - 1} other switches"
            raise refuse("local", reason)
        return FabricCounts(
            endpoints=self.switches * self.down,
            switches=(self.switches,),
            links_host=self.switches * self.down,
            links=(self.switches * self.local // 2, None),
        )


class SlimFly(Fabric):
    """Two switches of diameter 2; *p* endpoints each, by default half of its network radix."""

    q: int = Field(ge=3)
    p: int | None = Field(default=None, ge=1)

    def counts(self) -> FabricCounts:
        delta = {0: 0, 1: 1, 3: -1}.get(self.q % 4)
        if delta is None:
            raise refuse("q", f"q must be 4w - 1, 4w or 4w + 1, not {self.q}")
        radix = (3 * self.q - delta) // 2
        switches = 2 * self.q * self.q
        endpoints = switches * (self.p or (radix + 1) // 2)
        return FabricCounts(
            endpoints=endpoints,
            switches=(switches,),
            links_host=endpoints,
            links=(switches * radix // 2,),
        )


class HyperX(Fabric):
    """Switches on a grid, fully connected along every dimension, *p* endpoints each."""

    dims: tuple[int, ...] = Field(min_length=1)
    p: int = Field(ge=1)

    def counts(self) -> FabricCounts:
        if min(self.dims) < 1:
            raise refuse("dims", "every dimension must have a switch")
        switches = prod(self.dims)
        between = switches * sum(size - 1 for size in self.dims) // 2
        return FabricCounts(
            endpoints=switches * self.p,
            switches=(switches,),
            links_host=switches * self.p,
            links=(between,),
        )


class BCube(Fabric):
    """Servers with a port on a switch of every level; n^levels of them.

    Attributes:
        n: Ports of a switch.
        levels: Levels of switches; where ``endpoints`` says so, of the highest one counted from 0.
    """

    n: int = Field(ge=2)
    levels: int = Field(ge=1)
    endpoints: int | None = Field(default=None, ge=1)

    def counts(self) -> FabricCounts:
        levels = self.levels
        if self.endpoints == self.n ** (levels + 1):
            levels += 1
        servers = self.n**levels
        if self.endpoints not in (None, servers):
            raise refuse("endpoints", f"{levels} levels join {servers} servers")
        return FabricCounts(
            endpoints=servers,
            switches=(self.n ** (levels - 1),) * levels,
            links_host=servers * levels,
        )
