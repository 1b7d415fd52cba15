"""Congestion controls, a file each; ``table`` says which one a run has."""
