"""Memory that following nodes takes, against what a run may take and what the machine has."""

import os

_BYTES_PER_NODE = 160
"""Bytes of a node of one NPU: its messages, its comparison with those of others, its state."""

MOST_BYTES = 64e9
"""Bytes that the nodes of a run may take, on every machine, so that the same inputs are refused
everywhere."""

_PART = 0.8
"""Part of the memory of a machine that nodes may take; messages and tables take more."""


def memory_bytes() -> int | None:
    """Memory of this machine; None: unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return None


def may_take(nodes: int) -> bool:
    """True if a run may follow so many *nodes* on all NPUs together.

    Raises:
        MemoryError: It may, but this machine has too little memory; says how much is needed.
    """
    needed = nodes * _BYTES_PER_NODE
    if needed > MOST_BYTES:
        return False
    most = memory_bytes()
    if most is not None and needed > _PART * most:
        raise MemoryError(
            f"{nodes:,} nodes take some {needed / 1e9:.3g} GB, and this machine has "
            f"{most / 1e9:.3g} GB in all; take a machine with more memory, or fewer NPUs or "
            "micro-batches"
        )
    return True


def told(nodes: int) -> str:
    """Clause on the memory that *nodes* take."""
    needed, most = nodes * _BYTES_PER_NODE / 1e9, MOST_BYTES / 1e9
    return f"{nodes:,} nodes, some {needed:.3g} GB, of {most:.3g} GB that a run may take"
