"""Closed forms for good machines, without simulation."""

from dse.analytic.bandwidth import Goal, SplitProblem, split_bandwidth
from dse.analytic.traffic import bytes_per_dimension

__all__ = ["Goal", "SplitProblem", "bytes_per_dimension", "split_bandwidth"]
