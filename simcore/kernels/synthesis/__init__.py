"""Kernels that synthesise collectives: trees of even load, times of chunks on links."""
