"""The price book: dated, sourced prices that a file of the user may replace."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from simcore import (
    ConfigError,
    KgPerKwh,
    Npu,
    Part,
    PerYear,
    Schema,
    Seconds,
    Usd,
    UsdPerGBps,
    UsdPerHour,
    UsdPerKwh,
    WattsPerGBps,
    find_config,
    read_table,
    shipped_parts,
)


class TierPrice(Schema):
    """LIBRA's prices of one tier, USD per GB/s; None where the tier has no such part."""

    link: UsdPerGBps = Field(ge=0)
    switch: UsdPerGBps | None = Field(default=None, ge=0)
    nic: UsdPerGBps | None = Field(default=None, ge=0)


class NetworkTiers(Schema):
    """LIBRA's four tiers, innermost first."""

    chiplet: TierPrice
    package: TierPrice
    node: TierPrice
    pod: TierPrice
    source: str = Field(min_length=1)
    licence: str = ""


class ScaleUpPrice(Schema):
    """Networks inside a rack, beyond what the accelerator's price includes.

    Attributes:
        npus: The most NPUs that dimensions beyond the first may join and still count as scale-up.
        switch: USD per GB/s of one NPU in a switch dimension.
        direct: The same in a ring or fully connected dimension.
    """

    npus: int = Field(ge=1)
    switch: UsdPerGBps = Field(ge=0)
    direct: UsdPerGBps = Field(ge=0)
    source: str = Field(min_length=1)
    licence: str = ""


class ScaleOutPrice(Schema):
    """Networks between racks.

    Attributes:
        tier_endpoints: The most endpoints of a fabric with 1, 2, ... switch tiers, rising.
        first_tier: USD per GB/s of one NPU for the first switch tier and its cables.
        next_tier: The same for each further tier.
        direct: The same for cables between NPUs without a switch.
    """

    tier_endpoints: tuple[int, ...] = Field(min_length=1)
    first_tier: UsdPerGBps = Field(ge=0)
    next_tier: UsdPerGBps = Field(ge=0)
    direct: UsdPerGBps = Field(ge=0)
    source: str = Field(min_length=1)
    licence: str = ""

    @model_validator(mode="after")
    def _check_order(self) -> "ScaleOutPrice":
        if list(self.tier_endpoints) != sorted(set(self.tier_endpoints)):
            raise ConfigError("tier_endpoints", "must rise", got=self.tier_endpoints)
        return self


class PowerPrice(Schema):
    """Power that machines draw, and the price of energy.

    Attributes:
        server_load: Part of the rated server power drawn in training, in (0, 1].
        port: W per GB/s of one NPU's network bandwidth, at the NPU's end.
        tier: The same per switch tier.
        pue: Power of the whole building over power of the machine, at least 1.
        energy: USD per kWh.
        carbon: kg of CO2 per kWh, of the grid.
    """

    server_load: float = Field(gt=0, le=1)
    port: WattsPerGBps = Field(ge=0)
    tier: WattsPerGBps = Field(ge=0)
    pue: float = Field(ge=1)
    energy: UsdPerKwh = Field(ge=0)
    carbon: KgPerKwh = Field(ge=0)
    source: str = Field(min_length=1)
    licence: str = ""


class OwnershipPrice(Schema):
    """Cost per year of owning a machine, as parts of its price, over its lifetime."""

    lifetime_s: Seconds = Field(alias="lifetime", gt=0)
    capital: PerYear = Field(ge=0)
    maintenance: PerYear = Field(ge=0)
    staff: PerYear = Field(ge=0)
    source: str = Field(min_length=1)
    licence: str = ""


class PriceBook(Schema):
    """All prices that the cost models use.

    Attributes:
        date: Year and month of the prices.
        accelerators: Prices that replace those of the accelerators' files, by name.
        rents: Likewise of their rents.
        parts: Parts list; in a file, parts that replace shipped ones, or come on top.
    """

    name: str = "custom"
    date: str = Field(pattern=r"^\d{4}-\d{2}$")
    network_tiers: NetworkTiers
    scale_up: ScaleUpPrice
    scale_out: ScaleOutPrice
    power: PowerPrice
    ownership: OwnershipPrice
    accelerators: dict[str, Annotated[Usd, Field(ge=0)]] = Field(default_factory=dict)
    rents: dict[str, Annotated[UsdPerHour, Field(ge=0)]] = Field(default_factory=dict)
    parts: dict[str, Part] = Field(default_factory=dict)

    def accelerator_usd(self, npu: Npu) -> float:
        """Price of one accelerator, with its share of the server.

        Raises:
            ConfigError: Neither the book nor the accelerator gives one.
        """
        price = self.accelerators.get(npu.name, npu.price_usd)
        if price is None:
            rule = f"must be given there or in the price book's accelerators.{npu.name}"
            if npu.rent_usd_per_hour is not None:
                rule += ", or costs asked by the hour, with 'cost.hour: rented'"
            raise ConfigError("platform.npu.price", rule, got=None)
        return float(price)

    def rent_usd_per_hour(self, npu: Npu) -> float:
        """Rent of one accelerator with its share of server and network, USD/h.

        Raises:
            ConfigError: Neither the book nor the accelerator gives one.
        """
        rent = self.rents.get(npu.name, npu.rent_usd_per_hour)
        if rent is None:
            rule = f"must be given there or in the price book's rents.{npu.name}"
            raise ConfigError("platform.npu.rent", rule, got=None)
        return float(rent)


def load_prices(
    name: str = "default", *, at: str = "cost.prices", beside: Path | None = None
) -> PriceBook:
    """The price book *name*: a shipped one, or a path ending in .yaml.

    Raises:
        ConfigError: No such file, or a value in it breaks a rule.
    """
    path = find_config("costs", name, at=at, beside=beside)
    table = read_table(path)
    try:
        book = PriceBook.from_file_data(table, at="")
    except ConfigError as error:
        raise error.in_file(path) from None
    return book.model_copy(update={"parts": {**shipped_parts(), **book.parts}})
