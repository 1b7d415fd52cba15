"""Kernels that evaluate many designs at once, each by the kernels that evaluate one."""
