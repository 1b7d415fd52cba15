"""Kernels that decode Chakra traces."""
