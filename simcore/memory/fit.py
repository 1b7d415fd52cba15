"""Verdict on the memory of a run, and how sure that is."""

from dataclasses import dataclass
from enum import StrEnum

from simcore.memory.footprint import Footprint
from simcore.memory.runtime import RuntimeMemory
from simcore.units import format_memory


class Shortage(StrEnum):
    """Degrees of certainty that memory runs out.

    - ``none``: it fits, fragments included.
    - ``tight``: it fits unless fragments take their usual part.
    - ``likely``: its tensors fit, but not with what runs beside them.
    - ``certain``: not even its tensors fit.
    """

    NONE = "none"
    TIGHT = "tight"
    LIKELY = "likely"
    CERTAIN = "certain"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryFit:
    """Three sums of a run's memory on its fullest NPU, beside what there is.

    Attributes:
        held_bytes: Of the tensors that the run asks for: the least.
        expected_bytes: With context, buffers and workspace.
        highest_bytes: With fragments.
        capacity_bytes: Memory of one NPU.
    """

    held_bytes: int
    expected_bytes: int
    highest_bytes: int
    capacity_bytes: float

    @classmethod
    def of(cls, needed: Footprint, runtime: RuntimeMemory, capacity_bytes: float) -> "MemoryFit":
        expected = needed.total_bytes + runtime.total_bytes
        return cls(
            held_bytes=needed.total_bytes,
            expected_bytes=expected,
            highest_bytes=int(expected * (1 + runtime.reserve)),
            capacity_bytes=capacity_bytes,
        )

    @property
    def shortage(self) -> Shortage:
        if self.held_bytes > self.capacity_bytes:
            return Shortage.CERTAIN
        if self.expected_bytes > self.capacity_bytes:
            return Shortage.LIKELY
        return Shortage.TIGHT if self.highest_bytes > self.capacity_bytes else Shortage.NONE

    @property
    def is_short(self) -> bool:
        """True if memory may run out."""
        return self.shortage is not Shortage.NONE

    @property
    def reason(self) -> str:
        """The verdict in plain words."""
        there = f"{format_memory(self.capacity_bytes)} there"
        held, expected, highest = [
            format_memory(size)
            for size in (self.held_bytes, self.expected_bytes, self.highest_bytes)
        ]
        return {
            Shortage.NONE: f"memory suffices: {highest} with fragments, {there}",
            Shortage.TIGHT: (
                f"memory is tight: {expected} needed, {highest} with fragments, {there}"
            ),
            Shortage.LIKELY: (
                f"memory is likely too small: {expected} with buffers and workspace, {there}"
            ),
            Shortage.CERTAIN: f"memory is too small: tensors alone take {held}, {there}",
        }[self.shortage]
