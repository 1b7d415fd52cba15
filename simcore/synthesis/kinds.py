"""Collectives that can be synthesised, by name."""

ALL_GATHER = "all_gather"
REDUCE_SCATTER = "reduce_scatter"
ALL_REDUCE = "all_reduce"
ALL_TO_ALL = "all_to_all"

KINDS = (ALL_GATHER, REDUCE_SCATTER, ALL_REDUCE, ALL_TO_ALL)
"""Collectives. A *piece* is what one NPU brings to an all-gather or keeps of a reduce-scatter, one
part of NPUs in an all-reduce, and what one NPU sends another in an all-to-all."""
