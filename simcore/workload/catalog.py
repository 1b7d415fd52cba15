"""The operators and collectives that pieces are made of, each listed once."""

from collections.abc import Sequence

from simcore.workload.graph import CollectiveOp, Kernel, Operator, Phase


class Catalog:
    """Collects operators and collectives while pieces are written, and numbers them together."""

    def __init__(self) -> None:
        self._numbers: dict[Operator | CollectiveOp, int] = {}
        self._entries: list[Operator | CollectiveOp] = []

    def __getitem__(self, number: int) -> Operator | CollectiveOp:
        return self._entries[number]

    def __len__(self) -> int:
        return len(self._entries)

    def operator(self, name: str, phase: Phase, kernels: Sequence[Kernel]) -> int:
        """Number of this operator; lists it when it is new."""
        return self._number(Operator(name=name, phase=phase, kernels=tuple(kernels)))

    def collective(self, operation: CollectiveOp) -> int:
        """Number of this collective; lists it when it is new."""
        return self._number(operation)

    def _number(self, entry: Operator | CollectiveOp) -> int:
        number = self._numbers.setdefault(entry, len(self._entries))
        if number == len(self._entries):
            self._entries.append(entry)
        return number
