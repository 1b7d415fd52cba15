"""Segments and sums of a plan as rows of the kernel's tables, equal for plans of like programs."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.bounds.plans.stage_paths import Segment
from simcore.bounds.plans.stage_sums import Key, StageSums
from simcore.kernels.bounds import tables as kernel_tables
from simcore.terms import NodeKind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TermRows:
    """G segments with M nodes and E dependencies, and T kinds of stages with Z terms.

    Numbers of nodes, dependencies and terms begin at 0.

    Attributes:
        segments: (G,) first node of each.
        nodes: (M, 4) as ``kernels.bounds.tables.NODE``.
        deps: (E,) relative to the segment.
        operator: (M,) operator of each compute node, -1 of others.
        longest: Nodes of the longest segment.
        kind_of_stage: (stages,) number of each one's kind.
        sums: (T,) first term of each kind.
        constants: (T, sums).
        sum_of_term, terms, factors: (Z,) as in ``BoundTables``.
    """

    segments: Ints
    nodes: Ints
    deps: Ints
    operator: Ints
    longest: int
    kind_of_stage: Ints
    sums: Ints
    constants: Floats
    sum_of_term: Ints
    terms: Ints
    factors: Floats

    @classmethod
    def of(
        cls,
        segments: Sequence[Segment],
        node_collectives: Sequence[Sequence[int]],
        stages: Sequence[StageSums],
        collectives: int,
    ) -> Self:
        """Rows of a plan.

        Args:
            segments: Its segments.
            node_collectives: Per segment and node, number of the collective, else -1.
            stages: Sums of each stage; stages that are alike share them.
            collectives: How many there are.
        """
        nodes, deps, operator, starts = list[_Node](), list[int](), list[int](), list[int]()
        for segment, items in zip(segments, node_collectives, strict=True):
            starts.append(len(nodes))
            for node, (kind, item) in enumerate(segment.nodes):
                first = len(deps)
                deps += segment.deps[node]
                joint = items[node] if kind == NodeKind.COLLECTIVE else -1
                nodes.append((joint, first, len(deps), _place(segment, node)))
                operator.append(item if kind == NodeKind.COMPUTE else -1)
        kinds: dict[int, int] = {}
        of_stage = [kinds.setdefault(id(sums), len(kinds)) for sums in stages]
        each = [stages[of_stage.index(kind)] for kind in range(len(kinds))]
        terms = [list(_terms(sums, collectives)) for sums in each]
        ends = np.cumsum([0, *map(len, terms)])
        which, places, factors = _columns([term for own in terms for term in own])
        constants = [[s.constants.get(n, 0.0) for n in range(kernel_tables.SUMS)] for s in each]
        return cls(
            segments=np.array(starts, np.int64),
            nodes=np.array(nodes, np.int64).reshape(-1, 4),
            deps=np.array(deps, np.int64),
            operator=np.array(operator, np.int64),
            longest=max((len(segment.nodes) for segment in segments), default=0),
            kind_of_stage=np.array(of_stage, np.int64),
            sums=ends[:-1],
            constants=np.array(constants, np.float64),
            sum_of_term=which.astype(np.int64),
            terms=places.astype(np.int64),
            factors=factors,
        )

    @property
    def size_bytes(self) -> int:
        """Memory that they take."""
        return 1024 + 8 * (5 * len(self.nodes) + self.deps.size + 3 * self.terms.size)

    def node_ns(self, operator_ns: Sequence[float]) -> Floats:
        """(M,) times of the compute nodes, else 0, where operators take *operator_ns*."""
        times = np.array([*operator_ns, 0.0])  # -1 is the last one
        return np.asarray(times[self.operator])


_Node = tuple[int, int, int, int]


def _place(segment: Segment, node: int) -> int:
    place = kernel_tables.ENTRY * (node in segment.entries)
    place += kernel_tables.EXIT * (node in segment.exits)
    return place + kernel_tables.LAST * (node == segment.last)


def _terms(sums: StageSums, collectives: int) -> list[tuple[int, int, int]]:
    """Sum, place and factor of each term."""
    found = []
    for which in range(kernel_tables.SUMS):
        counts: Counter[Key] = sums.terms.get(which, Counter())
        for (what, number), count in counts.items():
            place = {"exit": collectives + 2 * number, "last": collectives + 2 * number + 1}
            found.append((which, place.get(what, number), count))
    return found


def _columns(terms: Sequence[tuple[int, int, int]]) -> tuple[Floats, Floats, Floats]:
    which, places, factors = np.array(terms, np.float64).reshape(-1, 3).T.copy()
    return which, places, factors
