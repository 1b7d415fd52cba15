"""The bill of a network that is told by a builder's parameters."""

from dse.costs.bill.bill import Bill
from dse.costs.bill.cabling import switched
from dse.costs.fabrics import Fabric, FabricCounts
from dse.costs.fabrics.scale_up import NvlDomain
from simcore import (
    ROW_M,
    BillLine,
    Catalogue,
    ConfigError,
    InfeasibleError,
    Links,
    Part,
    bill_line,
    cabled,
    load_npu,
    merged_lines,
)

GROUP = "scale_out"


def network_bill(fabric: Fabric, counts: FabricCounts, parts: Catalogue) -> Bill:
    """Bill of the network.

    Raises:
        InfeasibleError: Something that has a price is not told, or is not on the list.
    """
    if isinstance(fabric, NvlDomain):
        return _domain(fabric, counts, parts)
    if not counts.is_counted:
        raise _unknown("no network is told")
    if counts.circuit_switches:
        raise _unknown("links through circuit switches have no price on the parts list")
    if fabric.port_gbps is None:
        raise _unknown("port_gbps is not told")
    try:
        return _priced(fabric.port_gbps, getattr(fabric, "radix", None), counts, parts)
    except ConfigError as error:
        raise _unknown(f"{error.at} {error.rule}") from None


def _unknown(reason: str) -> InfeasibleError:
    return InfeasibleError("parts", reason)


def _priced(gbps: float, radix: int | None, counts: FabricCounts, parts: Catalogue) -> Bill:
    lines: list[BillLine] = []
    if counts.switches:
        boxes, stages = switched(counts, gbps, _switch(gbps, radix, parts), in_rack=False)
        lines = [bill_line(GROUP, name, part, count) for name, part, count in boxes]
    else:
        links = (stage for stage in counts.links if stage)
        ends = ("nic", "nic")
        stages = [Links(count=n, gbps=gbps, length_m=ROW_M, ends=ends) for n in links]
    for stage in stages:
        lines += cabled(stage, parts, GROUP)
    return Bill(lines=merged_lines(lines))


def _switch(gbps: float, radix: int | None, parts: Catalogue) -> tuple[str, Part]:
    """The switch of the list with these ports; the cheapest if several are."""
    fitting = [
        (name, part)
        for name, part in parts.of_kind("switch")
        if part.radix_at(gbps) is not None and radix in (None, part.radix_at(gbps))
    ]
    if not fitting:
        ports = "" if radix is None else f" of {radix} ports"
        raise _unknown(f"no switch{ports} at {gbps:g} Gb/s is on the parts list")
    return min(fitting, key=lambda one: one[1].price_usd or 0.0)


def _domain(fabric: NvlDomain, counts: FabricCounts, parts: Catalogue) -> Bill:
    """Bill of what a scale-up domain takes beyond its racks, whose price its own network is in."""
    if counts.optical_ends is not None:
        name = "nvl72_optical_module"
        return Bill(lines=(bill_line("scale_up", name, parts[name], counts.optical_ends),))
    if fabric.tiers > 1:
        name = "custom_optical"
        share = counts.endpoints * _gb_per_s(fabric, parts)
        return Bill(lines=(bill_line("scale_up", name, parts[name], share),))
    raise _unknown("the network of a scale-up domain is in the price of its racks")


def _gb_per_s(fabric: NvlDomain, parts: Catalogue) -> float:
    """Scale-up bandwidth of an NPU, as racks of this size are sold, GB/s."""
    for _, part in parts.of_kind("server"):
        if part.npus == fabric.gpus_per_rack and part.accelerators:
            return load_npu(part.accelerators[0]).scale_up.bandwidth_bytes_per_s / 1e9
    raise _unknown(f"no rack of {fabric.gpus_per_rack} accelerators is on the parts list")
