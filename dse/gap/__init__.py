"""How good a study's answer is at least: a proven gap to the best that could exist."""

from dse.gap.close import Effort, Proof, close_gap

__all__ = ["Effort", "Proof", "close_gap"]
