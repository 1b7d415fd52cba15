"""Kernels that run one NPU for each class of alike ones."""
