"""Pieces of a stage's graph, and how they are joined and repeated.

A piece is a run of nodes whose dependencies are *relative* to its first node: 0 and up mean its
own nodes, -1 the node just before it. So a layer is written once and repeated by arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind

CHAIN = -(2**30)
"""Dependency on the last compute node of the unit before, wherever that is."""
LOSS = CHAIN - 1
"""Dependency on the last node of the forward pass of the same micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """K nodes with D dependencies, in order of their nodes.

    Attributes:
        kind: (K,) int8, ``NodeKind`` values.
        item: (K,) int32, operator or collective; for sends and receives -1.
        layer: (K,) int32, -1 where the node serves none.
        dep_count: (K,) int32, dependencies of each node.
        dep: (D,) int64, relative to the piece's first node, or CHAIN or LOSS.
        exits: Nodes that must finish before what follows may start, relative.
        last_compute: The last compute node, relative.
    """

    kind: NDArray[np.int8]
    item: NDArray[np.int32]
    layer: NDArray[np.int32]
    dep_count: NDArray[np.int32]
    dep: NDArray[np.int64]
    exits: tuple[int, ...]
    last_compute: int

    @property
    def nodes(self) -> int:
        return int(self.kind.size)


class PieceBuilder:
    """Writes a piece node by node; *frontier* is what the next node waits for."""

    def __init__(self, entry: Sequence[int], *, layer: int = -1) -> None:
        self.frontier = tuple(entry)
        self.last_compute = CHAIN
        self._layer = layer
        self._kind: list[int] = []
        self._item: list[int] = []
        self._dep_count: list[int] = []
        self._dep: list[int] = []

    def add(self, kind: NodeKind, item: int, after: Sequence[int]) -> int:
        """Append a node that waits for *after*; gives its position, leaves the frontier."""
        self._kind.append(kind)
        self._item.append(item)
        self._dep_count.append(len(after))
        self._dep.extend(after)
        position = len(self._kind) - 1
        if kind == NodeKind.COMPUTE:
            self.last_compute = position
        return position

    def then(self, kind: NodeKind, item: int) -> int:
        """Append a node that waits for the frontier and becomes it."""
        position = self.add(kind, item, self.frontier)
        self.frontier = (position,)
        return position

    def piece(self) -> Piece:
        return Piece(
            kind=np.array(self._kind, np.int8),
            item=np.array(self._item, np.int32),
            layer=np.full(len(self._kind), self._layer, np.int32),
            dep_count=np.array(self._dep_count, np.int32),
            dep=np.array(self._dep, np.int64),
            exits=self.frontier,
            last_compute=self.last_compute,
        )


def seen_from_end(piece: Piece) -> tuple[int, ...]:
    """The exits of *piece* relative to the node after it: the entry of the next piece."""
    return tuple(node if node <= CHAIN else node - piece.nodes for node in piece.exits)


def repeat(piece: Piece, layers: range) -> Piece:
    """*piece* once for each of *layers* (at least one), one after the other."""
    times, nodes = len(layers), piece.nodes
    shift = nodes * np.arange(times, dtype=np.int64)[:, None]
    return Piece(
        kind=np.tile(piece.kind, times),
        item=np.tile(piece.item, times),
        layer=np.repeat(np.asarray(layers, np.int32), nodes),
        dep_count=np.tile(piece.dep_count, times),
        dep=np.where(piece.dep <= CHAIN, piece.dep, piece.dep + shift).ravel(),
        exits=tuple(node + nodes * (times - 1) for node in piece.exits),
        last_compute=piece.last_compute + nodes * (times - 1),
    )


def join(pieces: Sequence[Piece]) -> Piece:
    """The *pieces* one after the other; exits and last compute node are those of the last."""
    starts = np.cumsum([0] + [piece.nodes for piece in pieces])
    last, end = pieces[-1], int(starts[-2])
    computing = [
        piece.last_compute + int(start)
        for piece, start in zip(pieces, starts, strict=False)
        if piece.last_compute != CHAIN
    ]
    return Piece(
        kind=np.concatenate([piece.kind for piece in pieces]),
        item=np.concatenate([piece.item for piece in pieces]),
        layer=np.concatenate([piece.layer for piece in pieces]),
        dep_count=np.concatenate([piece.dep_count for piece in pieces]),
        dep=np.concatenate(
            [
                np.where(piece.dep <= CHAIN, piece.dep, piece.dep + start)
                for piece, start in zip(pieces, starts, strict=False)
            ]
        ),
        exits=tuple(node if node <= CHAIN else node + end for node in last.exits),
        last_compute=computing[-1],
    )
