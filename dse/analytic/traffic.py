"""Bytes that a collective moves over each network dimension."""

from collections.abc import Sequence

from simcore import CollectiveKind


def bytes_per_dimension(
    kind: CollectiveKind, size_bytes: float, members: Sequence[int]
) -> tuple[float, ...]:
    """Bytes that one NPU sends over each dimension, whatever the order of the chunks.

    A reduction passes the dimensions from the innermost and leaves a p-th of the data behind each;
    a gathering goes the other way round; an all-to-all keeps its size.

    Args:
        kind: The kind of collective.
        size_bytes: What each NPU hands over at its start.
        members: NPUs of the group along each dimension, innermost first; 1 where it has none.

    Source: W. Won et al., "LIBRA", ISPASS 2024 (arXiv 2109.11762), section on collective time.
    """
    sent = [0.0] * len(members)
    left = size_bytes
    gathers = kind is CollectiveKind.ALL_GATHER
    order = range(len(members))
    for d in reversed(order) if gathers else order:
        p = members[d]
        if gathers:
            sent[d] = left * (p - 1)
            left *= p
            continue
        both_ways = 2 if kind is CollectiveKind.ALL_REDUCE else 1
        sent[d] = both_ways * left * (p - 1) / p
        if kind is not CollectiveKind.ALL_TO_ALL:
            left /= p
    return tuple(sent)
