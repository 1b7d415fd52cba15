"""Time and traffic of one collective."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectiveTime:
    """Time and traffic of one collective whose members start together.

    Attributes:
        duration_ns: Until all members are done.
        held_ns: By how much the collective would be shorter if every phase ended with its first
            member; 0: all members behave alike, and the time is exact.
        last_step_ns: How long before the end the event that ends it was scheduled.
        traffic: Bytes per dimension that one member sends (mean over the members); then, again per
            dimension, that pass the links of one NPU (mean): on a ring more than its own messages.
    """

    duration_ns: int
    held_ns: int
    last_step_ns: int
    traffic: tuple[float, ...]

    @property
    def sent_bytes(self) -> tuple[float, ...]:
        """Per dimension, what one member sends."""
        return self.traffic[: len(self.traffic) // 2]
