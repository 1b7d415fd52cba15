"""Limits of one evaluation, held by the kernel of the operating system."""

import resource
import signal
from dataclasses import dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of one evaluation.

    Attributes:
        timeout_s: Time, or None for no limit.
        memory_bytes: Memory beyond what the worker holds once it has started, or None.
        first_s: Added to the time of a worker's first evaluation, which loads and compiles.
        load_s: Added instead where another worker of the machine has compiled already.
    """

    timeout_s: float | None = None
    memory_bytes: float | None = None
    first_s: float = 120.0
    load_s: float = 15.0

    @property
    def on_warm_machine(self) -> "Limits":
        """These limits for a worker that need not compile."""
        return replace(self, first_s=self.load_s)


def limit_memory(memory_bytes: float | None) -> None:
    """From now on let this process take at most *memory_bytes* more; then MemoryError is raised.

    Address space is what is bounded: the operating system bounds nothing else strictly.
    """
    if memory_bytes is None:
        return
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + int(memory_bytes)
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        most = min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def end_after(timeout_s: float) -> None:
    """Let SIGALRM end this process after *timeout_s*; 0: never.

    A signal of the kernel ends a loop in compiled code too, where no thread of Python's gets a
    turn.
    """
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
