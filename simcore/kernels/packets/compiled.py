"""Compilation of the packet engine's functions."""

from simcore.kernels.jit import njit

# Division by 0 is excluded by the checks of the inputs; without its test the code is smaller.
kernel = njit(cache=True, nogil=True, error_model="numpy")
