"""Contract of a crew: chunks of designs to the workers, and their answers back."""

import pickle
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dse.evaluate.failure import Failure
from simcore import SimulationError

EXECUTORS = ("ray", "local", "serial")
"""Places where crews work: Ray actors, processes of this machine, or this process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """Cause of a worker's end.

    Attributes:
        failure: Class of the failure.
        reason: The cause in words.
        position: Which design of its oldest chunk it was busy with; -1: none of them; None if
            nobody knows.
    """

    failure: Failure
    reason: str
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """News of one worker: it is ready, it has answered its oldest chunk, or it is dead.

    Attributes:
        worker: Which one.
        machine: Where it runs, if it has just become ready; empty otherwise.
        answers: To its oldest chunk; of designs fewer than asked where memory ran out.
        death: Why it is gone.
    """

    worker: int
    machine: str = ""
    answers: tuple[Any, ...] = ()
    death: Death | None = None


@dataclass(frozen=True, slots=True)
class Shared:
    """A value that many workers are sent, packed once for all of them.

    Attributes:
        packed: The pickled value.
    """

    packed: bytes

    def value(self) -> Any:
        """The value, a copy of one's own."""
        return pickle.loads(self.packed)


class StartGuard:
    """Distinguishes workers that cannot start from those killed while they did."""

    def __init__(self) -> None:
        self._deaths, self._most = 0, 3

    def ready(self) -> None:
        """A worker has started, so that others can."""
        self._deaths, self._most = 0, 100

    def died(self, cause: str) -> None:
        """A worker has died while it started.

        Raises:
            SimulationError: So many have in a row that another one would too.
        """
        self._deaths += 1
        if self._deaths >= self._most:
            raise SimulationError(f"workers cannot start: {self._deaths} in a row died, {cause}")


PATIENCE_S = 600.0
"""Time for which a study without a worker waits for one."""


class Absence:
    """Time for which a study has had no worker that is ready."""

    def __init__(self) -> None:
        self.end()

    def end(self) -> None:
        """Count from now."""
        self._since_s = time.monotonic()

    def watch(self, *, is_manned: bool) -> None:
        """See whether workers have been gone for too long.

        Args:
            is_manned: Whether there is one, or all that is missing is a core that others have.

        Raises:
            SimulationError: They have.
        """
        if is_manned:
            self.end()
        elif time.monotonic() - self._since_s > PATIENCE_S:
            raise SimulationError(
                f"no worker has been there for {PATIENCE_S:g} s: no machine has come, or none of "
                "the workers that were started is ready"
            )


class Crew(ABC):
    """Some workers. Each answers its chunks in the order in which they were sent.

    Nothing may be sent to a worker before a message has said that it is ready.

    Attributes:
        depth: Chunks that a worker has at a time, so that it need not wait for the next one.
    """

    depth = 2

    @property
    def waiting(self) -> str:
        """Reason why no worker is there although all is well, in one sentence; else empty."""
        return ""

    @property
    @abstractmethod
    def workers(self) -> int:
        """Workers that are ready or about to be."""

    @abstractmethod
    def send(self, worker: int, chunk: Sequence[Any]) -> None:
        """Give a worker one more chunk, of designs as a rule; does not wait."""

    def share(self, value: Any) -> Shared:
        """Pack a value that is part of chunks for many workers."""
        return Shared(pickle.dumps(value))

    @abstractmethod
    def receive(self, timeout_s: float) -> list[Message]:
        """News of the workers; waits at most *timeout_s*, and may return none.

        Raises:
            SimulationError: Workers cannot start.
        """

    @abstractmethod
    def replace(self, worker: int) -> bool:
        """End a worker, dead or alive; its chunks are lost.

        Returns:
            Whether a new one starts in its place, and will be heard of under the same number.
        """

    @abstractmethod
    def close(self) -> None:
        """End all workers."""

    def events(self) -> list[tuple[str, str]]:
        """Events on the machines since the last call: kinds and texts."""
        return []
