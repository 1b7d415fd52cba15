"""Networks by a builder's parameters: counts, and what they cost and draw."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dse.costs.bill.bill import Bill
from dse.costs.bill.networks import network_bill
from dse.costs.bill.servers import Servers, racks, servers
from dse.costs.fabrics import FABRICS, Fabric, FabricCounts
from dse.costs.fabrics.scale_up import NvlDomain
from dse.costs.fabrics.unspecified import Unspecified
from simcore import Catalogue, ConfigError, InfeasibleError

T = TypeVar("T")

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
PRICED = (
    "network_cost_usd",
    "network_cost_low",
    "network_cost_high",
    "network_share",
    "network_share_low",
    "network_share_high",
    "power_w",
    "power_most_w",
)
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
        reason: Why it is not, what was not used, and what a price or a power is missing for.
        counts: Switches and links; None where unsupported.
        bill: Of its network; None where a price is missing.
        servers: All of them; None where none on the list fits.
        power_w, most_power_w: Of servers and network, or of what alone is told, W.
    """

    case: str
    status: str
    reason: str = ""
    counts: FabricCounts | None = None
    bill: Bill | None = None
    servers: Servers | None = None
    power_w: float | None = None
    most_power_w: float | None = None

    def row(self) -> dict[str, object]:
        """Its row of the table of answers; empty cells are unknown."""
        row: dict[str, object] = dict.fromkeys(COLUMNS, "")
        row |= {"case": self.case, "status": self.status, "reason": self.reason}
        if self.counts is not None and self.counts.is_counted:
            row |= _counted(self.counts)
        if self.bill is not None:
            row |= _priced(self.bill, self.servers)
        if self.power_w is not None:
            row["power_w"] = _money(self.power_w)
            row["power_most_w"] = _money(self.most_power_w or self.power_w)
        return row


def count_build(build: Build, parts: Catalogue, server_prices: Mapping[str, float]) -> CountedBuild:
    """Count *build*, and price it where the parts list has its ports.

    Args:
        build: What is built.
        parts: The parts list.
        server_prices: USD of a server that the list has no price of, by name of its part.
    """
    try:
        fabric, unused = _fabric(build)
        counts = fabric.counts()
    except (ConfigError, InfeasibleError) as error:
        return CountedBuild(case=build.case, status="unsupported", reason=str(error))
    if build.endpoints is not None and counts.endpoints != build.endpoints:
        reason = f"parameters join {counts.endpoints} endpoints, not {build.endpoints}"
        return CountedBuild(case=build.case, status="unsupported", reason=reason)
    notes = [f"not used: {', '.join(unused)}"] if unused else []
    if not counts.is_counted:
        notes.append("switches and links: parameters of them are not told")
    bill = _known(lambda: network_bill(fabric, counts, parts), "network cost", notes)
    found = _known(lambda: _servers(build, fabric, counts, parts, server_prices), "servers", notes)
    power, most = _power(fabric, bill, found)
    return CountedBuild(
        case=build.case,
        status="ok",
        reason="; ".join(notes),
        counts=counts,
        bill=bill,
        servers=found,
        power_w=power,
        most_power_w=most,
    )


def _known(ask: Callable[[], T], what: str, notes: list[str]) -> T | None:
    """An answer; None, and a note of the reason, where there is none."""
    try:
        return ask()
    except InfeasibleError as error:
        notes.append(f"{what}: {error.reason}")
        return None


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


def _servers(
    build: Build,
    fabric: Fabric,
    counts: FabricCounts,
    parts: Catalogue,
    prices: Mapping[str, float],
) -> Servers | None:
    """Servers or racks of *build*; None: what they draw is told by its parameters."""
    if isinstance(fabric, Unspecified):
        return None
    if isinstance(fabric, NvlDomain):
        return racks(fabric.racks, fabric.gpus_per_rack, parts, prices)
    return servers(
        nodes=build.nodes,
        npus=build.npus,
        endpoints=counts.endpoints,
        gbps=fabric.nic_gbps or fabric.port_gbps,
        parts=parts,
        prices=prices,
    )


def _power(
    fabric: Fabric, bill: Bill | None, found: Servers | None
) -> tuple[float | None, float | None]:
    """Typical and largest power of servers and network, W; None: a part of it is unknown."""
    if isinstance(fabric, Unspecified):
        return fabric.power_w, fabric.power_w
    if isinstance(fabric, NvlDomain) and bill is None:
        return (None, None) if found is None else (found.power_w, found.most_power_w)
    if bill is None:
        return None, None
    if isinstance(fabric, NvlDomain) and fabric.tiers == 1:  # optics in place of copper
        return bill.power_w, bill.most_power_w
    if found is None:
        return None, None
    return bill.power_w + found.power_w, bill.most_power_w + found.most_power_w


def _priced(bill: Bill, found: Servers | None) -> dict[str, object]:
    """Cost of the network, and its share of network and servers, from low to high."""
    cells: dict[str, object] = {
        "network_cost_usd": _money(bill.usd),
        "network_cost_low": _money(bill.low_usd),
        "network_cost_high": _money(bill.high_usd),
    }
    if found is None or found.usd is None:
        return cells
    low, high = found.low_usd or found.usd, found.high_usd or found.usd
    return cells | {
        "network_share": round(bill.usd / (bill.usd + found.usd), 4),
        "network_share_low": round(bill.low_usd / (bill.low_usd + high), 4),
        "network_share_high": round(bill.high_usd / (bill.high_usd + low), 4),
    }


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
