"""The price of the whole machine: accelerators, scale-up and scale-out network."""

from dse.costs.base import Cost, CostModel
from dse.costs.fabric import ScaleOutLink, sort_fabric
from dse.costs.memory_tiers import MEMORY_TIERS, tier_lines
from dse.costs.prices import ScaleOutPrice
from simcore import Catalogue, Platform, plain_sum


class WholeMachine(CostModel):
    """Accelerators + scale-up beyond what their price includes + scale-out + memory tiers, USD.

    Per NPU and GB/s, scale-up has a price by shape and scale-out one per switch tier;
    ``dse.costs.fabric`` says which dimension counts as what.
    """

    def cost(self, platform: Platform) -> Cost:
        prices, npus = self.prices, platform.npus
        fabric = sort_fabric(platform, prices)
        scale_up = plain_sum(
            link.priced_gb_per_s
            * (prices.scale_up.switch if link.has_switch else prices.scale_up.direct)
            for link in fabric.scale_up
        )
        scale_out = plain_sum(
            link.gb_per_s * _usd_per_gb_per_s(link, prices.scale_out) for link in fabric.scale_out
        )
        parts = {
            "accelerators": npus * prices.accelerator_usd(platform.npu),
            "scale_up": npus * scale_up,
            "scale_out": npus * scale_out,
        }
        if platform.tiers:
            lines = tier_lines(platform, Catalogue(prices.parts))
            parts[MEMORY_TIERS] = plain_sum(line.usd for line in lines)
        return Cost(unit=self.unit, parts=parts)


def _usd_per_gb_per_s(link: ScaleOutLink, price: ScaleOutPrice) -> float:
    if not link.tier_shares:
        return float(price.direct)
    first, *further = link.tier_shares
    return float(first * price.first_tier + plain_sum(further) * price.next_tier)
