"""Kernels of collectives: one phase, its chunks, and the members of a group."""
