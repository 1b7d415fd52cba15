"""The run: everything that one simulation needs."""

from typing import Literal, Self

from pydantic import Field, model_validator

from simcore.compute.choose import NAMED, default_compute
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
        compute: Compute model; of a run that names none, the default for its kind of workload.
    """

    version: Literal[1] = 1
    workload: AnyWorkload
    platform: Platform
    plan: ParallelPlan
    system: System = Field(default_factory=System)
    backend: str = DEFAULT_BACKEND
    compute: str = ""

    @model_validator(mode="after")
    def _choose_compute(self) -> Self:
        if "compute" not in self.model_fields_set:
            chosen = default_compute(self.workload, self.platform.npu)
            self.__dict__["compute"] = chosen.name
        return self

    @property
    def compute_reason(self) -> str:
        """Reason for the compute model, as the end of a sentence."""
        if "compute" in self.model_fields_set:
            return NAMED
        return default_compute(self.workload, self.platform.npu).reason
