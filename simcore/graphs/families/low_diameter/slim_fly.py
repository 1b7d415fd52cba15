"""Slim Fly: routers of which no two are more than two cables apart."""

from typing import Self

import numpy as np
from pydantic import Field, model_validator

from simcore.errors import ConfigError
from simcore.graphs.families.base import Count, Family, FamilyParameters
from simcore.graphs.graph import Wiring


class SlimFlyParameters(FamilyParameters):
    """Size of a Slim Fly.

    Attributes:
        q: A prime above 2; there are 2 q^2 routers.
        terminals: NPUs of each router.
    """

    q: int = Field(ge=3, le=1000)
    terminals: Count

    @model_validator(mode="after")
    def _is_prime(self) -> Self:
        if any(self.q % d == 0 for d in range(2, int(self.q**0.5) + 1)):
            raise ConfigError("q", "must be a prime above 2", got=self.q)
        return self


class SlimFly(Family):
    """Router (0, x, y) meets (1, m, c) where y = m x + c; equal x, or m, where a set says so.

    M. Besta and T. Hoefler, "Slim Fly", SC 2014, after B. McKay, M. Miller and J. Siran, "A note on
    large graphs of diameter two and given maximum degree", J. Combin. Theory B 74, 1998.
    """

    parameters = SlimFlyParameters

    def wire(self, parameters: SlimFlyParameters) -> Wiring:
        q, terminals = parameters.q, parameters.terminals
        wiring = Wiring(2 * q * q * terminals)
        router = wiring.switches("router", 2 * q * q)
        npus = np.arange(wiring.npus)
        wiring.cables("npu-router", npus, router + npus // terminals)
        low, high = np.triu_indices(q, 1)
        for half, steps in enumerate(_generators(q)):
            joined = np.isin((high - low) % q, steps)
            for row in range(q):
                first = router + (half * q + row) * q
                wiring.cables("local", first + low[joined], first + high[joined])
        x, y, m = (index.ravel() for index in np.indices((q, q, q)))
        crossed = router + q * q + m * q + (y - m * x) % q
        wiring.cables("cross", router + x * q + y, crossed)
        return wiring

    def levels(self, parameters: SlimFlyParameters) -> tuple[int, ...]:
        return parameters.terminals, 2 * parameters.q**2


def _generators(q: int) -> tuple[list[int], list[int]]:
    """The two sets of steps that join routers of equal x and of equal m."""
    root = next(r for r in range(2, q) if _order(r, q) == q - 1) if q > 3 else 2
    powers = [pow(root, exponent, q) for exponent in range(q - 1)]
    if q % 4 == 1:
        return powers[0::2], powers[1::2]
    w = (q + 1) // 4
    first = powers[0 : 2 * w - 1 : 2] + powers[2 * w - 1 : 4 * w - 2 : 2]
    second = powers[1 : 2 * w : 2] + [pow(root, e, q) for e in range(2 * w, 4 * w - 1, 2)]
    return first, second


def _order(root: int, q: int) -> int:
    value, order = root, 1
    while value != 1:
        value, order = value * root % q, order + 1
    return order
