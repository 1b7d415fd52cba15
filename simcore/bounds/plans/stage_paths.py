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

from simcore.bounds.plans.slot_order import Room
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
        """Count of each collective among *nodes*."""
        chosen = [self.nodes[node] for node in nodes]
        return Counter(item for kind, item in chosen if kind == NodeKind.COLLECTIVE)


@dataclass(slots=True)
class Pass:
    """One unit of the pipeline schedule: its segments in order, and where they begin."""

    segments: list[Segment]
    starts: list[int]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LastPass:
    """Segments of the last pass, with what its nodes wait for in the slot of communication.

    Attributes:
        segments: In order; none where nothing is known to be sooner in the slot.
        rooms: Conditions, with operators and collectives in place of nodes.
    """

    segments: tuple[Segment, ...]
    rooms: frozenset[Room]


PassKey = tuple[bytes, bytes, tuple[int, ...]]

_MOST_PASSES = 512
"""Passes that are kept, some 100 kB each; they are let go together."""


@dataclass(slots=True)
class KnownShapes:
    """Known ranges of nodes, by their content: layers, stages and plans are alike.

    Attributes:
        awaited: ``StageReader.awaited``, relative to the first node.
        segments: By content, and by entry and exits relative to the first node.
        passes: By content, and by exits relative to the first node; they begin at 0.
        last_passes: Likewise, with the nodes behind them, and by the number of their own.
    """

    awaited: dict[bytes, tuple[int, ...]] = field(default_factory=dict)
    segments: dict[tuple[bytes, tuple[int, ...], tuple[int, ...]], Segment] = field(
        default_factory=dict
    )
    passes: dict[PassKey, Pass] = field(default_factory=dict)
    last_passes: dict[tuple[PassKey, int], LastPass] = field(default_factory=dict)

    def trim(self) -> None:
        """Remove all once there is much of it."""
        if len(self.passes) + len(self.last_passes) > _MOST_PASSES:
            for known in (self.awaited, self.segments, self.passes, self.last_passes):
                known.clear()


