"""The operators and collectives of a graph, each listed once."""

from collections.abc import Sequence

from simcore.workload.graph import CollectiveOp, Kernel, Operator, Phase


class Catalog:
    """Collects operators and collectives while a graph is built, and numbers them."""

    def __init__(self) -> None:
        self._operators: dict[Operator, int] = {}
        self._collectives: dict[CollectiveOp, int] = {}

    @property
    def operators(self) -> tuple[Operator, ...]:
        return tuple(self._operators)

    @property
    def collectives(self) -> tuple[CollectiveOp, ...]:
        return tuple(self._collectives)

    def operator(self, name: str, phase: Phase, kernels: Sequence[Kernel]) -> int:
        """Index of this operator; lists it when it is new."""
        operator = Operator(name=name, phase=phase, kernels=tuple(kernels))
        return self._operators.setdefault(operator, len(self._operators))

    def collective(self, operation: CollectiveOp) -> int:
        """Index of this collective; lists it when it is new."""
        return self._collectives.setdefault(operation, len(self._collectives))
