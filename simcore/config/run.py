"""The run: everything that one simulation needs."""

from typing import Literal

from pydantic import Field

from simcore.hardware import Platform
from simcore.schema import Schema
from simcore.system.spec import System
from simcore.workload import AnyWorkload, ParallelPlan


class Run(Schema):
    """One design to simulate.

    Attributes:
        version: Of the file format.
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread.
        system: How data is moved.
        backend: Network backend.
        compute: Compute model.
    """

    version: Literal[1] = 1
    workload: AnyWorkload
    platform: Platform
    plan: ParallelPlan
    system: System = Field(default_factory=System)
    backend: str = "congestion_unaware"
    compute: str = "roofline"
