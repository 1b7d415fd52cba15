"""Comparisons: of two runs, and of a run with the trace of a real one."""

from simcore.comparison.runs import Comparison, compare
from simcore.comparison.trace import TraceDifference, compare_with_trace

__all__ = ["Comparison", "TraceDifference", "compare", "compare_with_trace"]
