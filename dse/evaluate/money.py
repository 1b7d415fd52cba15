"""Costs of a machine as metrics of an evaluation."""

from collections.abc import Mapping

from dse.costs import COSTS, hourly_cost, load_prices, usd_per_token
from dse.evaluate.cost_file import CostFile
from dse.objectives import Goals, needed_metrics
from simcore import Platform


class CostMeter:
    """Prices platforms as a study asks for it; models and prices are read once."""

    def __init__(self, file: CostFile, goals: Goals, folder: str) -> None:
        self._prices = load_prices(file.prices, beside=file.beside(folder))
        self._needed = needed_metrics(goals)
        self._capital = COSTS[file.model](self._prices)
        self._network = COSTS[file.network](self._prices)
        self._power = COSTS["power"](self._prices)

    def metrics(
        self, platform: Platform, iteration_time_s: float, tokens: int
    ) -> Mapping[str, float]:
        """Costs of *platform*, and of a token that it trains; only what the study needs."""
        result: dict[str, float] = {}
        if self._needed & {"capital_cost_usd", "usd_per_token"}:
            capital = self._capital.cost(platform)
            result["capital_cost_usd"] = capital.total
            result |= {f"capital_{name}_usd": usd for name, usd in capital.parts.items()}
        if "network_cost_usd" in self._needed:
            network = self._network.cost(platform)
            result["network_cost_usd"] = network.total
            result |= {f"network_{name}_usd": usd for name, usd in network.parts.items()}
        if self._needed & {"power_w", "usd_per_token"}:
            result["power_w"] = self._power.cost(platform).total
        if "usd_per_token" in self._needed:
            hourly = hourly_cost(result["capital_cost_usd"], result["power_w"], prices=self._prices)
            result["usd_per_hour"] = hourly.total
            result["usd_per_token"] = usd_per_token(hourly.total, iteration_time_s, tokens)
        return result
