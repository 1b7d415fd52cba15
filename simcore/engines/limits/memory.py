"""Memory that following nodes takes, against what the machine has to spare."""

import os

_BYTES_PER_NODE = 160
"""Of a node of one NPU: what it sends, its comparison with those of others, its state."""

_PART = 0.8
"""Part of the free memory that programs may take; messages and tables take more."""


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


def holds(nodes: int) -> bool:
    """True if programs with so many *nodes* on all NPUs fit into the memory that is to spare."""
    spare = spare_bytes()
    return spare is None or nodes * _BYTES_PER_NODE <= _PART * spare


def told(nodes: int) -> str:
    """Clause on the memory that *nodes* take."""
    return f"{nodes:,} nodes, some {nodes * _BYTES_PER_NODE / 1e9:.3g} GB, more than is free"
