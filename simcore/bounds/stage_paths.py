"""Reads a stage's graph: which paths lead through the passes of a micro-batch and the last step.

A pass is cut into segments where everything later waits for the same nodes: before the layers,
each layer, and after them. Layers are alike, so a pass has few different segments, each many
times; the longest way through it is the sum of the longest ways through its segments. A node that
waits only for what came long before (a gathering of weights, ahead of time) opens no path.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph

_MESSAGES = (NodeKind.SEND, NodeKind.RECV)


@dataclass(frozen=True, slots=True)
class Segment:
    """Nodes between two cuts, their dependencies relative to the first.

    Attributes:
        nodes: Kind, and index of operator or collective, of each node.
        deps: Of each node, those within the segment.
        entries: Nodes that wait for all of the cut before.
        exits: Nodes that the next cut waits for.
        last: The last compute node.
    """

    nodes: tuple[tuple[int, int], ...]
    deps: tuple[tuple[int, ...], ...]
    entries: tuple[int, ...]
    exits: tuple[int, ...]
    last: int

    def before(self, ends: Iterable[int]) -> set[int]:
        """*ends* and all nodes of the segment that they wait for."""
        found, waiting = set(), list(ends)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting.extend(self.deps[node])
        return found

    def after(self) -> set[int]:
        """All nodes that wait for the cut before, themselves or through others."""
        found: set[int] = set()
        for node, deps in enumerate(self.deps):
            if node in self.entries or found & set(deps):
                found.add(node)
        return found

    def collectives(self, nodes: Iterable[int]) -> Counter[int]:
        """How often each collective is among *nodes*."""
        chosen = [self.nodes[node] for node in nodes]
        return Counter(item for kind, item in chosen if kind == NodeKind.COLLECTIVE)


@dataclass(slots=True)
class Pass:
    """One unit of the pipeline schedule: its segments in order, and where they begin."""

    segments: list[Segment] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)


class StageReader:
    """The programs of one stage, node by node."""

    def __init__(self, stage: StageGraph) -> None:
        self._stage = stage
        self.kind = stage.kind.tolist()
        self.item = stage.item.tolist()
        self._layer = stage.layer.tolist()
        self._dep: list[int] = stage.dep.tolist()
        self._dep_start: list[int] = stage.dep_start.tolist()
        self.unit_start: list[int] = [*stage.unit_start.tolist(), stage.nodes]

    def deps(self, node: int) -> list[int]:
        return self._dep[self._dep_start[node] : self._dep_start[node + 1]]

    def read(self, unit: int, leaves: Iterable[int]) -> Pass:
        """The segments of *unit*, of which *leaves* (as far as they belong to it) are the exit."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        cuts = self._cuts(begin, end)
        spans = list(zip(cuts, [*cuts[1:], end], strict=True))
        result = Pass()
        wanted = [self._awaited(*span) for span in spans]
        following = [*wanted[1:], frozenset(leaves)]
        for (first, stop), entry, ends in zip(spans, wanted, following, strict=True):
            result.segments.append(self._segment(first, stop, entry, ends))
            result.starts.append(first)
        return result

    def exits(self, unit: int) -> list[int]:
        """What the message to the next stage waits for; nothing where there is none."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        sends = [node for node in range(begin, end) if self.kind[node] == NodeKind.SEND]
        return [dep for node in sends for dep in self.deps(node)]

    def entry(self, unit: int) -> frozenset[int]:
        """What the first segment of *unit* waits for."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        cuts = [*self._cuts(begin, end), end]
        return self._awaited(cuts[0], cuts[1])

    def _cuts(self, begin: int, end: int) -> list[int]:
        """Where the layer changes and the new one waits for the one before."""
        own = [node for node in range(begin, end) if self.kind[node] not in _MESSAGES]
        cuts = [own[0]]
        for before, node in pairwise(own):
            if self._layer[node] != self._layer[before]:
                cuts.append(node)
        cuts.append(end)
        kept = [cuts[0]]
        for cut, stop in pairwise(cuts[1:]):
            if any(dep >= kept[-1] for dep in self._awaited(cut, stop)):
                kept.append(cut)
        return kept

    def _awaited(self, begin: int, end: int) -> frozenset[int]:
        """The latest of the sets of earlier nodes that nodes of this range wait for."""
        best: frozenset[int] = frozenset()
        for node in range(begin, end):
            outside = frozenset(dep for dep in self.deps(node) if dep < begin)
            if (max(outside, default=-1), len(outside)) > (max(best, default=-1), len(best)):
                best = outside
        return best

    def _segment(
        self, begin: int, end: int, entry: frozenset[int], ends: frozenset[int]
    ) -> Segment:
        own = [node for node in range(begin, end) if self.kind[node] not in _MESSAGES]
        number = {node: index for index, node in enumerate(own)}
        inside = [tuple(number[dep] for dep in self.deps(node) if dep in number) for node in own]
        entries = [number[node] for node in own if entry <= frozenset(self.deps(node))]
        computing = [number[node] for node in own if self.kind[node] == NodeKind.COMPUTE]
        if not entry:
            entries = [at for at in entries if not inside[at]]
        return Segment(
            nodes=tuple((self.kind[node], self.item[node]) for node in own),
            deps=tuple(inside),
            entries=tuple(entries),
            exits=tuple(sorted(number[node] for node in ends if node in number)),
            last=computing[-1],
        )


def last_compute(reader: StageReader, unit: int) -> int:
    """Position of the last compute node of *unit*."""
    begin, end = reader.unit_start[unit], reader.unit_start[unit + 1]
    chosen = np.flatnonzero(np.array(reader.kind[begin:end]) == NodeKind.COMPUTE)
    return begin + int(chosen[-1])


def after_entry(segment: Segment) -> Segment:
    """*segment* without the nodes that no path from its entries reaches."""
    kept = sorted(segment.after())
    number = {node: index for index, node in enumerate(kept)}
    return Segment(
        tuple(segment.nodes[node] for node in kept),
        tuple(tuple(number[dep] for dep in segment.deps[node] if dep in number) for node in kept),
        tuple(number[node] for node in segment.entries),
        tuple(number[node] for node in segment.exits if node in number),
        number.get(segment.last, 0),
    )
