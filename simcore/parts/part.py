"""Parts that machines are built of: prices, powers, ports, reach."""

from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import BytesPerS, Schema, Usd, Watts

Kind = Literal[
    "server",
    "switch",
    "circuit_switch",
    "nic",
    "module",
    "cable",
    "custom",
    "rack",
    "memory",
    "memory_port",
    "share",
]

GBPS = 1e9 / 8
"""B/s of 1 Gb/s."""


class Part(Schema):
    """One entry of the parts list.

    Attributes:
        kind: What it is; ``share``: so much per unit of something else, which ``what`` names.
        what: In words.
        unit: What is counted, where that is no piece: ``W``, ``USD``, ``GB/s``.
        price_usd: Typical price of one, USD; None: in the price of something else, or unknown.
        low_usd, high_usd: Between which prices were found.
        power_w, most_power_w: Typical and largest power, W.
        speed_bytes_per_s: Of one port, one way, B/s.
        ports: Ports of a switch; network ports of a server.
        splits: Slower ports that one port can be split into.
        reach_m: Longest run of a cable, m.
        modules: Optical modules that a cable needs; 0: it has its ends.
        end: Where a module sits.
        rack_units: Height in a rack.
        area_m2: Floor of a rack with its share of the aisles.
        accelerators: Names in ``configs/npus`` that a server may hold.
        npus: Accelerators of a server.
        date: Of the price, year and month.
        estimate: No published price was found.
        source: Where the values come from.
        licence: Terms under which the source is published; entries of a user's may leave it out.
    """

    kind: Kind
    what: str = Field(min_length=1)
    unit: str = ""
    price_usd: Usd | None = Field(default=None, alias="price", ge=0)
    low_usd: Usd | None = Field(default=None, alias="low", ge=0)
    high_usd: Usd | None = Field(default=None, alias="high", ge=0)
    power_w: Watts = Field(default=0.0, alias="power", ge=0)
    most_power_w: Watts | None = Field(default=None, alias="most_power", ge=0)
    speed_bytes_per_s: BytesPerS | None = Field(default=None, alias="speed", gt=0)
    ports: int | None = Field(default=None, ge=1)
    splits: int = Field(default=1, ge=1)
    reach_m: float | None = Field(default=None, gt=0)
    modules: int = Field(default=0, ge=0, le=2)
    end: Literal["nic", "switch"] | None = None
    rack_units: float = Field(default=0, ge=0)
    area_m2: float = Field(default=0, ge=0)
    accelerators: tuple[str, ...] = ()
    npus: int | None = Field(default=None, ge=1)
    date: str = Field(pattern=r"^\d{4}-\d{2}$")
    estimate: bool = False
    source: str = Field(min_length=1)
    licence: str = ""

    @model_validator(mode="after")
    def _band_holds_price(self) -> Self:
        if self.price_usd is None:
            return self
        low, high = self.low_usd, self.high_usd
        if (low is not None and low > self.price_usd) or (
            high is not None and high < self.price_usd
        ):
            rule = f"must lie between low ({low}) and high ({high})"
            raise ConfigError("price", rule, got=self.price_usd)
        return self

    @property
    def speed_gbps(self) -> float:
        """Speed of a port, Gb/s; 0: it has none."""
        return (self.speed_bytes_per_s or 0.0) / GBPS

    def radix_at(self, gbps: float) -> int | None:
        """Ports at *gbps*; None: the switch has no such ports."""
        if self.ports is None or not self.speed_gbps:
            return None
        split = self.speed_gbps / gbps
        if abs(split - round(split)) > 1e-9 or not 1 <= round(split) <= self.splits:
            return None
        return self.ports * round(split)
