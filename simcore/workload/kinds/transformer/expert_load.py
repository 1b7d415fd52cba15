"""The evenness with which the router spreads tokens over experts."""

from typing import Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema


class ExpertLoad(Schema):
    """Load of the busiest NPU, which sets the pace for the others; at most one field is given.

    Attributes:
        imbalance: Tokens that reach the busiest NPU over the mean of all NPUs.
        capacity: Every expert takes this many times its even part: fewer tokens are padded, more
            are dropped (D. Lepikhin et al., "GShard", ICLR 2021, section 2.2).
        shares: Relative load of each expert, in the order in which the NPUs of an expert parallel
            group hold them.
    """

    imbalance: float = Field(default=1.0, ge=1)
    capacity: float | None = Field(default=None, gt=0)
    shares: tuple[float, ...] = ()

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.imbalance != 1, self.capacity is not None, bool(self.shares)]
        if sum(given) > 1:
            rule = "takes one of imbalance, capacity and shares"
            raise ConfigError("", rule, got=self.model_dump(exclude_defaults=True))
        if self.shares and (min(self.shares) < 0 or not sum(self.shares) > 0):
            raise ConfigError("shares", "must be 0 or more with a sum above 0", got=self.shares)
        return self

    def factor(self, experts: int, groups: int) -> float:
        """Load of the busiest of *groups* NPUs that hold *experts* together, over an even load."""
        if self.capacity is not None:
            return self.capacity
        if not self.shares:
            return self.imbalance
        held = experts // groups
        starts = range(0, experts, held)
        return max(sum(self.shares[i : i + held]) for i in starts) * groups / sum(self.shares)
