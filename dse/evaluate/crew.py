"""How chunks of designs reach the workers and how their answers come back."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from dse.evaluate.worker import Answer, Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """News of one worker: the answers to its oldest chunk, or why there will be none."""

    worker: int
    answers: tuple[Answer, ...] = ()
    death: str = ""


class Crew(ABC):
    """Some workers. Each answers its chunks in the order in which they were sent."""

    workers: int

    @abstractmethod
    def send(self, worker: int, chunk: Sequence[Task]) -> None:
        """Give a worker one more chunk; does not wait."""

    @abstractmethod
    def receive(self, timeout_s: float) -> list[Message]:
        """News of the workers; waits at most *timeout_s*, and may return none."""

    @abstractmethod
    def replace(self, worker: int) -> None:
        """End a worker, dead or alive, and start a new one in its place; its chunks are lost."""

    @abstractmethod
    def close(self) -> None:
        """End all workers."""
