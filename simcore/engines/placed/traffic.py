"""Bytes that the ranks of a program send each other, axis by axis."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.ends import is_shared
from simcore.engines.collectives.phases import cut, phases_of_chunk, placed_row
from simcore.engines.collectives.placement import Placement
from simcore.engines.events.input import Ints
from simcore.engines.in_step.loads import pairs_of
from simcore.engines.in_step.rounds import Endpoint, rounds_of
from simcore.engines.stages.counts import NodeCounts
from simcore.machine import Dimension
from simcore.machine.system import System
from simcore.terms import CollectiveKind
from simcore.workload import ParallelPlan
from simcore.workload.graph import Axis, CollectiveOp

Floats = NDArray[np.float64]

_ENDPOINT = Endpoint(delay_ns=0, memory_bytes_per_s=0.0)
_STAGES = "pipeline"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AxisTraffic:
    """Bytes from rank to rank along one axis.

    Attributes:
        axis: Its name.
        source: (F,) senders; a pair may be there several times.
        target: (F,) receivers.
        size_bytes: (F,) from the one to the other.
    """

    axis: str
    source: Ints
    target: Ints
    size_bytes: Floats

    def table(self, ranks: int) -> Floats:
        """(n, n) bytes from rank to rank."""
        each = self.source * ranks + self.target
        found = np.bincount(each, self.size_bytes, ranks * ranks)
        return np.asarray(found.reshape(ranks, ranks), np.float64)

    def joined(self) -> "AxisTraffic":
        """Each pair once."""
        ranks = int(max(self.source.max(initial=0), self.target.max(initial=0))) + 1
        each, place = np.unique(self.source * ranks + self.target, return_inverse=True)
        sums = np.bincount(place, self.size_bytes, len(each)).astype(np.float64)
        return AxisTraffic(
            axis=self.axis, source=each // ranks, target=each % ranks, size_bytes=sums
        )


class ProgramTraffic:
    """Bytes of an iteration from rank to rank, by the steps of its collectives.

    Chunks are taken to pass the dimensions in ascending order, and collectives between stages to go
    round a ring.

    Args:
        dimensions: Along which ranks are laid, innermost first.
        system: The system layer.
        plan: The plan.
        placements: Where the groups of each axis lie among the ranks.
    """

    def __init__(
        self,
        dimensions: Sequence[Dimension],
        system: System,
        plan: ParallelPlan,
        placements: Mapping[Axis, Placement],
    ) -> None:
        self._system, self._plan, self._placements = system, plan, placements
        self._sizes = [dimension.npus for dimension in dimensions]
        self._topologies = [dimension.topology for dimension in dimensions]

    def by_axis(self, operations: Sequence[CollectiveOp], counts: NodeCounts) -> list[AxisTraffic]:
        """Traffic along each axis.

        Args:
            operations: C collectives.
            counts: How often each stage does which of them.
        """
        parts: dict[str, list[tuple[Ints, Ints, Floats]]] = {}
        for number, operation in enumerate(operations):
            times = counts.collectives[:, number].astype(np.float64)
            own = parts.setdefault(str(operation.axis), [])
            if is_shared(self._plan, operation.axis):
                own.append(self._round_stages(operation, float(times.max())))
            elif operation.axis in self._placements:
                for source, target, size in self._steps(operation):
                    own.append((source, target, size * times[self._stage(source)]))
        if self._plan.pp > 1:
            parts.setdefault(_STAGES, []).extend(self._messages(counts))
        return [
            AxisTraffic(axis=axis, source=each[0], target=each[1], size_bytes=each[2]).joined()
            for axis, own in parts.items()
            if own
            for each in [[np.concatenate(column) for column in zip(*own, strict=True)]]
        ]

    def _stage(self, rank: Ints) -> Ints:
        return rank // self._plan.stage_stride % self._plan.pp

    def _steps(self, operation: CollectiveOp) -> Iterator[tuple[Ints, Ints, float]]:
        """Pairs, and bytes of each, of one collective in all groups."""
        placement = self._placements[operation.axis]
        chunks, size = cut(
            operation.kind, operation.size_bytes, self._system.chunks, placement.members
        )
        names = self._system.algorithms(operation.kind, self._topologies)
        aware = self._system.collective_optimization == "local_bw_aware"
        for phase in phases_of_chunk(operation.kind, placement, names, aware):
            for one in rounds_of(phase, size, _ENDPOINT).rounds:
                bytes_of_pair = float(one.size_bytes) * one.times * chunks
                yield *pairs_of(self._sizes, phase, one.peers), bytes_of_pair
            row, _ = placed_row(phase)
            size = size * row.result_times // row.result_over

    def _round_stages(self, operation: CollectiveOp, times: float) -> tuple[Ints, Ints, Floats]:
        """Pairs of a collective between stages."""
        plan = self._plan
        stages = [0, plan.pp - 1] if operation.axis is Axis.EMBEDDING else list(range(plan.pp))
        members = np.array(
            [[plan.npu(stage, one) for stage in stages] for one in range(plan.npus_per_stage)]
        )
        rounds = 2 if operation.kind is CollectiveKind.ALL_REDUCE else 1
        size = times * rounds * (len(stages) - 1) / len(stages) * operation.size_bytes
        source, target = members.ravel(), np.roll(members, -1, axis=1).ravel()
        return source, target, np.full(len(source), size)

    def _messages(self, counts: NodeCounts) -> Iterator[tuple[Ints, Ints, Floats]]:
        """Pairs of the messages between stages, to the next one and to the one before."""
        plan = self._plan
        ranks = np.arange(plan.npus)
        stage = self._stage(ranks)
        for way, sizes in zip((1, -1), counts.sent_bytes, strict=True):
            target = ranks + ((stage + way) % plan.pp - stage) * plan.stage_stride
            yield ranks, target, sizes[stage].astype(np.float64)
