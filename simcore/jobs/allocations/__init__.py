"""Allocations of NPUs to jobs: one class per rule, and the table of their names."""

from simcore.jobs.allocations.base import AllocationOptions, AllocationRule
from simcore.jobs.allocations.contiguous import Contiguous
from simcore.jobs.allocations.fragmented import Fragmented
from simcore.jobs.allocations.listed import Listed
from simcore.jobs.allocations.strided import Strided
from simcore.registry import Registry, has_options, instance_of

ALLOCATIONS: Registry[AllocationRule] = Registry(
    "allocation",
    {
        "contiguous": Contiguous(),
        "strided": Strided(),
        "listed": Listed(),
        "fragmented": Fragmented(),
    },
    check=has_options(AllocationOptions),
    adapt=instance_of(AllocationRule),
)

__all__ = ["ALLOCATIONS", "AllocationOptions", "AllocationRule"]
