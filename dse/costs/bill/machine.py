"""The bill of a whole machine, from its platform."""

from collections.abc import Iterator
from math import ceil, prod

from dse.costs.bill.bill import NETWORK, Bill
from dse.costs.bill.scale_out import (
    FabricNeed,
    Wired,
    needs,
    npus_per_rack,
    wire,
)
from dse.costs.memory_tiers import tier_lines
from dse.costs.prices import PriceBook
from simcore import (
    BillLine,
    Catalogue,
    Dimension,
    HostPorts,
    NetworkBill,
    Part,
    Platform,
    bill_line,
    merged_lines,
    network_bill,
    plain_sum,
    scale_up_dimensions,
)

GB = 1e9
_SLACK = 1 + 1e-9
"""Rounding of the bandwidth of a level, which is worked out from flows."""


class Biller:
    """Makes bills of platforms, one after the other, and keeps fabrics that it has wired.

    Args:
        prices: Prices of accelerators, and the parts list.
        priced: Accelerators without a price are refused; False: only counts and powers are asked
            for, and no price of theirs.
    """

    def __init__(self, prices: PriceBook, *, priced: bool = True) -> None:
        self._prices, self._priced = prices, priced
        self._parts = Catalogue(prices.parts)
        self._wired: dict[FabricNeed, Wired] = {}

    def bill(self, platform: Platform) -> Bill:
        """The bill of *platform*.

        Raises:
            ConfigError: A price or a part is given nowhere.
            InfeasibleError: A network cannot be built of the parts.
        """
        server = self._parts.server(platform.npu.name)
        inner = scale_up_dimensions(platform)
        scale_up, notes = self._scale_up(platform, inner, npus_per_rack(server))
        wired: list[Wired | NetworkBill] = [
            *(self._wire(need) for need in needs(platform, inner, server)),
            *self._networks(platform, inner, server),
        ]
        lines = [
            *self._accelerators(platform, inner, server),
            *scale_up,
            *tier_lines(platform, self._parts),
            *(one for fabric in wired for one in fabric.lines),
        ]
        lines += self._beside(lines)
        return Bill(
            lines=merged_lines(lines),
            notes=(*notes, *_without_server(platform, server)),
            ports_per_npu=plain_sum(fabric.ports_per_npu for fabric in wired),
            area_m2=self._parts["rack"].area_m2
            * plain_sum(x.count for x in lines if x.part == "rack"),
        )

    def _wire(self, need: FabricNeed) -> Wired:
        if need not in self._wired:
            self._wired[need] = wire(need, self._parts)
        return self._wired[need]

    def _networks(
        self, platform: Platform, inner: int, server: Part | None
    ) -> Iterator[NetworkBill]:
        """Bills of the networks that are graphs, each as often as the machine has it."""
        domain = prod(dimension.npus for dimension in platform.dimensions[:inner])
        host = HostPorts.of(server, domain)
        for dimension in platform.dimensions:
            if dimension.network is not None and dimension.level == 0:
                parts = dimension.network.parts()
                bill = network_bill(parts, self._parts, host)
                yield bill.times(platform.npus // parts.npus)

    def _accelerators(self, platform: Platform, inner: int, server: Part | None) -> list[BillLine]:
        """The accelerators with their share of servers, hosts, cards and scale-up switches.

        Servers are bought whole; accelerators of theirs that no domain uses draw no power.
        """
        npu, npus = platform.npu, platform.npus
        bought = _bought(platform, inner, server)
        usd = bought * self._prices.accelerator_usd(npu) if self._priced else 0.0
        spread = self._parts["accelerator_range"]
        power = npu.system_power_w
        if power is None:
            power = server.power_w / server.npus if server and server.npus else npu.tdp_w or 0.0
        units = server.rack_units / server.npus if server and server.npus else 1.0
        sold = f" ({server.what})" if server else ""
        return [
            BillLine(
                group="accelerators",
                part=npu.name,
                what=f"accelerator with its share of the server{sold}",
                count=bought,
                usd=usd,
                low_usd=usd * (spread.low_usd or 1.0),
                high_usd=usd * (spread.high_usd or 1.0),
                power_w=npus * power,
                most_power_w=npus * power,
                rack_units=bought * units,
            )
        ]

    def _scale_up(
        self, platform: Platform, inner: int, rack: int
    ) -> tuple[list[BillLine], tuple[str, ...]]:
        """Custom parts for what the accelerator's own domain does not hold."""
        native = platform.npu.scale_up
        left, joined = native.bandwidth_bytes_per_s, 1
        lines: list[BillLine] = []
        notes: list[str] = []
        for position, dimension in enumerate(platform.dimensions[:inner]):
            joined *= dimension.npus
            asked = dimension.bandwidth_bytes_per_s
            own = min(asked, left) if joined <= native.npus else 0.0
            left -= own
            if asked <= own * _SLACK:
                continue
            name = _custom(dimension, joined, max(rack, native.npus))
            count = (asked - own) / GB * platform.npus
            lines.append(bill_line("scale_up", name, self._parts[name], count))
            notes.append(
                f"dimension {position} needs custom parts: {joined} NPUs at {asked / GB:g} GB/s, "
                f"where {platform.npu.name} is sold with {native.npus} at "
                f"{native.bandwidth_bytes_per_s / GB:g} GB/s"
            )
        return lines, tuple(notes)

    def _beside(self, lines: list[BillLine]) -> list[BillLine]:
        """Racks, storage and front end, spares."""
        rack, front = self._parts["rack"], self._parts["storage_and_front_end"]
        racks = ceil(plain_sum(one.rack_units for one in lines) / max(rack.rack_units - 8, 1))
        servers_w = plain_sum(one.power_w for one in lines if one.group == "accelerators")
        network = [one for one in lines if one.group in NETWORK]
        spares = self._parts["spares"]
        typical, low, high = spares.price_usd or 0, spares.low_usd or 0, spares.high_usd or 0
        return [
            bill_line("halls", "rack", rack, racks),
            bill_line("halls", "storage_and_front_end", front, servers_w),
            BillLine(
                group="spares",
                part="spares",
                what=spares.what,
                count=plain_sum(one.usd for one in network),
                unit=spares.unit,
                usd=typical * plain_sum(one.usd for one in network),
                low_usd=low * plain_sum(one.low_usd for one in network),
                high_usd=high * plain_sum(one.high_usd for one in network),
                estimate=spares.estimate,
            ),
        ]


def _without_server(platform: Platform, server: Part | None) -> Iterator[str]:
    """Note on what is assumed of accelerators that the parts list has no server of."""
    if server is None:
        name = platform.npu.name
        yield (
            f"no server on the parts list holds {name}: its network cards are bought apart, a rack "
            f"takes {npus_per_rack(None)} of it, and its power is its own; name it under "
            "accelerators of a server among the price book's parts"
        )


def _bought(platform: Platform, inner: int, server: Part | None) -> int:
    """Accelerators in the servers of *platform*: a scale-up domain lies in servers of its own.

    Several domains share one where they fit: of 72 accelerators in a rack a domain of 64 leaves 8.
    """
    domain = prod(dimension.npus for dimension in platform.dimensions[:inner])
    if server is None or not server.npus or domain > platform.npus:
        return platform.npus
    domains, beside = platform.npus // domain, max(1, server.npus // domain)
    if domain == 1 or server.npus % domain == 0 or domain % server.npus == 0:
        return platform.npus
    return ceil(domains / beside) * ceil(domain / server.npus) * server.npus


def _custom(dimension: Dimension, joined: int, rack: int) -> str:
    """Name of the custom part that a scale-up dimension needs."""
    if joined > rack:
        return "custom_optical"
    return "custom_switched" if dimension.shape.has_switches else "custom_cabled"
