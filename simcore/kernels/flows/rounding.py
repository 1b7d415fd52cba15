"""Times of flows as whole ns."""

import numpy as np

from simcore.kernels.flows.state import ROUNDING
from simcore.kernels.jit import njit


@njit(cache=True, error_model="numpy", makes_arrays=False)
def whole_ns(time_ns: float) -> int:
    """Time rounded up to whole ns, but for what is due to rounding."""
    return int(np.ceil(time_ns * (1.0 - ROUNDING)))
