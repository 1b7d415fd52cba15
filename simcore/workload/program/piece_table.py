"""The pieces of a program as arrays: their sections, each once, and the runs of these."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.graph import CollectiveOp, Operator, TransferOp
from simcore.workload.plan import ParallelPlan
from simcore.workload.program.piece import CHAIN, Piece, Section
from simcore.workload.program.work import Catalog, Item, under

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PieceNodes:
    """Pieces one after the other, node by node: P pieces with K nodes and D dependencies.

    Attributes:
        nodes, deps: (P,) int64, of each piece.
        node: (4, K) int64: the rows kind, item, layer (of the chunk, -1: none) and number of
            dependencies.
        dep: (D,) int64, relative to the piece's first node, or CHAIN or LOSS.
    """

    nodes: Ints
    deps: Ints
    node: Ints
    dep: Ints


class PieceTable:
    """P pieces, which are made of Q sections.

    Tables of plans that differ in what their operators and collectives amount to alone share all
    else.

    Args:
        pieces: Each once; *catalog* is that of their sections.
        plan: Which they belong to.

    Attributes:
        pieces: The same.
        number: Of each piece.
        runs: (5, R) int64, in order of the pieces: piece, section, times, first layer, step to the
            next.
        section_nodes, section_deps: (Q,) int64, of each section.
        node: (3, M) int64: the rows kind, item and number of dependencies of all sections' nodes.
        dep: (E,) int64, their dependencies, relative to the section, or CHAIN or LOSS.
        structure: All but what operators and collectives amount to.
        used: Numbers in *catalog* of what their nodes do, in order of appearance.
        operators, collectives, transfers: What their nodes do, in order of appearance. In the
            arrays, items are positions in these.
    """

    def __init__(self, pieces: Sequence[Piece], catalog: Catalog, plan: ParallelPlan) -> None:
        self.pieces = tuple(pieces)
        self.number = {piece: at for at, piece in enumerate(pieces)}
        number: dict[Section, int] = {}
        runs = [
            (at, number.setdefault(section, len(number)), len(layers), layers.start, layers.step)
            for at, piece in enumerate(self.pieces)
            for section, layers in piece.runs
        ]
        self.runs: Ints = np.ascontiguousarray(np.array(runs, np.int64).T)
        self.section_nodes = np.array([section.nodes for section in number], np.int64)
        self.section_deps = np.array([len(section.dep) for section in number], np.int64)
        flat = chain.from_iterable
        used = [item for item in dict.fromkeys(flat([s.item for s in number])) if item >= 0]
        self.used: tuple[int, ...] = tuple(used)
        entries = under(plan, catalog.named(used))
        self._name(entries)
        items = np.full(len(catalog) + 1, -1)  # the last one: that of messages, -1
        joint = np.array([isinstance(entry, CollectiveOp) for entry in entries])
        if self.transfers:
            moves = np.array([isinstance(entry, TransferOp) for entry in entries])
            order = np.where(joint, np.cumsum(joint), np.cumsum(~joint & ~moves))
            items[used] = np.where(moves, np.cumsum(moves), order) - 1
        else:
            items[used] = np.where(joint, np.cumsum(joint), np.cumsum(~joint)) - 1
        self.node = np.array(
            [
                [kind for section in number for kind in section.kind],
                [item for section in number for item in section.item],
                [count for section in number for count in section.dep_count],
            ],
            np.int64,
        )
        self.node[1] = items[self.node[1]]
        self.dep = np.array([dep for section in number for dep in section.dep], np.int64)
        self._in_layer = np.array([section.in_layer for section in number])
        self.structure = self._structure()

    def of_plan(self, entries: Sequence[Item]) -> "PieceTable":
        """This table for a plan whose nodes do *entries*, in the order of those *used* here."""
        other = PieceTable.__new__(PieceTable)
        other.__dict__.update(self.__dict__)
        other._name(entries)
        return other

    def _name(self, entries: Sequence[Item]) -> None:
        self.operators = tuple([one for one in entries if one.__class__ is Operator])
        self.collectives = tuple([one for one in entries if one.__class__ is CollectiveOp])
        self.transfers: tuple[TransferOp, ...] = ()
        if len(self.operators) + len(self.collectives) < len(entries):
            self.transfers = tuple([one for one in entries if isinstance(one, TransferOp)])

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.runs.nbytes + self.node.nbytes + self.dep.nbytes

    def _structure(self) -> tuple[Hashable, ...]:
        ends = tuple([(piece.last_compute, piece.exits) for piece in self.pieces])
        arrays = (self.runs, self.section_nodes, self.node, self.section_deps, self.dep)
        return *[array.tobytes() for array in arrays], ends

    def numbers(self, pieces: Sequence[Piece]) -> tuple[int, ...]:
        """The numbers of *pieces*."""
        return tuple([self.number[piece] for piece in pieces])

    def counts(self) -> tuple[Ints, Ints]:
        """Nodes of all operators, collectives and transfers, (P, O + C + T) int64; sends, (P,)."""
        operators = len(self.operators)
        moving = operators + len(self.collectives)
        width = moving + len(self.transfers) + 2
        kind, item, _ = self.node
        column = np.where(kind == NodeKind.SEND, width - 2, width - 1)
        computing = kind == NodeKind.COMPUTE
        column[computing] = item[computing]
        joint = kind == NodeKind.COLLECTIVE
        column[joint] = item[joint] + operators
        if self.transfers:
            moves = (kind == NodeKind.MEM_LOAD) | (kind == NodeKind.MEM_STORE)
            column[moves] = item[moves] + moving
        sections = self.section_nodes.size
        section = np.repeat(np.arange(sections), self.section_nodes)
        of_section = np.bincount(section * width + column, minlength=sections * width)
        piece, which, times, _, _ = self.runs
        cells = len(self.pieces) * sections
        use = np.bincount(piece * sections + which, weights=times, minlength=cells).astype(np.int64)
        counts = use.reshape(-1, sections) @ of_section.reshape(sections, width)
        return counts[:, :-2], counts[:, -2]

    def nodes(self, which: Sequence[int] | None = None) -> PieceNodes:
        """The pieces *which*, or all."""
        runs, pieces = self.runs, len(self.pieces)
        if which is not None:
            bounds = np.searchsorted(runs[0], np.arange(pieces + 1))
            order = [np.arange(bounds[piece], bounds[piece + 1]) for piece in which]
            runs, pieces = runs[:, np.concatenate(order)], len(which)
            runs[0] = np.repeat(np.arange(pieces), [part.size for part in order])
        of_run, section, times, first, step = runs
        again = np.repeat(np.arange(times.size), times)
        section = section.take(again)
        turn = np.arange(again.size) - (np.cumsum(times) - times).take(again)
        piece = of_run.take(again)
        nodes, gather = _gathered(self.section_nodes, section)
        deps, dep_gather = _gathered(self.section_deps, section)
        sizes = np.bincount(piece, weights=nodes, minlength=pieces).astype(np.int64)
        start = np.cumsum(nodes) - nodes - (np.cumsum(sizes) - sizes).take(piece)
        layer = np.where(self._in_layer[section], (first.take(again) + step.take(again) * turn), -1)
        node = np.empty((4, gather.size), np.int64)
        node[[0, 1, 3]] = self.node.take(gather, axis=1)
        node[2] = np.repeat(layer, nodes)
        dep = self.dep.take(dep_gather)
        dep += np.where(dep > CHAIN, np.repeat(start, deps), 0)
        of_piece = np.bincount(piece, weights=deps, minlength=pieces).astype(np.int64)
        return PieceNodes(nodes=sizes, deps=of_piece, node=node, dep=dep)


def _gathered(sizes: Ints, which: Ints) -> tuple[Ints, Ints]:
    """Sizes of the sections *which*, and for each of their elements its place in the table."""
    lengths = sizes.take(which)
    offset = (np.cumsum(sizes) - sizes).take(which) - (np.cumsum(lengths) - lengths)
    return lengths, np.arange(int(lengths.sum())) + np.repeat(offset, lengths)
