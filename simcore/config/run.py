"""The run: everything that one simulation needs."""

from typing import Literal

from pydantic import Field

from simcore.machine import Platform
from simcore.machine.system import System
from simcore.network import DEFAULT_BACKEND
from simcore.schema import Schema
from simcore.workload import AnyWorkload, ParallelPlan


class Run(Schema):
    """One design to simulate.

    Attributes:
        version: Of the file format.
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread.
        system: How data is moved.
        backend: Network backend; where messages slow each other down, every NPU is followed.
        compute: Compute model.
    """

    version: Literal[1] = 1
    workload: AnyWorkload
    platform: Platform
    plan: ParallelPlan
    system: System = Field(default_factory=System)
    backend: str = DEFAULT_BACKEND
    compute: str = "roofline"
