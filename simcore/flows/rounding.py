"""Times of flows as whole ns."""

import math

from simcore.kernels.flows.state import ROUNDING


def whole_ns(time_ns: float) -> int:
    """A time rounded up to whole ns, but for what is due to rounding."""
    return math.ceil(time_ns * (1.0 - ROUNDING))
