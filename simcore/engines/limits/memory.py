"""Memory that following nodes takes, against that of the machine."""

import os

_BYTES_PER_NODE = 160
"""Bytes of a node of one NPU: its messages, its comparison with those of others, its state."""

_PART = 0.8
"""Part of the memory that programs may take; messages and tables take more."""


def memory_bytes() -> int | None:
    """Memory of this machine; None: unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def holds(nodes: int) -> bool:
    """True if programs with so many *nodes* on all NPUs fit into memory."""
    most = memory_bytes()
    return most is None or nodes * _BYTES_PER_NODE <= _PART * most


def told(nodes: int) -> str:
    """Clause on the memory that *nodes* take."""
    return f"{nodes:,} nodes, some {nodes * _BYTES_PER_NODE / 1e9:.3g} GB, more than there is"
