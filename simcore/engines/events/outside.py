"""The border to a network with an event loop of its own: holds it to what it owes."""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, TypeVar

from simcore.engines.collectives.scheduled import ScheduledPhase
from simcore.engines.events.input import EngineInput
from simcore.engines.events.joining import Joining
from simcore.errors import ConfigError, SimulationError, told
from simcore.kernels.events.layout import LAST_NS
from simcore.network import BACKENDS, Arrival, ExternalNetwork, LinkNetwork, on_links

if TYPE_CHECKING:  # needs a compiler, which few runs do
    from simcore.synthesis.placed.carriage import Carriage

T = TypeVar("T")


class HeldNetwork:
    """A network of a run, and what is under way in it.

    Args:
        backend: Its class.
        inputs: The run.
    """

    def __init__(self, backend: type[ExternalNetwork], inputs: EngineInput) -> None:
        self._name, self._under_way, self._now_ns = backend.__name__, set[int](), 0
        kind = BACKENDS[inputs.backend]
        made = inputs.network or self._asked(on_links, kind, inputs.dimensions)
        assert made is not None
        self._network = made
        self._joining = Joining()
        self._together: dict[int, list[int]] = {}

    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        """See ``ExternalNetwork.send``."""
        self._now_ns = now_ns
        self._under_way.add(message)
        self._asked(self._network.send, now_ns, message, src, dst, size_bytes)

    def join(
        self,
        now_ns: int,
        message: int,
        at: tuple[int, int],
        phase: ScheduledPhase,
        which: tuple[int, int, int],
    ) -> "Carriage | None":
        """Take the message of a member of a synthesised collective; the last one starts it.

        Args:
            now_ns: Present time.
            message: Its number.
            at: The member, and the NPU on which it runs.
            phase: The phase.
            which: Run, phase and tag that members have in common.

        Returns:
            The work that starts, if it does.
        """
        rank, npu = at
        ready = self._joining.add(message, rank, phase, which)
        if ready is None:
            return None
        messages, work = ready
        if not isinstance(self._network, LinkNetwork):
            self._joining.end_at(now_ns + phase.takes_ns(), messages)
            return work
        self._now_ns = now_ns
        self._under_way.add(message)
        self._together[message] = messages
        self._asked(self._network.carry, now_ns, message, (npu, phase.dimension), work)
        return work

    def next_event_ns(self) -> int | None:
        """See ``ExternalNetwork.next_event_ns``; members that start together count too.

        Raises:
            SimulationError: It is over, or never comes; or messages are under way without one.
        """
        due_ns, own_ns = self._asked(self._network.next_event_ns), self._joining.next_event_ns
        if due_ns is None:
            delivers = self._network.may_lose or not self._under_way
            self._require(delivers, "deliver every message", len(self._under_way))
            return own_ns
        self._check_time(due_ns, LAST_NS, "have its next event", due_ns)
        return due_ns if own_ns is None else min(due_ns, own_ns)

    def advance(self, due_ns: int, own_ns: int) -> Sequence[Arrival]:
        """See ``ExternalNetwork.advance``.

        Args:
            due_ns: Its next event.
            own_ns: Next event of the engine, not before it; the network may come as far.

        Raises:
            SimulationError: An arrival of nothing that is under way, or at another time; or the
                network's time stands still.
        """
        timed_ns = self._joining.next_event_ns
        if timed_ns is not None:
            own_ns = min(own_ns, timed_ns)
            following_ns = self._asked(self._network.next_event_ns)
            if following_ns is None or following_ns > own_ns:
                return self._joining.arrivals(own_ns)
        far = self._network.stops_at_arrivals
        until_ns = own_ns if far else due_ns
        arrivals = self._asked(self._network.advance, until_ns)
        if far and arrivals:
            until_ns = arrivals[0].time_ns
        for arrival in arrivals:
            at_ns, message = arrival.time_ns, arrival.message
            rule = "deliver messages that are under way, each once"
            self._require(message in self._under_way, rule, arrival)
            self._check_time(at_ns, until_ns, "tell arrivals", arrival)
            self._under_way.remove(message)
        self._now_ns = until_ns
        following_ns = self._asked(self._network.next_event_ns)
        rule = f"handle all events up to {until_ns} ns when it is told to"
        self._require(following_ns is None or following_ns > until_ns, rule, following_ns)
        return [one for arrival in arrivals for one in self._all_of(arrival)]

    def _all_of(self, arrival: Arrival) -> list[Arrival]:
        """The arrivals of all members, where one stands for them."""
        together = self._together.pop(arrival.message, None)
        if together is None:
            return [arrival]
        return [Arrival(time_ns=arrival.time_ns, message=message) for message in together]

    def _check_time(self, time_ns: object, last_ns: int, what: str, got: object) -> None:
        whole = type(time_ns) is int or isinstance(time_ns, Integral)  # the first is much faster
        holds = whole and self._now_ns <= int(time_ns) <= last_ns  # type: ignore[call-overload]
        self._require(holds, f"{what} at a whole number of ns, {self._now_ns} to {last_ns}", got)

    def _require(self, holds: bool, rule: str, got: object) -> None:
        if not holds:
            raise SimulationError(f"the network {self._name} must {rule}, but got {got!r}.")

    def _asked(self, call: Callable[..., T], *arguments: object) -> T:
        try:
            return call(*arguments)
        except (MemoryError, ConfigError):  # told apart from faults by whoever limits or reads
            raise
        except Exception as error:
            rule = f"the network {self._name} must answer what is asked of it ({told(error)})."
            raise SimulationError(rule) from error


def outside_network(inputs: EngineInput) -> HeldNetwork | None:
    """The network of a run, where the backend that *inputs* names has an event loop of its own."""
    backend = inputs.backend_class
    if not issubclass(backend, ExternalNetwork):
        return None
    return HeldNetwork(backend, inputs)
