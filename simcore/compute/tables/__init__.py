"""Measured times of kernels, and what lies between them."""
