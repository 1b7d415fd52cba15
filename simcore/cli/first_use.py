"""Says so where a command must compile kernels before it can start."""

import sys
from os import environ
from time import monotonic
from typing import Any

EVERY_S = 5.0
"""Seconds between two lines while kernels are compiled."""


def announce_compilation(*, folded: bool) -> None:
    """Print one line if the kernels have not been compiled on this machine yet.

    Args:
        folded: Whether the command runs generated workloads, whose kernels numba keeps; else only
            the engine that runs every NPU is asked for.
    """
    from simcore.kernels.native import is_compiled

    if not (_is_kept("classes.schedule.run") if folded and _is_compiling() else is_compiled()):
        _announce("simulator")


def announce_compilation_of(kernel: str, what: str) -> None:
    """Print one line if *kernel* has not been compiled here yet.

    Args:
        kernel: The kernel that Python calls, as ``package.module.function`` of the kernels.
        what: Word for it and those that it calls.
    """
    if _is_compiling() and not _is_kept(kernel):
        _announce(what)


def _is_compiling() -> bool:
    return environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def _is_kept(kernel: str) -> bool:
    from simcore.kernels.sources import folder_of, kernel_file

    module, _, function = kernel.rpartition(".")
    name = f"{module.rpartition('.')[2]}.{function}"
    return next(folder_of(kernel_file(module)).glob(f"{name}-*.nbc"), None) is not None


def _announce(what: str) -> None:
    told = f"Compiling the {what} kernels (once per machine, under a minute) ..."
    sys.stderr.write(f"{told}\n")
    tell_kernels()


def tell_kernels(of: str = "") -> "Teller":
    """Print, every few seconds from now on, how many kernels have been compiled.

    Args:
        of: Words for what they are, if several processes tell.

    Returns:
        What counts and tells them; its ``step`` says how far the whole is.
    """
    from numba.core import event

    register: Any = event.register
    teller = Teller(of)

    class Listener(event.Listener):
        """Hands on what numba tells."""

        def on_start(self, event: Any) -> None:
            """Nothing: a kernel counts once it is done."""

        def on_end(self, event: Any) -> None:
            teller.add()

    register("numba:compile", Listener())
    return teller


class Teller:
    """Counts kernels that numba has compiled, and tells it now and then.

    Attributes:
        step: Words for the step that is being taken, of so many; empty where there is one.
    """

    def __init__(self, of: str) -> None:
        self._of, self._kernels = f"{of}: " if of else "", 0
        self._begin_s = self._said_s = monotonic()
        self.step = ""

    def add(self) -> None:
        """Count one more kernel."""
        self._kernels += 1
        now_s = monotonic()
        if now_s - self._said_s >= EVERY_S:
            self._said_s = now_s
            told = (
                f"{self._of}{self.step}{self._kernels} kernels after {now_s - self._begin_s:.0f} s"
            )
            sys.stderr.write(f"{told}\n")
