"""The run: everything that one simulation needs."""

from functools import cache
from typing import Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from simcore.compute.choose import NAMED, default_compute
from simcore.flits.settings import FlitNetwork
from simcore.machine import Platform
from simcore.machine.stack import load_stack
from simcore.machine.system import System
from simcore.network import DEFAULT_BACKEND
from simcore.packets.fabric import PacketNetwork
from simcore.placement.choice import Placement, PlacementChoice
from simcore.schema import Schema
from simcore.workload import AnyWorkload, ParallelPlan


class Run(Schema):
    """One design to simulate.

    Attributes:
        version: Of the file format.
        stack: Software that trains, a name of ``configs/stacks``: its costs, and what of the plan
            it decides where the plan does not say. If not given, the costs are those of the stack
            that the accelerator names.
        workload: Model and batch.
        platform: The machine.
        plan: How the work is spread.
        system: How data is moved.
        backend: Network backend; where messages slow each other down, every NPU is followed.
        network: Settings of ``backend: packet``, which no other backend reads.
        routers: Likewise of ``backend: flit``.
        placement: Which rank runs on which NPU: ``as_is``, or another name of ``PLACEMENTS``, or a
            list of NPUs.
        compute: Compute model; of a run that names none, the default for its kind of workload.
    """

    # what a run does not name is frozen like all of it, so that one is made for all runs
    version: Literal[1] = 1
    stack: str | None = None
    workload: AnyWorkload
    platform: Platform
    plan: ParallelPlan
    system: System = Field(default_factory=cache(System))
    backend: str = DEFAULT_BACKEND
    network: PacketNetwork = Field(default_factory=cache(PacketNetwork))
    routers: FlitNetwork = Field(default_factory=cache(FlitNetwork))
    placement: Placement = Field(default_factory=cache(PlacementChoice))
    compute: str = ""

    @field_validator("stack")
    @classmethod
    def _check_stack(cls, name: str | None) -> str | None:
        """Refuse a stack that cannot be read, at its own place."""
        if name is not None:
            load_stack(name, at="")
        return name

    @field_validator("platform")
    @classmethod
    def _with_costs(cls, platform: Platform, info: ValidationInfo) -> Platform:
        """The machine as the stack uses it."""
        name = info.data.get("stack")
        if name is None:
            return platform
        return platform.model_copy(update={"npu": load_stack(name).on(platform.npu)})

    @field_validator("plan")
    @classmethod
    def _with_choices(cls, plan: ParallelPlan, info: ValidationInfo) -> ParallelPlan:
        """The plan with what the stack decides."""
        name = info.data.get("stack")
        if name is None:
            return plan
        made = load_stack(name).plan.made.items()
        open_ = {key: value for key, value in made if key not in plan.model_fields_set}
        return plan.model_copy(update=open_) if open_ else plan

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
