"""Columns that the decoding kernels write; apart from them, so that no compiler is imported."""

# Columns of the node table, (rows, COLUMNS) int64.
ID, TYPE, FLAGS, DURATION, NUM_OPS, TENSOR_SIZE, COMM_TYPE, COMM_SIZE = 0, 1, 2, 3, 4, 5, 6, 7
COMM_SRC, COMM_DST, COMM_TAG, COMM_PRIORITY, GROUP, INVOLVED, OFFSET = 8, 9, 10, 11, 12, 13, 14
COLUMNS = 15

# Attributes by their bit in FLAGS; those from 1 to 10 have the column 3 + bit.
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
