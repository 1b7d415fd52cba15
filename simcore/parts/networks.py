"""A network of any form as bought: switches by the ports that they use, cables, modules, cards."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from math import ceil

from simcore.errors import ConfigError, InfeasibleError
from simcore.graphs.structure.parts import CIRCUIT, NPU, CableParts, NetworkParts, SwitchParts
from simcore.parts.cables import (
    BEYOND_M,
    HALL_ENDPOINTS,
    HALL_M,
    RACK_M,
    ROW_M,
    Links,
    cabled,
)
from simcore.parts.catalogue import Catalogue
from simcore.parts.lines import BillLine, bill_line, merged_lines
from simcore.parts.part import GBPS, Part
from simcore.units import plain_sum

GROUP = "scale_out"
_SLACK = 1 + 1e-9
_RACK_UNITS = 40
"""Units of a rack that servers may fill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostPorts:
    """Ports and racks that come with the servers of the NPUs.

    Attributes:
        npus_per_rack: NPUs in one rack.
        cards: Network ports of one NPU in the server's price ...
        card_gbps: ... if the port is no faster than this.
        domain: NPUs joined inside the accelerators' own domain, whose links are in their price.
    """

    npus_per_rack: int = 8
    cards: int = 0
    card_gbps: float = 0.0
    domain: int = 1

    @classmethod
    def of(cls, server: Part | None, domain: int) -> "HostPorts":
        """Ports and racks of a *server* of the list; None: it is unknown.

        Args:
            server: What the NPUs are sold in.
            domain: NPUs joined inside the accelerators' own domain.
        """
        if server is None or not server.npus:
            return cls(domain=domain)
        return cls(
            npus_per_rack=server.npus * max(1, int(_RACK_UNITS // max(server.rack_units, 1))),
            cards=(server.ports or 0) // server.npus,
            card_gbps=server.speed_gbps,
            domain=domain,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkBill:
    """Lines of one network.

    Attributes:
        lines: Of the bill.
        ports_per_npu: Network ports of an NPU that are priced, the mean.
    """

    lines: tuple[BillLine, ...]
    ports_per_npu: float

    def times(self, copies: int) -> "NetworkBill":
        """The bill of so many equal networks."""
        lines = merged_lines([line for _ in range(copies) for line in self.lines])
        return NetworkBill(lines=lines, ports_per_npu=self.ports_per_npu)


def network_bill(parts: NetworkParts, catalogue: Catalogue, host: HostPorts) -> NetworkBill:
    """Bill of a network; what lies inside the accelerators' own domain is in their price.

    A cable takes ports of the slowest listed speed that carries it, several side by side where
    none does; a switch is the cheapest on the list with ports enough.

    Raises:
        InfeasibleError: A part that is needed is not on the list.
    """
    own = parts.closed_kinds(host.domain)
    try:
        cables = [cable for cable in parts.cables if cable.kind not in own]
        lines = [
            *_switch_lines(parts.switches, own, catalogue),
            *(one for cable in cables for one in _cable_lines(cable, parts.npus, catalogue, host)),
            *_circuit_lines(cables, catalogue),
        ]
        cards, ports = _card_lines(cables, parts.npus, catalogue, host)
    except ConfigError as error:
        raise InfeasibleError("parts", f"{error.at} {error.rule}") from None
    return NetworkBill(lines=merged_lines([*cards, *lines]), ports_per_npu=ports)


def _ports(rate: float, catalogue: Catalogue) -> tuple[float, int]:
    """Speed in Gb/s and number of the ports side by side that carry *rate* bytes/s."""
    gbps, speeds = rate / GBPS, catalogue.speeds_gbps()
    speed = next((one for one in speeds if one * _SLACK >= gbps), speeds[-1])
    return speed, max(1, ceil(gbps / speed / _SLACK))


def _switch_lines(
    switches: tuple[SwitchParts, ...], own: Collection[str], catalogue: Catalogue
) -> Iterator[BillLine]:
    for switch in switches:
        if switch.kinds <= set(own):
            continue
        needed = dict[float, int]()
        for rate, count in switch.ports:
            speed, beside = _ports(rate, catalogue)
            needed[speed] = needed.get(speed, 0) + count * beside
        options = [
            (name, part) for name, part in catalogue.of_kind("switch") if _fits(part, needed)
        ]
        if not options:
            told = " and ".join(f"{count} of {speed:g} Gb/s" for speed, count in needed.items())
            reason = f"no switch on the list has the ports of a {switch.tier} ({told})"
            raise InfeasibleError("parts", reason)
        name, part = min(options, key=lambda one: one[1].price_usd or 0.0)
        yield bill_line(GROUP, name, part, switch.count)


def _fits(part: Part, needed: dict[float, int]) -> bool:
    used = 0.0
    for speed, count in needed.items():
        radix = part.radix_at(speed)
        if radix is None:
            return False
        used += count / radix
    return used <= _SLACK


def _cable_lines(
    cable: CableParts, npus: int, catalogue: Catalogue, host: HostPorts
) -> list[BillLine]:
    speed, beside = _ports(cable.bytes_per_s, catalogue)
    ends = tuple("nic" if end == NPU else "switch" for end in cable.ends if end != CIRCUIT)
    if len(ends) == 1:  # light passes a circuit switch, which takes the reach of single-mode fibre
        links = Links(count=cable.count * beside, gbps=speed, length_m=BEYOND_M, ends=ends)
        return cabled(links, catalogue, GROUP)
    if ends == ("switch", "switch"):
        length_m = HALL_M if npus <= HALL_ENDPOINTS else BEYOND_M
    elif cable.joins <= host.npus_per_rack and (cable.consecutive or npus <= host.npus_per_rack):
        length_m = RACK_M
    else:
        length_m = ROW_M if cable.joins <= 8 * host.npus_per_rack or "switch" in ends else HALL_M
    links = Links(count=cable.count * beside, gbps=speed, length_m=length_m, ends=ends)
    return cabled(links, catalogue, GROUP)


def _circuit_lines(cables: list[CableParts], catalogue: Catalogue) -> Iterator[BillLine]:
    """Circuit switches with a port for each cable that ends in one."""
    ports = sum(
        cable.count * _ports(cable.bytes_per_s, catalogue)[1]
        for cable in cables
        if CIRCUIT in cable.ends
    )
    if ports:
        found = next(catalogue.of_kind("circuit_switch"), None)
        if found is None:
            raise InfeasibleError("parts", "no circuit switch is on the list")
        name, part = found
        yield bill_line(GROUP, name, part, ceil(ports / (part.ports or 1)))


def _card_lines(
    cables: list[CableParts], npus: int, catalogue: Catalogue, host: HostPorts
) -> tuple[list[BillLine], float]:
    """Network cards beyond those of the servers, and ports of an NPU."""
    needed = dict[float, int]()
    for cable in cables:
        speed, beside = _ports(cable.bytes_per_s, catalogue)
        needed[speed] = needed.get(speed, 0) + cable.count * beside * cable.ends.count(NPU)
    left, lines = host.cards * npus, list[BillLine]()
    for speed, count in sorted(needed.items(), reverse=True):
        free = min(left, count) if speed <= host.card_gbps else 0
        left -= free
        if count - free > 0:
            name, part = catalogue.at_speed("nic", speed)
            lines.append(bill_line(GROUP, name, part, count - free))
    return lines, plain_sum(needed.values()) / npus
