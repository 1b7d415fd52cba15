"""Conditions of a compute model, so that its times are those that are used."""

from simcore.compute.base import ComputeModel
from simcore.errors import ConfigError


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
    """How far up its bases *model* gets *method* from."""
    return next(i for i, base in enumerate(model.__mro__) if method in vars(base))
