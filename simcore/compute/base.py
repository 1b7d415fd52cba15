"""What a compute model does."""

from abc import ABC, abstractmethod

from simcore.hardware import Npu
from simcore.terms import Precision
from simcore.workload.graph import Kernel


class ComputeModel(ABC):
    """Gives the time of one kernel on one NPU.

    Every model stays at or below the roofline's rate: a kernel is never faster than its FLOP at
    the peak, nor than its bytes at the memory bandwidth.
    """

    @abstractmethod
    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        """Time of *kernel* in whole ns, rounded up.

        Raises:
            ConfigError: *npu* has no peak for *precision*.
        """
