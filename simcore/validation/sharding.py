"""What a row says about the sharding of weights, gradients and optimizer state."""

import re

from simcore.validation.rows import Row

LAYER_MATRICES = 4
"""Of a transformer layer; vectors are below the size from which DeepSpeed shards."""

LIST_PART_S = 15e-6
"""Time that one part of one matrix takes when matrices are gathered as lists of parts: a step of
the ring, and the host, which makes and copies every part by itself. Chosen by hand for two runs
of D. Narayanan et al., SC 2021, table 2, on 384 and 2,240 A100."""


def zero_stage(row: Row, *, pp: int) -> int:
    """What is sharded; in a pipeline weights stay gathered all iteration."""
    text = row.text("dp_sharding")
    if text.startswith(("fsdp", "zero3")):
        return 3 if pp == 1 else 1
    return 1 if text.startswith(("zero1", "zero2", "distributed")) else 0


def gathers_matrices(row: Row) -> bool:
    """Each matrix is gathered by itself when it is needed, as DeepSpeed's ZeRO 3 did at first."""
    return row.text("dp_sharding").startswith("zero3")


def shard_group(row: Row) -> int | None:
    """NPUs that share what is sharded, if the row says so."""
    found = re.search(r"sharding group (\d+)", row.text("dp_sharding"))
    return int(found[1]) if found else None
