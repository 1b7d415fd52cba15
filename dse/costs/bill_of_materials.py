"""The price and the power of a machine from its parts."""

from functools import cached_property
from typing import TYPE_CHECKING

from dse.costs.base import Cost, CostModel
from dse.costs.memory_tiers import MEMORY_TIERS
from simcore import ConfigError, Platform, plain_sum

if TYPE_CHECKING:  # a check of a study counts no parts
    from dse.costs.bill import Biller

GROUPS = ("accelerators", "scale_up", "scale_out", "spares", "halls")


def _groups(platform: Platform) -> tuple[str, ...]:
    """Groups of the lines of its bill."""
    return (*GROUPS, MEMORY_TIERS) if platform.tiers else GROUPS


class BillOfMaterials(CostModel):
    """Accelerators, memory, scale-up, cards, switches, cables, racks, storage, spares, USD.

    Every part has a low and a high price; see ``dse.costs.bill``.
    """

    is_of_parts = True
    power_model = "bill_of_materials_power"

    @cached_property
    def _biller(self) -> "Biller":
        from dse.costs.bill import Biller

        return Biller(self.prices)

    def cost(self, platform: Platform) -> Cost:
        bill = self._biller.bill(platform)
        return Cost(
            unit=self.unit,
            parts={name: bill.usd_of(name) for name in _groups(platform)},
            low=bill.low_usd,
            high=bill.high_usd,
        )


class BillOfMaterialsPower(CostModel):
    """Servers at their training load, switches, modules and cards, storage, and building, W.

    The parts are those that cost least; faster ones on fewer tiers may draw less.
    """

    unit = "W"
    rises = False

    @cached_property
    def _biller(self) -> "Biller":
        from dse.costs.bill import Biller

        return Biller(self.prices, priced=False)

    def cost(self, platform: Platform) -> Cost:
        bill, power = self._biller.bill(platform), self.prices.power
        servers = bill.group("accelerators").power_w * power.server_load
        if not servers:  # neither the accelerator nor its server nor a TDP tells one
            rule = f"must be given for {platform.npu.name}, whose power is asked for"
            raise ConfigError("platform.npu.system_power", rule, got=None)
        groups = [name for name in _groups(platform) if name != "accelerators"]
        others = {name: bill.group(name).power_w for name in groups}
        building = (servers + plain_sum(others.values())) * (power.pue - 1)
        return Cost(unit=self.unit, parts={"servers": servers, **others, "building": building})
