"""Costs of a machine as metrics of an evaluation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import field_validator

from dse.costs import (
    COSTS,
    Cost,
    CostModel,
    PriceBook,
    carbon_kg,
    hourly_cost,
    load_prices,
    rented_cost,
    usd_per_token,
)
from dse.evaluate.base import EvaluatorInput
from dse.objectives import Goals, needed_metrics
from simcore import ConfigError, Platform, Schema


class CostFile(Schema):
    """Cost model and price book of a study file.

    Attributes:
        model: Cost model of ``capital_cost``.
        network: Cost model of ``network_cost``.
        hour: How an hour is paid for, as the owner of the machine or at the rent of a cloud.
        prices: Shipped price book, or a path ending in .yaml.
    """

    model: str = "whole_machine"
    network: str = "libra_py"
    hour: Literal["owned", "rented"] = "owned"
    prices: str = "default"

    @field_validator("model", "network")
    @classmethod
    def _known(cls, name: str) -> str:
        if name not in COSTS:
            raise COSTS.unknown(name)
        return name

    def beside(self, folder: str) -> Path | None:
        """The folder that a path in ``prices`` starts from."""
        return Path(folder) if folder else None


_HOURLY = frozenset({"usd_per_hour", "usd_per_token"})
_ENERGY = frozenset({"energy_j", "energy_j_per_token", "carbon_kg_per_token"})


def _in_usd(model: CostModel, platform: Platform) -> Cost:
    """Cost of *platform*, held to the unit that the class of *model* tells."""
    found = model.cost(platform)
    if found.unit != model.unit:
        rule = f"{type(model).__name__} must give costs in {model.unit}, as its class says"
        raise ConfigError("cost", rule, got=found.unit)
    return found


class CostMeter:
    """Prices platforms as a study asks for it; models and prices are read once."""

    @classmethod
    def of(cls, what: EvaluatorInput) -> Self | None:
        """The meter of a study, or None where it names no costs."""
        if what.cost is None:
            return None
        return cls(CostFile.from_file_data(dict(what.cost), at="cost"), what.goals, what.folder)

    def __init__(
        self,
        file: CostFile,
        goals: Goals,
        folder: str,
        prices: PriceBook | None = None,
    ) -> None:
        """Read the prices, or take *prices* in place of those that *file* names.

        Raises:
            ConfigError: A price is not there, or a model of *file* gives no price in USD.
        """
        self._prices = prices or load_prices(file.prices, beside=file.beside(folder))
        self._needed = needed_metrics(goals)
        self._rented = file.hour == "rented"
        self._capital = self._priced_by("model", file.model)
        self._network = self._priced_by("network", file.network)
        self._power = COSTS[self._capital.power_model](self._prices)
        if self._capital.is_of_parts:
            self._needed |= {"capital_cost_usd"}
        elif self._network.is_of_parts:
            self._needed |= {"network_cost_usd"}

    def _priced_by(self, key: str, name: str) -> CostModel:
        model = COSTS[name](self._prices)
        if model.unit != "USD":
            rule = f"must be a model of a price in USD, not one in {model.unit}"
            raise ConfigError(f"cost.{key}", rule, got=name)
        return model

    @property
    def rises(self) -> bool:
        """True if the needed costs never fall when an NPU count or a bandwidth rises."""
        needs_power = self._needed & {"power_w", *_HOURLY, *_ENERGY}
        asked = (self._capital, self._network, *((self._power,) if needs_power else ()))
        return all(model.rises for model in asked)

    @property
    def prices(self) -> PriceBook:
        """The price book in use."""
        return self._prices

    def power(self, platform: Platform) -> Cost:
        """Power of *platform* by part."""
        return self._power.cost(platform)

    def check(self, platform: Platform) -> None:
        """See whether all is known that costs of the accelerators of *platform* are made of.

        Raises:
            ConfigError: A price or a power is not.
            InfeasibleError: No such machine is sold.
        """
        if not (self._capital.is_of_parts or self._network.is_of_parts):
            self.machine(platform)
        elif self._needed & {"capital_cost_usd", *(() if self._rented else _HOURLY)}:
            self._prices.accelerator_usd(platform.npu)  # a check has no time to count parts

    def metrics(
        self, platform: Platform, iteration_time_s: float, tokens: int
    ) -> Mapping[str, float]:
        """Costs of *platform*, and of a token that it trains; only what the study needs."""
        return self.timed(self.machine(platform), iteration_time_s, tokens)

    def machine(self, platform: Platform) -> dict[str, float]:
        """Costs of *platform* that its iteration time has no part in."""
        needed, result = self._needed, dict[str, float]()
        owned = frozenset() if self._rented else _HOURLY
        if needed & {"capital_cost_usd", *owned}:
            capital = _in_usd(self._capital, platform)
            result["capital_cost_usd"] = capital.total
            if capital.low is not None and capital.high is not None:
                result["capital_cost_low_usd"] = capital.low
                result["capital_cost_high_usd"] = capital.high
            result |= {f"capital_{name}_usd": usd for name, usd in capital.parts.items()}
        if "network_cost_usd" in needed:
            network = _in_usd(self._network, platform)
            result["network_cost_usd"] = network.total
            result |= {f"network_{name}_usd": usd for name, usd in network.parts.items()}
        if needed & {"power_w", *owned, *_ENERGY}:
            result["power_w"] = self.power(platform).total
        if needed & _HOURLY:
            result["usd_per_hour"] = self._hourly(platform, result).total
        return result

    def timed(
        self, machine: Mapping[str, float], iteration_time_s: float, tokens: int
    ) -> dict[str, float]:
        """*machine*, as of ``machine``, and the costs of what it does in an iteration."""
        needed, result = self._needed, dict(machine)
        if needed & _HOURLY:
            hourly = result["usd_per_hour"]
            result["usd_per_token"] = usd_per_token(hourly, iteration_time_s, tokens)
        if needed & _ENERGY:
            result["energy_j"] = result["power_w"] * iteration_time_s
            per_token_j = result["energy_j"] / tokens
            result["energy_j_per_token"] = per_token_j
            result["carbon_kg_per_token"] = carbon_kg(per_token_j, self._prices)
        return result

    def _hourly(self, platform: Platform, found: Mapping[str, float]) -> Cost:
        """Cost of one hour of *platform*, of which price and power are *found* if it is owned."""
        if self._rented:
            return rented_cost(platform, prices=self._prices)
        return hourly_cost(found["capital_cost_usd"], found["power_w"], prices=self._prices)
