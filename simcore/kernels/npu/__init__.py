"""Kernels: the rules of one NPU."""
