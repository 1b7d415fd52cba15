"""Kernels that place ranks: greedy first, then by swaps."""
