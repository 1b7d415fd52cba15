"""Proof for many designs at once that none of their times passes what is counted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.compute import COMPUTE_MODELS
from simcore.engines.stages.time_limit import TimeLimit
from simcore.machine import Dimension, Npu, Platform
from simcore.machine.system import System
from simcore.many.plans import PlanRow
from simcore.topologies import TOPOLOGIES

Ints = NDArray[np.int64]

SWITCH_HOPS = TOPOLOGIES["switch"].most_hops(2)
"""Links between two NPUs next to a switch, however many there are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Countable:
    """A machine that is slower in everything than each of some; what it can count, all can.

    Attributes:
        worst: As slow as the slowest of all dimensions, and as long as the longest.
        count: Of dimensions.
        system: With the most chunks and the longest delay.
    """

    worst: Dimension
    count: int
    system: System
    _limits: list[tuple[tuple[Npu, str], TimeLimit]] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    @classmethod
    def of(
        cls, dimensions: Sequence[Dimension], systems: Sequence[System], count: int
    ) -> "Countable":
        """The machine of *count* dimensions that is slower than all *dimensions* and *systems*."""
        hops = max([one.shape.most_hops(one.npus) for one in dimensions])
        rate = min([one.link_bandwidth_bytes_per_s for one in dimensions])
        return cls(
            worst=Dimension(
                topology="switch" if hops <= SWITCH_HOPS else "ring",
                npus=max(2 * hops, *[one.npus for one in dimensions]),
                bandwidth_bytes_per_s=rate,
                latency_s=max([one.latency_s for one in dimensions]),
            ),
            count=count,
            system=System(
                chunks=max([one.chunks for one in systems]),
                endpoint_delay_s=max([one.endpoint_delay_s for one in systems]),
            ),
        )

    def holds(self, plan: PlanRow, npu: Npu, compute: str, operator_ns: Callable[[], Ints]) -> bool:
        """True if the times of *plan* can be counted; False may mean that this is not known.

        Raises:
            InfeasibleError: They cannot, on the slowest machine.
        """
        if plan.demand is None or plan.code is None:
            return False
        limit = self._limit(npu, compute)
        plan.demand.check_times(plan.workload, limit.platform, self.system)
        limit.check(plan.code.program, plan.code.counts, operator_ns())
        return True

    def _limit(self, npu: Npu, compute: str) -> TimeLimit:
        """The limit of times on this machine with accelerators like *npu*."""
        for known, limit in self._limits:
            if known[0] is npu and known[1] == compute:
                return limit
        limit = TimeLimit(
            platform=Platform(name="worst", npu=npu, dimensions=(self.worst,) * self.count),
            system=self.system,
            compute=COMPUTE_MODELS[compute](),
            messages_meet=False,
        )
        self._limits.append(((npu, compute), limit))
        return limit
