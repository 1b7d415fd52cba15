"""Kernels of lower bounds of many designs at once."""
