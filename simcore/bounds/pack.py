"""Packs the terms of plans into the arrays of the kernel."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.machine_terms import AXES, KINDS
from simcore.bounds.plan_terms import Key, PlanTerms, StageSums
from simcore.bounds.stage_paths import Segment
from simcore.kernels.bounds import time_bound
from simcore.terms import NodeKind

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(slots=True, eq=False)
class PlanRows:
    """Rows of the kernel's tables about plans; grows plan by plan.

    Attributes:
        longest: Most collectives and segments of a plan, nodes of a segment, stages of a plan.
    """

    plans: list[list[int]] = field(default_factory=list)
    memory_ns_per_byte: list[float] = field(default_factory=list)
    collectives: list[tuple[int, int, int]] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    nodes: list[tuple[int, int, int, int]] = field(default_factory=list)
    node_ns: list[float] = field(default_factory=list)
    deps: list[int] = field(default_factory=list)
    stages: list[tuple[int, int]] = field(default_factory=list)
    sums: list[int] = field(default_factory=list)
    sum_of_term: list[int] = field(default_factory=list)
    terms: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)
    constants: list[list[float]] = field(default_factory=list)
    longest: list[int] = field(default_factory=lambda: [1, 1, 1])

    def add(self, terms: PlanTerms, memory_ns_per_byte: float) -> int:
        """Append one plan; gives its row."""
        plan = [len(self.collectives), len(self.segments), len(self.stages)]
        self.plans.append([*plan, terms.batches, terms.message_bytes, terms.interleave])
        self.memory_ns_per_byte.append(memory_ns_per_byte)
        numbers = {key: index for index, key in enumerate(terms.collectives)}
        for kind, axis, size_bytes in terms.collectives:
            self.collectives.append((KINDS[kind], AXES.index(axis), size_bytes))
        for segment, times, items in zip(
            terms.segments, terms.node_ns, terms.node_collectives, strict=True
        ):
            self._add_segment(segment, times, items)
        known: dict[int, int] = {}
        for sums, held in zip(terms.stages, terms.held, strict=True):
            if id(sums) not in known:
                known[id(sums)] = len(self.sums)
                self._add_sums(sums, len(numbers))
            self.stages.append((known[id(sums)], held))
        self.longest[0] = max(self.longest[0], len(numbers) + 2 * len(terms.segments))
        self.longest[2] = max(self.longest[2], len(terms.stages))
        return len(self.plans) - 1

    def arrays(self) -> dict[str, Any]:
        """The fields of ``BoundTables`` that are about plans."""
        end = [len(self.collectives), len(self.segments), len(self.stages), 0, 0, 0]
        stages = np.array(self.stages, np.int64).reshape(-1, 2)
        return {
            "plans": np.array([*self.plans, end], np.int64),
            "memory_ns_per_byte": np.array(self.memory_ns_per_byte, np.float64),
            "collectives": np.array(self.collectives, np.int64).reshape(-1, 3),
            "segments": np.array([*self.segments, len(self.nodes)], np.int64),
            "nodes": np.array(self.nodes, np.int64).reshape(-1, time_bound.NODE_COLUMNS),
            "node_ns": np.array(self.node_ns, np.float64),
            "deps": np.array(self.deps, np.int64),
            "stages": stages,
            "sums": np.array([*self.sums, len(self.terms)], np.int64),
            "sum_of_term": np.array(self.sum_of_term, np.int64),
            "terms": np.array(self.terms, np.int64),
            "factors": np.array(self.factors, np.float64),
            "constants": np.array(self.constants, np.float64).reshape(-1, time_bound.SUMS),
        }

    def _add_segment(self, segment: Segment, times: Sequence[float], items: Sequence[int]) -> None:
        self.segments.append(len(self.nodes))
        self.longest[1] = max(self.longest[1], len(segment.nodes))
        for node, (kind, _) in enumerate(segment.nodes):
            place = time_bound.ENTRY * (node in segment.entries)
            place += time_bound.EXIT * (node in segment.exits)
            place += time_bound.LAST * (node == segment.last)
            first = len(self.deps)
            self.deps.extend(segment.deps[node])
            collective = items[node] if kind == NodeKind.COLLECTIVE else -1
            self.nodes.append((collective, first, len(self.deps), place))
            self.node_ns.append(times[node])

    def _add_sums(self, sums: StageSums, collectives: int) -> None:
        self.sums.append(len(self.terms))
        self.constants.append([sums.constants.get(n, 0.0) for n in range(time_bound.SUMS)])
        for which in range(time_bound.SUMS):
            counts: Counter[Key] = sums.terms.get(which, Counter())
            for (what, number), count in counts.items():
                place = {"exit": collectives + 2 * number, "last": collectives + 2 * number + 1}
                self.sum_of_term.append(which)
                self.terms.append(place.get(what, number))
                self.factors.append(float(count))
