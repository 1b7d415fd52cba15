"""Proofs of how good a study's answer is: a gap to the best that could exist."""
