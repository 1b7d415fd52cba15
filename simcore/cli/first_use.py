"""Says so where a command must compile kernels before it can start."""

import sys
from os import environ
from pathlib import Path


def announce_compilation(*, folded: bool) -> None:
    """Print one line if the kernels have not been compiled on this machine yet.

    Args:
        folded: Whether the command runs generated workloads, whose kernels numba keeps; else only
            the engine that runs every NPU is asked for.
    """
    from simcore.kernels.native import is_compiled

    if not (_is_kept("schedule.run") if folded and _is_compiling() else is_compiled()):
        _announce("simulator")


def announce_compilation_of(kernel: str, what: str) -> None:
    """Print one line if *kernel*, as ``module.function``, has not been compiled here yet.

    Args:
        kernel: The kernel that Python calls.
        what: Word for it and those that it calls.
    """
    import simcore.kernels  # noqa: F401 - says where compiled code is kept

    if _is_compiling() and not _is_kept(kernel):
        _announce(what)


def _is_compiling() -> bool:
    return environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def _is_kept(kernel: str) -> bool:
    kept = Path(environ["NUMBA_CACHE_DIR"]).glob(f"*/{kernel}-*.nbi")
    return next(kept, None) is not None


def _announce(what: str) -> None:
    told = f"Compiling the {what} kernels (once per machine, under a minute) ..."
    sys.stderr.write(f"{told}\n")
