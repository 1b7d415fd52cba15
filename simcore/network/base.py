"""Network models: those inside the event kernel, and the border to those outside it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from simcore.errors import ConfigError
from simcore.kernels.events.layout import OUTSIDE

if TYPE_CHECKING:  # a run of ASTRA-sim's files is often shorter than what this imports
    from simcore.graphs.network_table import InNetwork, NetworkFile
    from simcore.synthesis.placed.carriage import Carriage


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NetworkDimension:
    """One dimension as the network backends see it.

    Attributes:
        topology: A name of ``simcore.TOPOLOGIES``.
        npus: NPUs joined, at least 2.
        bytes_per_ns: Bandwidth of one link in one direction.
        latency_ns: Of one link (hop).
        network: The network of which this is one level; None: the dimension is what it says.
        level: Which of its levels, from the innermost; those of one network follow each other.
        in_network: How far its switches add up what passes them; None: without limits.
    """

    topology: str
    npus: int
    bytes_per_ns: float
    latency_ns: float
    network: "NetworkFile | None" = None
    level: int = 0
    in_network: "InNetwork | None" = None


class LinkRule(Enum):
    """Rule by which messages that are under way at once share a link."""

    QUEUED = "one after the other, each stored whole at every hop"
    FAIR = "in max-min fair parts"


class NetworkBackend:
    """Model of the times of messages; a class, which ``backend`` names in files and calls.

    Attributes:
        kernel_code: The event kernel's number for it.
        messages_meet: Whether messages slow each other down, so that what an NPU does depends on
            what all others send: every NPU and every message is then followed.
        has_bounds: Whether no message arrives sooner than in ``congestion_unaware``, with each
            hop's time rounded down to whole ns; else lower bounds are those of computing alone.
        takes_turns: Whether links of a network may be up by turns (``circuits``).
        counts_bytes: Whether a receive ends when its bytes have come, in however many messages with
            its tag; else it takes one message of its size.
    """

    kernel_code: ClassVar[int]
    messages_meet: ClassVar[bool] = True
    link_rule: ClassVar[LinkRule | None] = None
    has_bounds: ClassVar[bool] = False
    takes_turns: ClassVar[bool] = False
    counts_bytes: ClassVar[bool] = False

    @classmethod
    def check(cls, dimensions: Sequence[NetworkDimension]) -> None:
        """Refuse a network that the model cannot represent; by default every one can be.

        Args:
            dimensions: Innermost first.

        Raises:
            ConfigError: With the dimension at fault.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message that has reached its receiver.

    Attributes:
        time_ns: When.
        message: The number under which it was sent.
    """

    time_ns: int
    message: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkAccount:
    """Counts of a run that a network keeps beside the arrivals, and notes.

    Attributes:
        figures: By name; one that is no plain number of things ends in its unit.
        notes: Sentences for the reader.
    """

    figures: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


class ExternalNetwork(NetworkBackend, ABC):
    """A network with an event loop of its own, such as a packet simulation.

    The class is asked by ``check`` whether it can represent a network. One object of it is then
    made for each run, of the network's dimensions, and used by that run alone. The engine calls
    ``send`` for every message at the time at which it starts, asks ``next_event_ns`` how far it may
    go on by itself, and calls ``advance`` with that time when it has come so far. Times are whole
    ns and never go back. Every message must arrive, once, and the same calls must get the same
    answers: no clock, no random number without a fixed seed. What breaks this ends the run with a
    ``SimulationError`` that says so.

    NPU ``i`` has the coordinates ``i % npus[0]``, ``i // npus[0] % npus[1]`` and so on. A message
    of an NPU to itself, and one of 0 bytes, arrive like any other.

    Attributes:
        dimensions: Of the network, innermost first.
        may_lose: Whether messages may never arrive; whoever waits for one then never ends.
        stops_at_arrivals: Whether ``advance`` may be called with any later time, and comes back
            after the events of the first ns in which messages arrive: fewer calls, the same times.
        npus_inside: So many NPUs in a row, from the first on, send each other messages that this
            network does not see: they take what ``congestion_unaware`` says. 0: it sees all.
    """

    kernel_code = OUTSIDE
    may_lose: ClassVar[bool] = False
    stops_at_arrivals: ClassVar[bool] = False

    npus_inside = 0

    def __init__(self, dimensions: Sequence[NetworkDimension]) -> None:
        self.dimensions = tuple(dimensions)

    def account(self) -> NetworkAccount:
        """Counts of a run, and notes on it, asked for after it; by default none."""
        return NetworkAccount()

    @abstractmethod
    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        """Take *message* from NPU *src* to NPU *dst*, starting now.

        Args:
            now_ns: Present time; no event of the network lies before it.
            message: A number that no other message in flight has.
            src: NPU id of the sender.
            dst: NPU id of the receiver.
            size_bytes: 0 or more.
        """

    @abstractmethod
    def next_event_ns(self) -> int | None:
        """Time of the network's next event, None while nothing is in flight."""

    @abstractmethod
    def advance(self, until_ns: int) -> Sequence[Arrival]:
        """Handle all events up to and including *until_ns*; the arrivals among them, in order."""


class LinkNetwork(ExternalNetwork, ABC):
    """A network on whose links the work of synthesised collectives is shared out with messages.

    In other networks such a collective takes the time that it has alone.
    """

    @abstractmethod
    def carry(self, now_ns: int, message: int, at: tuple[int, int], work: "Carriage") -> None:
        """Start the work of a collective now; *message* arrives when all of it is done.

        Args:
            now_ns: Present time.
            message: A number that no other message in flight has.
            at: A member, and the innermost level of its network among the dimensions.
            work: What its links carry.
        """


def check_external(backend: type[NetworkBackend]) -> None:
    """Refuse a class whose network the engine would not ask.

    Raises:
        ConfigError: A rule is broken.
    """
    if backend.kernel_code != OUTSIDE or not backend.messages_meet:
        rule = "must leave kernel_code and messages_meet as they are: every message is followed"
        raise ConfigError("", rule, got=backend.__name__)
