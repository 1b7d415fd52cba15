"""Memory that following nodes takes, against what the machine has to spare."""

import os

BYTES_PER_NODE = 64
"""Of a node of an NPU that is followed: its state, its place among the free ones, what it sends."""

_PART = 0.8
"""Of the free memory that programs may take; messages and tables take more."""


def spare_bytes() -> int | None:
    """Memory that this process can still get without others being driven out; None: unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def most_nodes() -> int | None:
    """Nodes that fit into the memory that is to spare; None: any number may."""
    spare = spare_bytes()
    return None if spare is None else int(_PART * spare) // BYTES_PER_NODE


def told_gb(nodes: int) -> str:
    """Estimate of the memory that *nodes* take, for a sentence."""
    return f"{nodes * BYTES_PER_NODE / 1e9:.3g} GB"
