"""Network models: those inside the event kernel, and the border to those outside it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class NetworkBackend(ABC):
    """A network model that the event kernel has built in.

    Attributes:
        name: As files give it.
        models: What it accounts for, in one sentence.
        kernel_code: The kernel's number for it.
        messages_meet: Whether messages slow each other down, so that what an NPU does depends on
            what all others send.
    """

    name: ClassVar[str]
    models: ClassVar[str]
    kernel_code: ClassVar[int]
    messages_meet: ClassVar[bool]

    @abstractmethod
    def check(self, topologies: Sequence[str], npus: Sequence[int]) -> None:
        """Refuse a network that the model cannot represent.

        Args:
            topologies: Of each dimension, innermost first.
            npus: Likewise.

        Raises:
            ConfigError: With the dimension at fault.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A message has reached its receiver.

    Attributes:
        time_ns: When.
        message: The number under which it was sent.
    """

    time_ns: int
    message: int


class ExternalNetwork(ABC):
    """A network with an event loop of its own, such as a packet simulation.

    The engine calls ``send`` for every message, and lets the network run only up to the time of the
    engine's own next event. Times never go back.
    """

    @abstractmethod
    def send(self, now_ns: int, message: int, src: int, dst: int, size_bytes: int) -> None:
        """Take *message* from NPU *src* to NPU *dst*, starting now.

        Args:
            now_ns: Present time.
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
