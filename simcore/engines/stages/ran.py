"""What every engine gives of an iteration."""

from dataclasses import dataclass

from simcore.engines.classes.run import Execution
from simcore.engines.events.input import Ints
from simcore.engines.stages.lowering import Lowered
from simcore.workload.graph import TrainingGraph


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeTimes:
    """An iteration node by node.

    Attributes:
        graph: What was executed.
        lowered: Its nodes with their times on this machine.
        execution: When they ran.
    """

    graph: TrainingGraph
    lowered: Lowered
    execution: Execution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Ran:
    """An iteration as an engine carried it out; see ``Iteration``."""

    categories: tuple[str, ...]
    finish_ns: Ints
    booked_ns: Ints
    events: int
    npus: int
    situations: int = 0
    repeated: int = 0
    nodes: NodeTimes | None = None

    @classmethod
    def of_nodes(cls, graph: TrainingGraph, lowered: Lowered, execution: Execution) -> "Ran":
        """An iteration of which every node was executed."""
        return cls(
            categories=lowered.categories,
            finish_ns=execution.finish_ns,
            booked_ns=execution.booked_ns,
            events=execution.events,
            npus=execution.npus,
            nodes=NodeTimes(graph=graph, lowered=lowered, execution=execution),
        )
