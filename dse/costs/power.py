"""The power that the whole machine draws while it trains."""

from dse.costs.base import Cost, CostModel
from dse.costs.fabric import sort_fabric
from dse.costs.prices import PriceBook
from simcore import ConfigError, Platform, plain_sum

J_PER_KWH = 3.6e6


class Power(CostModel):
    """Servers at their training load, scale-out network and building, W.

    ``(npus x system power x load + npus x sum of GB/s x (port + tier x tiers)) x PUE``; the
    scale-up network is inside the system power.
    """

    unit = "W"

    def cost(self, platform: Platform) -> Cost:
        power, npus = self.prices.power, platform.npus
        if platform.npu.system_power_w is None:
            rule = f"must be given for {platform.npu.name}, whose power is asked for"
            raise ConfigError("platform.npu.system_power", rule, got=None)
        servers = npus * platform.npu.system_power_w * power.server_load
        fabric = sort_fabric(platform, self.prices)
        network = npus * plain_sum(
            link.gb_per_s * (link.has_port * power.port + plain_sum(link.tier_shares) * power.tier)
            for link in fabric.scale_out
        )
        building = (servers + network) * (power.pue - 1)
        parts = {"servers": servers, "scale_out": network, "building": building}
        return Cost(unit=self.unit, parts=parts)


def carbon_kg(energy_j: float, prices: PriceBook) -> float:
    """CO2 that the grid emits for *energy_j*, kg; that of making the machine is not counted."""
    return float(energy_j / J_PER_KWH * prices.power.carbon)
