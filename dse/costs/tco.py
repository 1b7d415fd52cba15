"""Costs of an hour of the machine to its owner, and of a trained token."""

from dse.costs.base import Cost, CostModel
from dse.costs.power import Power
from dse.costs.prices import PriceBook
from dse.costs.whole_machine import WholeMachine
from simcore import Platform

HOURS_PER_YEAR = 8766.0
SECONDS_PER_HOUR = 3600.0


class TotalCostOfOwnership(CostModel):
    """Depreciation, capital, upkeep and energy, USD per hour.

    ``capex x (1 / lifetime + capital + maintenance + staff) + power x price of energy``, with
    the price of ``WholeMachine`` and the power of ``Power``.
    """

    unit = "USD/h"

    def cost(self, platform: Platform) -> Cost:
        machine = WholeMachine(self.prices).cost(platform)
        power = Power(self.prices).cost(platform)
        return hourly_cost(machine.total, power.total, prices=self.prices)


def hourly_cost(capex_usd: float, power_w: float, *, prices: PriceBook) -> Cost:
    """Cost of one hour, in USD/h, of a machine bought for *capex_usd* that draws *power_w*."""
    ownership = prices.ownership
    yearly = ownership.capital + ownership.maintenance + ownership.staff
    parts = {
        "depreciation": capex_usd * SECONDS_PER_HOUR / ownership.lifetime_s,
        "capital_and_upkeep": capex_usd * yearly / HOURS_PER_YEAR,
        "energy": power_w / 1e3 * prices.power.energy,
    }
    return Cost(unit="USD/h", parts=parts)


def rented_cost(platform: Platform, *, prices: PriceBook) -> Cost:
    """Cost of one hour of *platform* in a cloud, in USD/h: accelerators times their rent.

    Servers, network and energy are in the rent; a network beyond what the cloud builds is not.

    Raises:
        ConfigError: No rent of the accelerator is known.
    """
    rent = platform.npus * prices.rent_usd_per_hour(platform.npu)
    return Cost(unit="USD/h", parts={"rent": rent})


def usd_per_token(hourly_usd: float, iteration_time_s: float, tokens_per_iteration: int) -> float:
    """USD per trained token of a machine that costs *hourly_usd* per hour."""
    return hourly_usd * iteration_time_s / SECONDS_PER_HOUR / tokens_per_iteration
