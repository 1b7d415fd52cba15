"""Closed forms for good machines, without simulation."""

from dse.analytic.bandwidth import Goal, SplitProblem, bytes_per_dimension, split_bandwidth

__all__ = ["Goal", "SplitProblem", "bytes_per_dimension", "split_bandwidth"]
