"""Kernels that tell which of two events at one time is first, from what led to them."""
