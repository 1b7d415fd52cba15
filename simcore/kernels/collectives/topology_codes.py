"""Topology codes of kernels; apart from them, so that no compiler is imported."""

RING, FULLY_CONNECTED, SWITCH = 0, 1, 2
TABLE = 3  # any other: its distances stand in a table
