"""Bounds its process, then becomes the program that its arguments name; stands alone.

``launch.py PARENT MEMORY_BYTES PROGRAM ARGUMENT...``: the process ends with its parent, however
that ends, and takes at most so many bytes of address space (0: no limit).
"""

import os
import resource
import signal
import sys

_END_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


def main(parent: str, memory_bytes: str, *command: str) -> None:
    """Bound this process and run *command* in it."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_END_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before this could be arranged
        os._exit(1)
    if int(memory_bytes):
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = int(memory_bytes)
        soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
