"""Records that the decoding kernels write; apart from them, so that no compiler is imported."""

import numpy as np

from simcore.kernels.records import record_of

NODE = record_of(np.int64, "id", "type", "flags", "duration", "numbers:10", "offset")
"""A node: its numbers are the attributes from bit 1 of its flags on; where it began."""

# Attributes by their bit in a node's flags.
ATTRIBUTES = (
    "is_cpu_op",
    "num_ops",
    "tensor_size",
    "comm_type",
    "comm_size",
    "comm_src",
    "comm_dst",
    "comm_tag",
    "comm_priority",
    "pg_name",
    "involved_dim",
    "inputs",
    "outputs",
)
IS_CPU_OP, PG_NAME, INVOLVED_DIM = 0, 9, 10
WRONG_SHIFT = 16  # bit 16 + i: attribute i has a kind (or value) that cannot be used
CPU_BIT = 32  # the value of is_cpu_op
NAME_NOT_NUMBER_BIT = 33  # pg_name is text other than a decimal number
INVOLVED_SHIFT = 40  # bits 40 to 46: flags in involved_dim

# What a kernel found.
DONE, BROKEN, FULL = 0, 1, 2

# Entries of the state array of decode_nodes.
NEXT_ROW, DATA_USED, CTRL_USED = 0, 1, 2
