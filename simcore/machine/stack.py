"""Software stacks: what the programs that train cost beside the silicon they run on."""

from typing import Self

from pydantic import Field

from simcore.files.once import read_once
from simcore.files.resources import find_config
from simcore.files.yaml_file import read_table
from simcore.machine.npu import MOST_PER_ELEMENT, MOST_TIMES, Npu
from simcore.schema import Schema, Seconds

MOST_LAUNCHES = 1000
"""Launches in place of one kernel; real stacks make some ten."""


class Choices(Schema):
    """Fields of a plan that software decides, by the names they have there; None: it does not."""

    flash_attention: bool | None = None
    fused_loss: bool | None = None
    fused_gradients: bool | None = None
    overlap_tensor: bool | None = None

    @property
    def made(self) -> dict[str, bool]:
        """Fields that are decided."""
        return self.model_dump(exclude_none=True)


class Stack(Schema):
    """A framework with its libraries, of about one year.

    Attributes:
        name: Short name, as in ``configs/stacks``.
        issue_s: Time in which the host launches one kernel; 0: graphs are launched whole.
        launches: Kernels that it launches where the model of the work counts one: casts, copies,
            scales, checks.
        traffic: Bytes that its element-wise kernels move over those that must be moved once.
        casts: Bytes moved per element of the operands of a product below 16 bits, to change their
            format.
        attention: Part of the rate of the best fused attention kernels that its own ones reach.
        portable: These are kernels for any accelerator, without the instructions of the newest.
        routing: Bytes that choosing experts and sorting tokens move over those that must be moved.
        routing_s: Time per step of that in which nothing else runs: sizes go to the host and back.
        group_s: Time per product of many in one kernel, those of experts, beyond that of its FLOP.
        wide_sums: Gradients are summed in fp32 also where products are in fp16.
        dispatch_by_node: A token goes once to each node that holds an expert of it (DeepEP), in
            measured runs whose experts lie on several.
        plan: Fields of a plan that it decides, where the plan does not give them.
        source: Where the values come from.
    """

    name: str = Field(min_length=1)
    issue_s: Seconds = Field(default=0.0, alias="issue", ge=0, le=1e-3)
    launches: float = Field(default=1.0, ge=1, le=MOST_LAUNCHES)
    traffic: float = Field(default=1.0, ge=1, le=MOST_TIMES)
    casts: float = Field(default=0.0, ge=0, le=MOST_PER_ELEMENT)
    attention: float = Field(default=1.0, gt=0, le=1)
    portable: bool = False
    routing: float = Field(default=1.0, ge=1, le=MOST_TIMES)
    routing_s: Seconds = Field(default=0.0, alias="routing_time", ge=0, le=1e-1)
    group_s: Seconds = Field(default=0.0, alias="group", ge=0, le=1e-3)
    wide_sums: bool = True
    dispatch_by_node: bool = False
    plan: Choices = Field(default_factory=Choices)
    source: str = Field(min_length=1)

    @classmethod
    def read(cls, name: str, *, at: str = "stack") -> Self:
        """The shipped stack *name*, or that of a file.

        Raises:
            ConfigError: No such file, or a value in it breaks a rule.
        """
        path = find_config("stacks", name, at=at)
        return cls.from_file_data(read_table(path), at=str(path))

    def on(self, npu: Npu, *, replace: bool = True) -> Npu:
        """*npu* with the costs of this stack.

        Args:
            npu: The accelerator.
            replace: Also costs that its own file gives.
        """
        costs = {
            "issue_s": self.issue_s * self.launches,
            "traffic": self.traffic,
            "casts": self.casts,
            "attention_share": self._attention_on(npu),
            "routing": self.routing,
            "routing_s": self.routing_s,
            "group_s": self.group_s,
        }
        given = frozenset() if replace else npu.efficiency.model_fields_set
        changes = {name: value for name, value in costs.items() if name not in given}
        efficiency = npu.efficiency.model_copy(update=changes)
        return npu.model_copy(update={"efficiency": efficiency, "stack": self.name})

    def _attention_on(self, npu: Npu) -> float:
        """Part of the best rate of fused attention on *npu* that its kernels reach."""
        best = npu.efficiency.attention
        usual = npu.efficiency.attention_portable if self.portable else None
        return self.attention * min(1.0, (usual or best) / best)


def load_stack(name: str, *, at: str = "stack") -> Stack:
    """The stack *name*; a shipped one is read once.

    Raises:
        ConfigError: No such file, or a value in it breaks a rule.
    """
    if name.endswith((".yaml", ".yml")):
        return Stack.read(name, at=at)
    return _shipped(name, at)


@read_once
def _shipped(name: str, at: str) -> Stack:
    return Stack.read(name, at=at)
