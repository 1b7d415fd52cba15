"""Kernels that run one NPU per pipeline stage, each situation worked out once."""
