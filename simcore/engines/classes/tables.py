"""The kernels' tables of an iteration that is executed node by node, class by class."""

from collections.abc import Mapping, Sequence

import numpy as np

from simcore.engines.classes.histories import Histories
from simcore.engines.collectives.phases import cut
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.time import CollectiveTime
from simcore.engines.events.input import Ints
from simcore.engines.moving import LOST
from simcore.engines.stages.lowering import Lowered
from simcore.kernels.classes import layout as f
from simcore.kernels.npu import layout as n
from simcore.workload.graph import Axis, TrainingGraph, ports_of


class ClassTables:
    """Nodes and collectives of one iteration, and their groups as classes.

    Args:
        graph: The iteration.
        lowered: Its nodes with their times.
        times: Of each collective, its members all in step; None between stages.
        placements: Of the groups within a stage.
        chunks: Pieces that a collective's buffer is cut into.
        in_step: The NPUs of a stage stay in step: what is within it ends when its time is over.

    Attributes:
        node: (T + 1, F) int64, see ``kernels.classes.layout``.
        axes: Axes of the collectives, as the kernels number them.
        in_step: See above.
        ports: Ports of outer memory that nodes pass.
        takes: Communication takes cores or memory bandwidth from computes.
    """

    def __init__(
        self,
        graph: TrainingGraph,
        lowered: Lowered,
        times: Sequence[CollectiveTime | None],
        placements: Mapping[Axis, Placement],
        chunks: int,
        *,
        in_step: bool,
    ) -> None:
        self.in_step, self.ports = in_step, len(ports_of(graph.transfers))
        self.takes = LOST in lowered.categories
        self.node = _nodes(graph, lowered, in_step=in_step)
        self.axes = list(dict.fromkeys(operation.axis for operation in graph.collectives))
        alike = [(op.kind, op.axis, op.size_bytes) for op in graph.collectives]
        lines = list(dict.fromkeys((op.kind, op.axis) for op in graph.collectives))
        shared = lowered.shared
        self._parts = {
            f.CHILD: lowered.child,
            f.AXIS_OF: [self.axes.index(op.axis) for op in graph.collectives],
            f.IN_STEP: [time is not None and time.held_ns == 0 for time in times],
            f.SHARED_AT: np.cumsum([0, *[len(one.nodes) for one in shared]]),
            f.SHARED_NODE: [node for one in shared for node in one.nodes],
            f.SAME_AS: [alike.index(one) for one in alike],
            f.TURN_OF: [lines.index((op.kind, op.axis)) for op in graph.collectives],
            f.TAKES_TURN: [
                cut(op.kind, op.size_bytes, chunks, placements[op.axis].members)[0] % 2
                if time is not None and time.held_ns
                else 0
                for op, time in zip(graph.collectives, times, strict=True)
            ],
        }

    def write(
        self, counter: Ints, histories: Histories, marks: Ints, shift: Ints, told: Ints
    ) -> Ints:
        """The table with the groups of *histories*; where its parts lie is written to *counter*."""
        parts = {**self._parts, **self._groups(histories), f.MARKS: [*marks, -1], f.SHIFT: shift}
        parts[f.TOLD] = histories.of_member[told]
        arrays = [np.asarray(part, np.int64).ravel() for part in parts.values()]
        counter[list(parts)] = np.cumsum([0, *[array.size for array in arrays[:-1]]])
        return np.concatenate(arrays)

    def _groups(self, histories: Histories) -> dict[int, object]:
        """Per axis and history the number of its orbit; what orbits and their parts consist of."""
        numbers = np.full((len(self.axes), histories.count), -1, np.int64)
        starts, members = [0], list[int]()
        parts, part_starts, part_members = [0], [0], list[int]()
        for axis in histories.classes.groups:
            for orbit in histories.met(axis):
                met = sorted(set().union(*orbit))
                numbers[self.axes.index(axis), met] = len(starts) - 1
                members += met
                starts.append(len(members))
                for part in orbit if len(orbit) > 1 else ():
                    part_members += part
                    part_starts.append(len(part_members))
                parts.append(len(part_starts) - 1)
        return {
            f.ORBIT: numbers,
            f.ORBIT_AT: starts,
            f.ORBIT_CLASS: members,
            f.PARTS: parts,
            f.PART_AT: part_starts,
            f.PART_CLASS: part_members,
        }


def _nodes(graph: TrainingGraph, lowered: Lowered, *, in_step: bool) -> Ints:
    """The nodes, with the collectives of those that wait for all members."""
    kind = lowered.node[:, n.KIND]
    meets = kind == n.SHARED
    if not in_step:
        meets |= kind == n.COMMUNICATION
    for stage, first in zip(graph.stages, lowered.stage_start.tolist(), strict=False):
        own = np.flatnonzero(meets[first : first + stage.nodes])
        lowered.rows[first + own, f.ITEM] = stage.item[own]
    return lowered.rows
