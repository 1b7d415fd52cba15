"""Messages between stages that are followed link by link, one for all of its pair of stages."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

from simcore.engines.in_step.ways import Pair, StageWays
from simcore.flows.live import LiveFlows
from simcore.network.base import LinkRule
from simcore.network.flow import ROUNDING, whole_ns
from simcore.network.queued import Crossed, QueuedLinks


class CarriedMessages(ABC):
    """Network of messages between stages.

    Attributes:
        tied: Whether the order of messages that came to one link in the same ns mattered, which
            only NPUs that are followed one by one can tell.
    """

    tied = False

    @abstractmethod
    def send(self, now_ns: int, message: int, pair: Pair, size_bytes: int) -> None:
        """Take a message of *pair* that starts now."""

    @abstractmethod
    def next_event_ns(self) -> int | None:
        """Time of the next event, None while nothing is under way."""

    @abstractmethod
    def advance(self, until_ns: int) -> Sequence[Crossed]:
        """Arrivals up to *until_ns*, or those of the first ns in which there are any."""


def carried_messages(ways: StageWays, rule: LinkRule) -> CarriedMessages:
    """A network of one run."""
    return QueuedMessages(ways) if rule is LinkRule.QUEUED else FairMessages(ways)


class QueuedMessages(CarriedMessages):
    """Messages that queue for links."""

    def __init__(self, ways: StageWays) -> None:
        self._links = QueuedLinks(ways.bytes_per_ns.tolist(), ways.latency_ns.tolist())
        self._ways = {pair: way.links.tolist() for pair, way in ways.of_pair.items()}

    def send(self, now_ns: int, message: int, pair: Pair, size_bytes: int) -> None:
        self._links.send(now_ns, message, size_bytes, self._ways[pair])

    def next_event_ns(self) -> int | None:
        return self._links.next_event_ns()

    def advance(self, until_ns: int) -> Sequence[Crossed]:
        found = self._links.advance(until_ns)
        self.tied = self._links.tied
        return found


class FairMessages(CarriedMessages):
    """Messages that have max-min fair parts of links.

    A message of a pair loads each link of a class with what all of the pair do.
    """

    def __init__(self, ways: StageWays) -> None:
        self._flows = LiveFlows(ways.bytes_per_ns)
        self._routes = {
            pair: self._flows.add_route(way.links, way.latency_ns, way.parts)
            for pair, way in ways.of_pair.items()
        }
        self._message = dict[int, int]()

    def send(self, now_ns: int, message: int, pair: Pair, size_bytes: int) -> None:
        flow = self._flows.begin(now_ns, self._routes[pair], size_bytes)
        self._message[flow] = message

    def next_event_ns(self) -> int | None:
        due_ns = self._flows.next_event_ns
        return None if math.isinf(due_ns) else whole_ns(due_ns)

    def advance(self, until_ns: int) -> Sequence[Crossed]:
        due_ns = self.next_event_ns()
        if due_ns is None or due_ns > until_ns:
            return ()
        ended = self._flows.advance(due_ns * (1.0 + 2.0 * ROUNDING))
        times = [(min(whole_ns(time_ns), due_ns), flow) for time_ns, flow in ended]
        return [Crossed(time, time, self._message.pop(flow)) for time, flow in times]
