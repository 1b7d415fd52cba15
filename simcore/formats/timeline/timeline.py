"""Timeline of an executed iteration: every node on a lane, messages, memory, the critical path."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass

from simcore.engines.classes.run import NodeTimes
from simcore.engines.critical_path import CriticalPath, critical_path
from simcore.formats.timeline.chrome import trace_json
from simcore.formats.timeline.lanes import Lanes, lanes_of
from simcore.formats.timeline.memory import StageMemory, memory_of
from simcore.formats.timeline.picture import picture_svg
from simcore.machine import Dimension


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Timeline:
    """One iteration in time, on one NPU of each pipeline stage.

    Attributes:
        nodes: The executed iteration.
        dimensions: Network that it ran on, innermost dimension first.
        lanes: Lane of each node.
        memory: Bytes that each stage holds from moment to moment.
        path: Critical path; its parts sum to the iteration time in integer nanoseconds.
    """

    nodes: NodeTimes
    dimensions: Sequence[Dimension]
    lanes: Lanes
    memory: Sequence[StageMemory]
    path: CriticalPath

    @classmethod
    def of(cls, nodes: NodeTimes, dimensions: Sequence[Dimension]) -> "Timeline":
        """Lay out an executed iteration."""
        return cls(
            nodes=nodes,
            dimensions=dimensions,
            lanes=lanes_of(nodes),
            memory=memory_of(nodes),
            path=critical_path(nodes, dimensions),
        )

    @property
    def time_ns(self) -> int:
        """Iteration time, from 0 to the end of the node that ends last."""
        return int(self.nodes.execution.end_ns.max())

    def _repr_svg_(self) -> str:
        """The picture, as a notebook shows it."""
        return self.picture("One iteration")

    def trace(self) -> str:
        """JSON that chrome://tracing and Perfetto open; see ``trace_json``."""
        return trace_json(self.nodes, self.dimensions, self.lanes, self.memory, self.path)

    def trace_file(self, name: str) -> bytes:
        """Bytes of the trace for a file of this *name*: packed by gzip where it ends in ``.gz``.

        Perfetto opens both; packed it is a twentieth. The same iteration gives the same bytes.
        """
        text = self.trace().encode()
        return gzip.compress(text, mtime=0) if name.endswith(".gz") else text

    def picture(self, title: str) -> str:
        """SVG of the stages as rows under *title*; see ``picture_svg``."""
        return picture_svg(self.nodes, self.path, title)
