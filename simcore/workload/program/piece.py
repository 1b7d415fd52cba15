"""Pieces of a stage's graph: sections of nodes, one after the other, some of them repeated.

A section is a few nodes whose dependencies are *relative* to its first node: 0 and up mean its own
nodes, -1 the node just before it. So a layer is written once, whatever comes before it, and a piece
only says which sections follow each other and how often.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from simcore.kernels.stages.stage_layout import BEFORE, FORWARD
from simcore.memo import Key
from simcore.terms import LayerKind, NodeKind

CHAIN = BEFORE
"""Dependency on the last compute node of the unit before, wherever that is."""
LOSS = FORWARD
"""Dependency on the last node of the forward pass of the same micro-batch."""
TURN = LOSS - 1
"""Dependency on the last node of the micro-batch's pass through the other chunk of the stage."""
ENTRY, GATE = LOSS - 2, LOSS - 3
"""Dependencies of a section that is written before it is known what comes before it: on that, and
on what the gathering of its weights waits for."""


Origin = tuple[str, tuple[LayerKind, ...], bool]
"""Name of what writes a section, the kind of layer if it is one, and True if weights are there."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Section:
    """K nodes with D dependencies, in order of their nodes.

    Attributes:
        kind: K ``NodeKind`` values.
        item: K operators or collectives by number in the catalog; for sends and receives -1.
        dep_count: K numbers of dependencies.
        dep: D positions, relative to the section's first node, or CHAIN, LOSS or TURN; until the
            section is placed also ENTRY or GATE.
        exits: Nodes that must finish before what follows may start, relative.
        last_compute: The last compute node, relative; CHAIN where there is none.
        sums: Nodes that add up gradients over data parallelism, or store them, relative.
        stored: The node that moves what the section keeps out of the NPU, relative; CHAIN where
            there is none.
        in_layer: The nodes serve a layer.
        nodes: K.
        origin: Name by which the writer of units writes it; None: it belongs to one plan.
    """

    kind: tuple[int, ...]
    item: tuple[int, ...]
    dep_count: tuple[int, ...]
    dep: tuple[int, ...]
    exits: tuple[int, ...]
    last_compute: int
    sums: tuple[int, ...]
    stored: int
    in_layer: bool
    nodes: int
    origin: Origin | None = None

    @property
    def form(self) -> Key:
        """All but what its operators and collectives amount to."""
        ends = self.last_compute, self.stored, self.in_layer
        return Key(self.kind, self.dep_count, self.dep, self.exits, self.sums, *ends)

    def placed(self, entry: tuple[int, ...], gate: tuple[int, ...] = ()) -> "Section":
        """The section where it waits for *entry*, and its weights for *gate*."""
        means = {ENTRY: entry, GATE: gate}
        marks = {mark for mark in (CHAIN, *means) if mark in self.dep}
        if CHAIN not in marks and all(len(means[mark]) == 1 for mark in marks):
            one = {mark: means[mark][0] for mark in marks}
            dep_count, dep = self.dep_count, tuple([one.get(node, node) for node in self.dep])
        else:
            dep_count, dep = self._placed(means)
        return Section(
            kind=self.kind,
            item=self.item,
            dep_count=dep_count,
            dep=dep,
            exits=tuple([node for mark in self.exits for node in means.get(mark, (mark,))]),
            last_compute=self.last_compute,
            sums=self.sums,
            stored=self.stored,
            in_layer=self.in_layer,
            nodes=self.nodes,
            origin=self.origin,
        )

    def _placed(
        self, means: Mapping[int, tuple[int, ...]]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Dependencies where a mark *means* several nodes, or one that is named already."""
        dep_count, dep, at = [], list[int](), 0
        for count in self.dep_count:
            marks = self.dep[at : at + count]
            own = dict.fromkeys([node for mark in marks for node in means.get(mark, (mark,))])
            dep += own
            dep_count.append(len(own))
            at += count
        return tuple(dep_count), tuple(dep)


class SectionRun(NamedTuple):
    """A section as often as *layers* has entries, which are the layers of the chunk that it serves.

    A section that serves no layer stands once.
    """

    section: Section
    layers: range = range(-1, 0)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """Runs one after the other.

    Attributes:
        nodes: Of all runs.
        exits: Nodes that must finish before what follows may start, relative to the first node.
        last_compute: The last compute node, relative to the first node.
    """

    runs: tuple[SectionRun, ...]
    nodes: int
    exits: tuple[int, ...]
    last_compute: int

    @property
    def asks_loss(self) -> bool:
        """True if a node waits for the end of the forward pass."""
        return any(LOSS in section.dep for section, _ in self.runs)


class SectionBuilder:
    """Writes a section node by node; *frontier* is what the next node waits for.

    Attributes:
        last_compute, sums, stored: As those of the section.
    """

    def __init__(self, entry: Sequence[int] = (ENTRY,), *, in_layer: bool = False) -> None:
        self.frontier = tuple(entry)
        self.last_compute = CHAIN
        self.sums: list[int] = []
        self.stored = CHAIN
        self._in_layer = in_layer
        self._kind: list[int] = []
        self._item: list[int] = []
        self._dep_count: list[int] = []
        self._dep: list[int] = []

    def add(self, kind: NodeKind, item: int, after: Sequence[int]) -> int:
        """Append a node that waits for *after*; gives its position, leaves the frontier."""
        position = len(self._kind)
        self._kind.append(int(kind))
        self._item.append(item)
        self._dep_count.append(len(after))
        self._dep.extend(after)
        if kind is NodeKind.COMPUTE:
            self.last_compute = position
        return position

    def then(self, kind: NodeKind, item: int) -> int:
        """Append a node that waits for the frontier and becomes it."""
        position = self.add(kind, item, self.frontier)
        self.frontier = (position,)
        return position

    def section(self) -> Section:
        return Section(
            kind=tuple(self._kind),
            item=tuple(self._item),
            dep_count=tuple(self._dep_count),
            dep=tuple(self._dep),
            exits=self.frontier,
            last_compute=self.last_compute,
            sums=tuple(self.sums),
            stored=self.stored,
            in_layer=self._in_layer,
            nodes=len(self._kind),
        )


def seen_from_end(part: Section | Piece) -> tuple[int, ...]:
    """The exits of *part* relative to the node after it: the entry of what follows."""
    nodes = part.nodes
    return tuple([node if node <= CHAIN else node - nodes for node in part.exits])


def piece_of(runs: Sequence[SectionRun]) -> Piece:
    """The *runs* one after the other; exits are those of the last section."""
    start, end, last_compute = 0, 0, CHAIN
    for section, layers in runs:
        nodes = section.nodes
        end = start + nodes * (len(layers) - 1)
        if section.last_compute != CHAIN:
            last_compute = section.last_compute + end
        start = end + nodes
    exits = runs[-1].section.exits
    return Piece(
        runs=tuple(runs),
        nodes=start,
        exits=tuple([node if node <= CHAIN else node + end for node in exits]),
        last_compute=last_compute,
    )


def nothing() -> Piece:
    """A piece without nodes; what follows waits for what came before."""
    return piece_of([SectionRun(SectionBuilder((CHAIN,)).section())])


def join(pieces: Iterable[Piece]) -> Piece:
    """The *pieces* one after the other; exits are those of the last."""
    return piece_of([run for piece in pieces for run in piece.runs])
