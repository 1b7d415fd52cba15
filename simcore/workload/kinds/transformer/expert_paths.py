"""Copies of a token that travel to its experts."""

from dataclasses import dataclass
from math import comb
from typing import Self

from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.schema import Schema
from simcore.units import plain_sum
from simcore.workload.kinds.transformer.model_parts import Experts
from simcore.workload.plan import ParallelPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertPaths:
    """Copies of one token on their way, on average, where its experts are any of those allowed.

    Without dispatch groups a copy goes to each expert. With them one goes to each group that holds
    an expert of the token, and is passed on within the group once to each NPU that does.

    Source: DeepSeek-AI, "DeepSeek-V3 Technical Report", arXiv:2412.19437, sections 2.1.2 (experts
    of a token on a limited number of nodes) and 3.2.2 (once per node, then within it).

    Attributes:
        to_groups: Copies that go from group to group; 0: there are no groups.
        to_npus: Copies that reach the NPUs.
    """

    to_groups: float
    to_npus: float

    @classmethod
    def of(cls, experts: Experts, plan: ParallelPlan) -> Self:
        """The copies under *plan*, which must have passed ``check_splits``."""
        if plan.dispatch_group is None:
            return cls(to_groups=0.0, to_npus=float(experts.active))
        groups = plan.ep // plan.dispatch_group
        allowed = min(groups, experts.node_limit or groups)
        among = experts.count * allowed // groups
        return cls(
            to_groups=met(allowed, among, experts.active) if groups > 1 else 0.0,
            to_npus=met(allowed * plan.dispatch_group, among, experts.active),
        )


def met(holders: int, experts: int, active: int) -> float:
    """Mean count of *holders*, each with as many of the *experts*, that hold one of *active*.

    A holder has none of them with the chance C(experts - its own, active) / C(experts, active).
    """
    ways, without = comb(experts, active), comb(experts - experts // holders, active)
    return holders * (ways - without) / ways


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
        if self.shares and (min(self.shares) < 0 or not plain_sum(self.shares) > 0):
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
        return (
            max(plain_sum(self.shares[i : i + held]) for i in starts)
            * groups
            / plain_sum(self.shares)
        )
