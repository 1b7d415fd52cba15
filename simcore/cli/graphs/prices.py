"""Prices of a network's parts, for ``simcore network show``."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from simcore.errors import InfeasibleError
from simcore.graphs.network_table import NetworkFile
from simcore.machine import load_npu
from simcore.parts import BillLine, Catalogue, HostPorts, network_bill, shipped_parts
from simcore.units import plain_sum


@dataclass(frozen=True, slots=True)
class PricedNetwork:
    """Parts of a network with their prices.

    Attributes:
        parts: Lines of its bill; empty where the prices are unknown.
        unknown: Why they are; empty: they are known.
        is_of_npus: Whether it is known what links the accelerators' price holds.
    """

    parts: tuple[BillLine, ...]
    unknown: str = ""
    is_of_npus: bool = False

    def lines(self) -> Iterator[str]:
        """Sentences for the terminal."""
        if self.unknown:
            yield f"  cost        unknown: {self.unknown}"
            return
        usd, low, high = self._usd()
        power = plain_sum(part.power_w for part in self.parts)
        told = f"{usd:,.0f} USD ({low:,.0f} to {high:,.0f}), {power:,.0f} W"
        bought = "" if self.is_of_npus else "; all links are bought (--npu tells which are not)"
        yield f"  cost        {told}, shipped prices{bought}"
        for part in self.parts:
            yield f"    {part.count:>9,.0f}  {part.usd:>14,.0f} USD  {part.what}"

    def table(self) -> dict[str, Any]:
        """Plain data, for JSON."""
        if self.unknown:
            return {"cost_usd": None, "cost_unknown": self.unknown, "cost_lines": []}
        usd, low, high = self._usd()
        return {
            "cost_usd": usd,
            "cost_low_usd": low,
            "cost_high_usd": high,
            "cost_lines": [asdict(part) for part in self.parts],
        }

    def _usd(self) -> tuple[float, float, float]:
        parts = self.parts
        return (
            plain_sum(part.usd for part in parts),
            plain_sum(part.low_usd for part in parts),
            plain_sum(part.high_usd for part in parts),
        )


def priced_network(network: NetworkFile, npu: str | None) -> PricedNetwork:
    """Parts of *network* at the shipped prices.

    Args:
        network: Its file.
        npu: Accelerator of the NPUs; None: cards are bought, and no link is in another price.

    Raises:
        ConfigError: No such accelerator.
    """
    catalogue, server, domain = Catalogue(shipped_parts()), None, 1
    if npu is not None:
        accelerator = load_npu(npu, at="--npu")
        server, domain = catalogue.server(accelerator.name), accelerator.scale_up.npus
    try:
        bill = network_bill(network.parts(), catalogue, HostPorts.of(server, domain))
    except InfeasibleError as error:
        hint = "" if npu else "; --npu tells which links are in the price of the accelerators"
        return PricedNetwork((), f"{error.reason}{hint}")
    return PricedNetwork(bill.lines, is_of_npus=npu is not None)
