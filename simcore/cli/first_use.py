"""Says so where a command must compile kernels before it can start."""

import sys
from os import environ


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
