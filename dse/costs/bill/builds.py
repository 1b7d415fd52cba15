"""Networks by a builder's parameters: counts, and what they cost and draw."""

from collections.abc import Mapping
from dataclasses import dataclass

from dse.costs.bill.bill import Bill, BillLine, line, merged
from dse.costs.bill.cabling import ROW_M, Links, cabled, switched
from dse.costs.fabrics import FABRICS, Fabric, FabricCounts
from dse.costs.fabrics.scale_up import NvlDomain
from dse.costs.parts import Catalogue, Part
from simcore import ConfigError, InfeasibleError

GROUP = "scale_out"
COUNTED = (
    "switches_total",
    "switches_tier1",
    "switches_tier2",
    "switches_tier3",
    "links_host",
    "links_t1_t2",
    "links_t2_t3",
    "links_total",
)
PRICED = ("network_cost_usd", "network_cost_low", "network_cost_high", "network_share", "power_w")
COLUMNS = ("case", "status", "reason", *COUNTED, *PRICED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """A network somebody builds.

    Attributes:
        case: Its name in tables.
        topology: A name of ``FABRICS``.
        params: The builder's parameters.
        endpoints: Ports of NPUs or servers that it is to join; None: not told.
        npus: Accelerators; None: not told.
        nodes: Servers; None: not told.
    """

    case: str
    topology: str
    params: Mapping[str, object]
    endpoints: int | None = None
    npus: int | None = None
    nodes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedBuild:
    """Answer for one build.

    Attributes:
        case: Of the build.
        status: ``ok`` or ``unsupported``.
        reason: Why it is not, or what was not used.
        counts: Switches and links; None where unsupported.
        bill: Of its network; None where a price is missing.
        server_usd: Of all servers; None where none on the list fits.
    """

    case: str
    status: str
    reason: str = ""
    counts: FabricCounts | None = None
    bill: Bill | None = None
    server_usd: float | None = None
    power_w: float | None = None

    def row(self) -> dict[str, object]:
        """Its row of the table of answers; empty cells are unknown."""
        row: dict[str, object] = dict.fromkeys(COLUMNS, "")
        row |= {"case": self.case, "status": self.status, "reason": self.reason}
        if self.counts is not None:
            row |= _counted(self.counts)
        if self.bill is not None:
            usd = self.bill.usd
            row |= {"network_cost_usd": _money(usd), "network_cost_low": _money(self.bill.low_usd)}
            row["network_cost_high"] = _money(self.bill.high_usd)
            if self.server_usd is not None:
                row["network_share"] = round(usd / (usd + self.server_usd), 4)
        if self.power_w is not None:
            row["power_w"] = _money(self.power_w)
        return row


def count_build(build: Build, parts: Catalogue, server_prices: Mapping[str, float]) -> CountedBuild:
    """Count *build*, and price it where the parts list has its ports.

    Args:
        build: What is built.
        parts: The parts list.
        server_prices: USD of a server, by name of its part.
    """
    try:
        fabric, unused = _fabric(build)
        counts = fabric.counts()
    except (ConfigError, InfeasibleError) as error:
        return CountedBuild(case=build.case, status="unsupported", reason=str(error))
    reason = f"not used: {', '.join(unused)}" if unused else ""
    if build.endpoints is not None and counts.endpoints != build.endpoints:
        reason = f"parameters join {counts.endpoints} endpoints, not {build.endpoints}"
        return CountedBuild(case=build.case, status="unsupported", reason=reason)
    bill = _bill(fabric, counts, parts)
    return CountedBuild(
        case=build.case,
        status="ok",
        reason=reason,
        counts=counts,
        bill=bill,
        server_usd=_servers_usd(build, fabric, counts, parts, server_prices),
        power_w=_power_w(fabric, bill, parts),
    )


def _fabric(build: Build) -> tuple[Fabric, list[str]]:
    """The fabric, and parameters that it has no use for."""
    if build.topology not in FABRICS:
        raise FABRICS.unknown(build.topology)
    kind = FABRICS[build.topology]
    known = {name: value for name, value in build.params.items() if name in kind.model_fields}
    if "endpoints" in kind.model_fields and build.endpoints is not None:
        known.setdefault("endpoints", build.endpoints)
    unused = [name for name in build.params if name not in kind.model_fields]
    return kind.from_file_data(known, at="params"), unused


def _bill(fabric: Fabric, counts: FabricCounts, parts: Catalogue) -> Bill | None:
    """Bill of the network; None where the list has no switch or cable for it."""
    if isinstance(fabric, NvlDomain):
        return _optical_domain(counts, parts)
    radix = getattr(fabric, "radix", None)
    if fabric.port_gbps is None or counts.circuit_switches:
        return None
    try:
        return _priced(fabric.port_gbps, radix, counts, parts)
    except ConfigError:
        return None


def _priced(gbps: float, radix: int | None, counts: FabricCounts, parts: Catalogue) -> Bill | None:
    lines: list[BillLine] = []
    if counts.switches:
        found = _switch(gbps, radix, parts)
        if found is None:
            return None
        boxes, stages = switched(counts, gbps, found, in_rack=False)
        lines = [line(GROUP, name, part, count) for name, part, count in boxes]
    else:
        links = (stage for stage in counts.links if stage)
        ends = ("nic", "nic")
        stages = [Links(count=n, gbps=gbps, length_m=ROW_M, ends=ends) for n in links]
    for stage in stages:
        lines += cabled(stage, parts, GROUP)
    return Bill(lines=merged(lines))


def _switch(gbps: float, radix: int | None, parts: Catalogue) -> tuple[str, Part] | None:
    """The switch of the list with these ports; the cheapest if several are."""
    fitting = [
        (name, part)
        for name, part in parts.of_kind("switch")
        if part.radix_at(gbps) is not None and radix in (None, part.radix_at(gbps))
    ]
    return min(fitting, key=lambda one: one[1].price_usd or 0.0, default=None)


def _optical_domain(counts: FabricCounts, parts: Catalogue) -> Bill | None:
    if counts.optical_ends is None:
        return None
    name = "nvl72_optical_module"
    return Bill(lines=(line("scale_up", name, parts[name], counts.optical_ends),))


def _servers_usd(
    build: Build,
    fabric: Fabric,
    counts: FabricCounts,
    parts: Catalogue,
    server_prices: Mapping[str, float],
) -> float | None:
    """Servers with as many accelerators, and as many cards of this speed; the first on the list."""
    if not (build.npus and build.nodes) or isinstance(fabric, NvlDomain):
        return None
    speed = fabric.nic_gbps or fabric.port_gbps
    for name, part in parts.of_kind("server"):
        sizes = (part.npus, part.ports)
        fits = sizes == (build.npus / build.nodes, counts.endpoints / build.nodes)
        fits = fits and part.speed_gbps == speed
        if fits and name in server_prices:
            return build.nodes * server_prices[name]
    return None


def _power_w(fabric: Fabric, bill: Bill | None, parts: Catalogue) -> float | None:
    """Racks of a whole scale-up domain, or the modules of an optical one, W."""
    if not isinstance(fabric, NvlDomain):
        return None
    if bill is not None:
        return bill.power_w
    racks = (p for _, p in parts.of_kind("server") if p.npus == fabric.gpus_per_rack)
    rack = next(racks, None)
    return None if rack is None else fabric.racks * rack.power_w


def _counted(counts: FabricCounts) -> dict[str, object]:
    tiers = dict(enumerate(counts.switches, start=1))
    stages = dict(enumerate(counts.links, start=1)) if counts.switches else {}
    total = counts.links_total
    return {
        "switches_total": counts.switches_total,
        **{f"switches_tier{tier}": count for tier, count in tiers.items() if tier <= 3},
        "links_host": counts.links_host if counts.switches else "",
        "links_t1_t2": _told(stages.get(1)),
        "links_t2_t3": _told(stages.get(2)),
        "links_total": _told(total),
    }


def _told(count: int | None) -> object:
    return "" if count is None else count


def _money(amount: float) -> float:
    return round(amount, 2)
