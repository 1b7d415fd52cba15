"""Sharding of weights, gradients and optimizer state that a row tells."""

import re

from simcore.validation.rows import Row


def zero_stage(row: Row, *, pp: int) -> int:
    """What is sharded; in a pipeline weights stay gathered all iteration."""
    text = row.text("dp_sharding")
    if text.startswith(("fsdp", "zero3")):
        return 3 if pp == 1 else 1
    return 1 if text.startswith(("zero1", "zero2", "distributed")) else 0


def leaves_nodes(row: Row) -> bool:
    """Weights come when they are needed, each NPU by its own port, as in DeepSpeed's first ZeRO 3.

    FSDP, which gathers layers ahead of time over the links within nodes, is not among these.
    """
    return row.text("dp_sharding").startswith("zero3")


def shard_group(row: Row) -> int | None:
    """NPUs that share what is sharded, if the row says so."""
    found = re.search(r"sharding group (\d+)", row.text("dp_sharding"))
    return int(found[1]) if found else None
