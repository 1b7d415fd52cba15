"""Attribution of a time: what each of its nanoseconds went to."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from simcore.engines.iteration import Iteration
from simcore.engines.moving import LOST
from simcore.units import plain_sum
from simcore.workload.graph import Axis, PassPhase

_PASSES = {
    "forward": "the forward pass",
    "backward": "the backward pass",
    "gradients": "the reduction of gradients",
    "optimizer": "the optimizer",
}


class Cause(StrEnum):
    """Kind of thing that time on the critical path goes to."""

    COMPUTE = "compute"
    COLLECTIVE = "collective"
    MESSAGE = "message"
    TRANSFER = "transfer"
    LOST = "compute lost to communication"
    WAIT = "wait"
    SERVICE = "service"


@dataclass(frozen=True, slots=True, order=True)
class Reason:
    """One line of the attribution.

    Attributes:
        cause: Kind of the entry.
        name: Operator, kind of the collective, or part of a service; of other causes empty.
        axis: Parallel axis of communication; of a transfer into or out of a tier of memory its
            port, such as ``host_load``; else empty.
        phase: Pass of the iteration, empty where a message or a wait serves none.
        dimensions: Network dimensions that communication crosses.
    """

    cause: Cause
    name: str = ""
    axis: str = ""
    phase: str = ""
    dimensions: tuple[int, ...] = ()

    def __str__(self) -> str:
        name = (self.name or str(self.cause)).replace("_", "-")
        over = "dimensions " if len(self.dimensions) > 1 else "dimension "
        *most, last = map(str, self.dimensions or ("",))
        over += f"{', '.join(most)} and {last}" if most else last
        parts = (
            name,
            self.axis and (f"of {self.axis}" if self.cause is not Cause.TRANSFER else self._way),
            f"over {over}" if self.dimensions else "",
            self.phase and f"in {_PASSES.get(self.phase, self.phase)}",
        )
        return " ".join(filter(None, parts))

    @property
    def _way(self) -> str:
        """The port of a transfer in words."""
        tier, _, way = self.axis.rpartition("_")
        return {"load": f"from tier {tier}", "store": f"to tier {tier}"}.get(way, f"in tier {tier}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Time by reason.

    Attributes:
        what: What took the time, such as one iteration.
        way: How it was followed, such as along the critical path.
        parts_ns: Nanoseconds of each reason, largest first.
    """

    what: str
    way: str
    parts_ns: Mapping[Reason, int]

    @property
    def time_ns(self) -> int:
        """The whole time: the sum of the parts."""
        return plain_sum(self.parts_ns.values())


def booked_attribution(iteration: Iteration, what: str) -> Attribution:
    """Time of the pipeline stage that ends last, by what its NPUs did: of each instant one thing.

    For iterations that keep no record of their nodes.
    """
    last = int(iteration.finish_ns.argmax())
    names = [*iteration.categories, ""]
    found = {
        _booked(name): int(spent)
        for name, spent in zip(names, iteration.booked_ns[last].tolist(), strict=True)
        if spent
    }
    return Attribution(
        what=what,
        way=f"of stage {last}, which ends last",
        parts_ns=dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
    )


def _booked(name: str) -> Reason:
    """Reason for the time that is booked under *name*, a pass or an axis; empty: idle."""
    if not name:
        return Reason(Cause.WAIT)
    if name == LOST:
        return Reason(Cause.LOST)
    if name in set(PassPhase):
        return Reason(Cause.COMPUTE, phase=name)
    if name not in set(Axis):
        return Reason(Cause.TRANSFER, name="transfer", axis=name)
    return Reason(Cause.COLLECTIVE, name="communication", axis=name)
