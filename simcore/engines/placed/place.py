"""A program's ranks placed on NPUs, and what that does to the links."""

from dataclasses import dataclass

import numpy as np

from simcore.engines.events.input import Ints
from simcore.engines.placed.links import PlacedLinks
from simcore.engines.placed.traffic import AxisTraffic
from simcore.placement import Floats, Ranks
from simcore.placement.choice import PlacementChoice
from simcore.units import format_quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class AxisWay:
    """Traffic of one axis before and after.

    Attributes:
        axis: Its name.
        size_bytes: Of all ranks.
        crossed: Links that a byte crosses, on average, with ranks as they are, and as placed.
    """

    axis: str
    size_bytes: float
    crossed: tuple[float, float]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Placed:
    """Ranks on NPUs.

    Attributes:
        rule: By which.
        where: (n,) NPU of each rank.
        kept_s: Time for which links are kept, added up over all, with ranks as they are, and as
            placed: what is to be little.
        busiest_s: The same of the link that is kept longest.
        ways: By axis.
    """

    rule: str
    where: Ints
    kept_s: tuple[float, float]
    busiest_s: tuple[float, float]
    ways: tuple[AxisWay, ...]

    def told(self) -> str:
        """A sentence: cost before and after, and the axis whose bytes gain most."""
        text = (
            f"placement {self.rule}: bytes keep links for {_s(self.kept_s[1])} in all "
            f"({_s(self.kept_s[0])} with ranks as they are), the busiest link for "
            f"{_s(self.busiest_s[1])} ({_s(self.busiest_s[0])})"
        )
        if self.ways:
            most = max(self.ways, key=_changed)
            if _changed(most):
                text += (
                    f"; bytes of {most.axis} cross {most.crossed[1]:.3g} links on average "
                    f"({most.crossed[0]:.3g})"
                )
        return text


def _changed(way: AxisWay) -> float:
    return way.size_bytes * abs(way.crossed[0] - way.crossed[1])


def place_ranks(
    choice: PlacementChoice,
    traffic: list[AxisTraffic],
    links: PlacedLinks,
    npus: Ints,
    at: str = "placement",
) -> Placed:
    """Place as many ranks as there are *npus* on them.

    Args:
        choice: The rule.
        traffic: Of the ranks, by axis.
        links: Of the machine.
        npus: (n,) the NPUs for them, that of rank i at place i if ranks stay as they are.
        at: Place of the rule in its file.

    Raises:
        ConfigError: They cannot be placed so.
    """
    count = len(npus)

    def table() -> Floats:
        return np.asarray(sum((one.table(count) for one in traffic), np.zeros((count, count))))

    own = choice.place(Ranks(count, table, lambda: links.distance(npus)), at)
    both = npus, npus[own]
    kept = [links.kept_ns(traffic, where) * 1e-9 for where in both]
    ways = tuple(
        AxisWay(
            axis=one.axis,
            size_bytes=float(one.size_bytes.sum()),
            crossed=(links.crossed(one, both[0]), links.crossed(one, both[1])),
        )
        for one in traffic
    )
    return Placed(
        rule=choice.rule,
        where=both[1],
        kept_s=(float(kept[0].sum()), float(kept[1].sum())),
        busiest_s=(float(kept[0].max(initial=0.0)), float(kept[1].max(initial=0.0))),
        ways=ways,
    )


def _s(time_s: float) -> str:
    return format_quantity(time_s, "s")
