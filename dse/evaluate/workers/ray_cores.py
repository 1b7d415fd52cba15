"""Cores of a Ray cluster: which are free, which a study takes, and what it says while none is."""

import heapq
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

SETTLE_S = 1.0
"""Time after which a look at the cluster shows what was started before it."""

HOPE_S = 30.0
"""Time in which a worker on a core that was free is there, unless another study was faster."""

_MOST_HOPE_S = 240.0
MOST_ASKED = 256
"""Workers that wait in Ray's own queue at a time; more are asked for when these have come."""

Nodes = Sequence[Mapping[str, Any]]


def free_cores(ray: Any) -> dict[str, int] | None:
    """Whole cores of each node that nobody holds, by Ray's name of the node; None: Ray cannot say.

    Ray tells this node by node only here: its public ``available_resources`` adds all nodes up.
    """
    state = getattr(getattr(ray, "_private", None), "state", None)
    ask = getattr(state, "available_resources_per_node", None)
    if ask is None:
        return None
    return {name: int(amounts.get("CPU", 0)) for name, amounts in ask().items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """State of a cluster at one moment.

    Attributes:
        nodes: As Ray describes them.
        free: Cores that nobody holds, by node; None where Ray cannot say.
        seen_s: When Ray was asked.
    """

    nodes: Nodes
    free: Mapping[str, int] | None
    seen_s: float

    @property
    def alive(self) -> dict[str, Mapping[str, Any]]:
        """Nodes that are there, by Ray's names."""
        return {node["NodeID"]: node for node in self.nodes if node["Alive"]}

    @property
    def cores(self) -> dict[str, int]:
        """All cores of each node that is there and has some."""
        found = {name: cores_of(node) for name, node in self.alive.items()}
        return {name: cores for name, cores in found.items() if cores}

    def free_beside(self, own: Mapping[str, int]) -> dict[str, int]:
        """Free cores by node, where *own* cores of each are held by who asks.

        Of a node that has just come Ray may not know them yet: nobody else can have any.
        """
        known = self.free or {}
        return {
            name: known[name] if name in known else max(cores - own.get(name, 0), 0)
            for name, cores in self.cores.items()
        }


def cores_of(node: Mapping[str, Any]) -> int:
    """Number of cores of a node, as Ray describes it."""
    return int(node["Resources"].get("CPU", 0))


def spread(free: Mapping[str, int], count: int | None) -> list[str]:
    """Nodes for *count* workers (None: one per free core), each where most cores are left.

    Of nodes that have as many left, those come first that have been given fewer.
    """
    heap = [(-cores, 0, name) for name, cores in free.items() if cores > 0]
    heapq.heapify(heap)
    found: list[str] = []
    while heap and (count is None or len(found) < count):
        left, given, name = heapq.heappop(heap)
        found.append(name)
        if left + 1:
            heapq.heappush(heap, (left + 1, given + 1, name))
    return found


@dataclass(slots=True)
class Claims:
    """Claims of a study on cores that were free, which others may have been faster to take.

    Attributes:
        hope_s: Time after which a worker that has not come may be taken back.
    """

    hope_s: float = HOPE_S
    _changed_s: float = field(default=float("-inf"))

    def changed(self) -> None:
        """Workers were started or ended now."""
        self._changed_s = time.monotonic()

    def are_shown_by(self, view: View) -> bool:
        """True if *view* is so late that it shows what this study has started."""
        return view.seen_s > self._changed_s + SETTLE_S

    def lost(self) -> None:
        """A worker was taken back; had it only been slow to start, the next one has more time."""
        self.hope_s = min(2 * self.hope_s, _MOST_HOPE_S)


class Wait:
    """Notes whether a study waits for cores, so that each change is told once.

    Attributes:
        reason: Why no worker is there, in one sentence; empty while one is, or is about to be.
    """

    def __init__(self) -> None:
        self.reason = ""
        self._asked = 0

    def told(self, cores: int, *, workers: int, asked: int) -> list[tuple[str, str]]:
        """Events, kinds and texts, that follow from what a look has shown.

        Args:
            cores: Of the whole cluster.
            workers: That this study has, or is about to have.
            asked: Workers that wait in Ray's queue.
        """
        before, self.reason = self.reason, ""
        events: list[tuple[str, str]] = []
        if not workers and cores:
            self.reason = (
                f"all cores of the Ray cluster ({cores}) are taken by others: the study waits, "
                "and goes on as soon as one is free"
            )
            if not before:
                events.append(("waiting", self.reason))
        elif before and workers:
            events.append(("went_on", f"cores are free: {workers} workers start"))
        if asked > self._asked:
            text = f"asked Ray for {asked} more cores: free ones, or those of nodes that it adds"
            events.append(("asked", text))
        self._asked = asked
        return events
