"""Says so where a command must compile kernels before it can start."""

import sys
from os import environ
from pathlib import Path


def announce_compilation(*, folded: bool = False, packets: bool = False) -> None:
    """Print one line if the kernels have not been compiled on this machine yet.

    Args:
        folded: Whether the command runs generated workloads, whose kernels numba keeps; else only
            the engine that runs every NPU is asked for.
        packets: Whether it runs networks packet by packet, and nothing else.
    """
    from simcore.kernels.native import is_compiled

    ready = is_compiled()
    if (folded or packets) and environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0"):
        last = "run_loop.run_packets" if packets else "schedule.run"
        kept = Path(environ["NUMBA_CACHE_DIR"]).glob(f"*/{last}-*.nbi")
        ready = next(kept, None) is not None
    if not ready:
        told = "Compiling the simulator kernels (once per machine, under a minute) ..."
        sys.stderr.write(f"{told}\n")
