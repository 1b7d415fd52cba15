"""Base of compute models."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from math import ceil
from sys import float_info

from simcore.errors import ConfigError
from simcore.machine import Npu
from simcore.terms import Precision
from simcore.units import plain_sum
from simcore.workload.graph import Kernel, Operator

BEYOND_NS = 2**62
"""Stands for every time that is longer, or no number: longer than any time that may be counted."""


def whole_ns(time_s: float) -> int:
    """*time_s* in whole ns, rounded up; ``BEYOND_NS`` where that is longer or not finite."""
    time_ns = time_s * 1e9
    return ceil(time_ns) if time_ns < BEYOND_NS else BEYOND_NS


def reached(share: float, peak: float) -> float:
    """Product of a *share* and a *peak* rate: above 0, also where the product underflows."""
    return max(share * peak, float_info.min)


class ComputeModel(ABC):
    """Gives the time of one kernel on one NPU; ``compute`` of a run names a class.

    An object is made without arguments for each run. What it answers depends on nothing but the
    arguments: times are remembered for all objects of its class, and asked once of equal kernels.

    Every model stays at or below the roofline's rate: a kernel is never faster than its FLOP at
    the peak, nor than its bytes, operands in the format of the product, at the memory bandwidth.
    """

    @abstractmethod
    def kernel_time_ns(self, kernel: Kernel, npu: Npu, precision: Precision) -> int:
        """Time of *kernel* in whole ns, rounded up; ``BEYOND_NS`` where it is longer than that.

        Raises:
            ConfigError: *npu* has no peak for *precision*.
        """

    def operator_time_ns(self, kernels: Sequence[Kernel], npu: Npu, precision: Precision) -> int:
        """Time of *kernels* that run one after another, in whole ns.

        Raises:
            ConfigError: *npu* has no peak for *precision*.
        """
        return plain_sum(self.kernel_time_ns(kernel, npu, precision) for kernel in kernels)

    def operator_times_ns(
        self, operators: Sequence[Operator], npu: Npu, precision: Precision
    ) -> list[int]:
        """Time of each of the *operators*; see ``operator_time_ns``."""
        return [self.operator_time_ns(operator.kernels, npu, precision) for operator in operators]


def check_compute_model(model: type[ComputeModel]) -> None:
    """Refuse a class that gives times of kernels of its own, and inherits those of operators.

    The times of operators that another model works out at once would be used in their place.

    Raises:
        ConfigError: It does; says which methods are missing.
    """
    own = _place(model, "kernel_time_ns")
    for name in ("operator_time_ns", "operator_times_ns"):
        place = _place(model, name)
        if place > own and model.__mro__[place] is not ComputeModel:
            rule = f"must define {name} too, or derive from ComputeModel alone: "
            rule += f"{model.__mro__[place].__name__}.{name} does not ask for its kernel_time_ns"
            raise ConfigError("", rule, got=model.__name__)


def _place(model: type[ComputeModel], method: str) -> int:
    """Rank of the base that *model* has *method* from."""
    return next(i for i, base in enumerate(model.__mro__) if method in vars(base))
