"""Chunks of a collective, for Python and for kernels: without numba, and of whole numbers alone."""


def cut(size_bytes: int, chunks: int, members: int, gathers: bool) -> tuple[int, int]:
    """Number and size of the chunks of a collective.

    A chunk holds at least one byte per member (of an all-gather: one byte), and the last chunk is
    as large as the others, as in ASTRA-sim 2.0.

    Args:
        size_bytes: The full buffer, of an all-gather the shard.
        chunks: How many are asked for.
        members: Of the group.
        gathers: It is an all-gather.

    Returns:
        Chunks; bytes of each.
    """
    chunk_bytes = size_bytes // chunks
    if gathers:
        chunk_bytes = max(chunk_bytes, 1)
        size_bytes = max(size_bytes, 1)
    elif chunk_bytes < members:
        chunk_bytes, size_bytes = members, chunks * members
    return -(-size_bytes // chunk_bytes), chunk_bytes
