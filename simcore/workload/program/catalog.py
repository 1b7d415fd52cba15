"""The operators and collectives that pieces are made of, each listed once."""

from collections.abc import Sequence

from simcore.workload.graph import CollectiveOp, Kernel, Operator, Phase
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.gradients import WeightGathering

_Entry = Operator | CollectiveOp | WeightGathering


class Catalog:
    """Collects operators and collectives while pieces are written, and numbers them together."""

    def __init__(self) -> None:
        self._numbers: dict[_Entry, int] = {}
        self._entries: list[_Entry] = []

    def __len__(self) -> int:
        return len(self._entries)

    def under(self, plan: ParallelPlan, numbers: Sequence[int]) -> list[Operator | CollectiveOp]:
        """What the entries with these *numbers* are under *plan*."""
        entries = [self._entries[number] for number in numbers]
        return [e.under(plan) if isinstance(e, WeightGathering) else e for e in entries]

    def operator(self, name: str, phase: Phase, kernels: Sequence[Kernel]) -> int:
        """Number of this operator; lists it when it is new."""
        return self._number(Operator(name=name, phase=phase, kernels=tuple(kernels)))

    def collective(self, operation: CollectiveOp | WeightGathering) -> int:
        """Number of this collective; lists it when it is new."""
        return self._number(operation)

    def _number(self, entry: _Entry) -> int:
        number = self._numbers.setdefault(entry, len(self._entries))
        if number == len(self._entries):
            self._entries.append(entry)
        return number