class StageReader:
    """The programs of one stage, node by node.

    Args:
        stage: Its graph.
        known: Shared by all graphs: operators and collectives are told by their numbers.
    """

    def __init__(self, stage: StageGraph, known: KnownShapes) -> None:
        self._stage, self.known = stage, known
        self.kind = stage.kind.tolist()
        self.item = stage.item.tolist()
        self._dep: list[int] = stage.dep.tolist()
        self._dep_start: list[int] = stage.dep_start.tolist()
        self.unit_start: list[int] = [*stage.unit_start.tolist(), stage.nodes]
        widths = np.diff(stage.dep_start)
        self._widths = widths.astype(np.int64)
        self._ahead = stage.dep.astype(np.int64) - np.repeat(np.arange(stage.nodes), widths)
        self._what = np.stack([stage.kind, stage.item]).astype(np.int64)
        self._works = ~np.isin(stage.kind, _MESSAGES)

    def deps(self, node: int) -> list[int]:
        return self._dep[self._dep_start[node] : self._dep_start[node + 1]]

    def items(self, nodes: range, kind: NodeKind) -> list[int]:
        """Operators or collectives of the nodes of a *kind* in a range."""
        kinds, items = self._what[:, nodes.start : nodes.stop]
        found: list[int] = items[kinds == kind].tolist()
        return found

    def operators(self, unit: int) -> list[int]:
        """Operators of a unit that its last compute node waits for, and its own."""
        begin, waiting = self.unit_start[unit], [last_compute(self, unit)]
        found = set(waiting)
        while waiting:
            earlier = {dep for dep in self.deps(waiting.pop()) if dep >= begin} - found
            found |= earlier
            waiting.extend(earlier)
        return [self.item[node] for node in sorted(found) if self.kind[node] == NodeKind.COMPUTE]

    def read(self, unit: int, leaves: Iterable[int]) -> Pass:
        """The segments of *unit*, of which *leaves* (as far as they belong to it) are the exit."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        key = self.pass_key(unit, end, leaves)
        found = self.known.passes.get(key)
        if found is None:
            found = self.known.passes[key] = self._read(begin, end, leaves)
        return Pass(found.segments, [begin + start for start in found.starts])

    def pass_key(self, unit: int, end: int, leaves: Iterable[int]) -> PassKey:
        """Content of *unit* and of what follows it up to the node *end*."""
        begin = self.unit_start[unit]
        layer = self._stage.layer[begin:end]
        near = tuple(sorted(leaf - begin for leaf in leaves))
        return self._content(begin, end), (layer[1:] != layer[:-1]).tobytes(), near

    def _read(self, begin: int, end: int, leaves: Iterable[int]) -> Pass:
        """The segments between two nodes, which begin at 0."""
        cuts = self._cuts(begin, end)
        spans = list(zip(cuts, [*cuts[1:], end], strict=True))
        wanted = [self._awaited(*span) for span in spans]
        following = [*wanted[1:], tuple(leaves)]
        return Pass(
            segments=[
                self._segment(*span, entry, ends)
                for span, entry, ends in zip(spans, wanted, following, strict=True)
            ],
            starts=[cut - begin for cut in cuts],
        )

    def exits(self, unit: int) -> list[int]:
        """Dependencies of the message to the next stage; none without one."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        sends = [node for node in range(begin, end) if self.kind[node] == NodeKind.SEND]
        return [dep for node in sends for dep in self.deps(node)]

    def entry(self, unit: int) -> tuple[int, ...]:
        """Dependencies of *unit*'s first segment."""
        begin, end = self.unit_start[unit], self.unit_start[unit + 1]
        cuts = [*self._cuts(begin, end), end]
        return self._awaited(cuts[0], cuts[1])

    def _cuts(self, begin: int, end: int) -> list[int]:
        """First nodes of layers that wait for the layer before."""
        own = begin + np.flatnonzero(self._works[begin:end])
        layers = self._stage.layer[own]
        cuts = own[1:][layers[1:] != layers[:-1]].tolist()
        kept = [int(own[0])]
        for cut, stop in pairwise([*cuts, end]):
            if max(self._awaited(cut, stop), default=-1) >= kept[-1]:
                kept.append(cut)
        return kept

    def _awaited(self, begin: int, end: int) -> tuple[int, ...]:
        """The latest of the sets of earlier nodes that nodes of this range wait for."""
        key = self._dependencies(begin, end)
        found = self.known.awaited.get(key)
        if found is None:
            sets = [
                tuple(sorted({dep - begin for dep in self.deps(node) if dep < begin}))
                for node in range(begin, end)
            ]
            found = max(sets, key=lambda outside: (outside[-1:], len(outside)))
            self.known.awaited[key] = found
        return tuple(begin + ahead for ahead in found)

    def _dependencies(self, begin: int, end: int) -> bytes:
        """Relative dependencies of the nodes of a range."""
        ahead = self._ahead[self._dep_start[begin] : self._dep_start[end]]
        return self._widths[begin:end].tobytes() + ahead.tobytes()

    def _content(self, begin: int, end: int) -> bytes:
        """Kinds, items and relative dependencies of the nodes of a range."""
        return self._what[:, begin:end].tobytes() + self._dependencies(begin, end)

    def _segment(self, begin: int, end: int, entry: Iterable[int], ends: Iterable[int]) -> Segment:
        content = self._content(begin, end)
        entry, ends = frozenset(entry), frozenset(ends)
        near = tuple(tuple(sorted(node - begin for node in nodes)) for nodes in (entry, ends))
        key = (content, near[0], near[1])
        found = self.known.segments.get(key)
        if found is None:
            found = self.known.segments[key] = self._cut_out(begin, end, entry, ends)
        return found

    def _cut_out(
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
    nodes = reversed(range(begin, end))
    return next(node for node in nodes if reader.kind[node] == NodeKind.COMPUTE)


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
