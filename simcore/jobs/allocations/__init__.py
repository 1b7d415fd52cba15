"""Allocations of NPUs to jobs: one class per rule, and the table of their names."""

from simcore.errors import ConfigError
from simcore.jobs.allocations.base import AllocationOptions, AllocationRule
from simcore.jobs.allocations.contiguous import Contiguous
from simcore.jobs.allocations.fragmented import Fragmented
from simcore.jobs.allocations.listed import Listed
from simcore.jobs.allocations.strided import Strided
from simcore.registry import Registry, instance_of


def _check(rule: AllocationRule) -> None:
    if not (isinstance(rule.options, type) and issubclass(rule.options, AllocationOptions)):
        told = "must name a class derived from AllocationOptions as its options"
        raise ConfigError(type(rule).__name__, told, got=rule.options)


ALLOCATIONS: Registry[AllocationRule] = Registry(
    "allocation",
    {
        "contiguous": Contiguous(),
        "strided": Strided(),
        "listed": Listed(),
        "fragmented": Fragmented(),
    },
    check=_check,
    adapt=instance_of(AllocationRule),
)

__all__ = ["ALLOCATIONS", "AllocationOptions", "AllocationRule"]
