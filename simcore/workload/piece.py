"""Pieces of a stage's graph, and how they are joined and repeated.

A piece is a run of nodes whose dependencies are *relative* to its first node: 0 and up mean its
own nodes, -1 the node just before it. So a layer is written once and repeated by arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.kernels.stage_layout import BEFORE, FORWARD
from simcore.terms import NodeKind

CHAIN = BEFORE
"""Dependency on the last compute node of the unit before, wherever that is."""
LOSS = FORWARD
"""Dependency on the last node of the forward pass of the same micro-batch."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Piece:
    """K nodes with D dependencies, in order of their nodes.

    Attributes:
        node: (4, K) int64: the rows ``kind``, ``item``, ``layer`` and ``dep_count``.
        dep: (D,) int64, relative to the piece's first node, or CHAIN or LOSS.
        exits: Nodes that must finish before what follows may start, relative.
        last_compute: The last compute node, relative.
    """

    node: NDArray[np.int64]
    dep: NDArray[np.int64]
    exits: tuple[int, ...]
    last_compute: int

    @property
    def nodes(self) -> int:
        return int(self.node.shape[1])

    @property
    def kind(self) -> NDArray[np.int64]:
        """(K,): ``NodeKind`` values."""
        row: NDArray[np.int64] = self.node[0]
        return row

    @property
    def item(self) -> NDArray[np.int64]:
        """(K,): operator or collective; for sends and receives -1."""
        row: NDArray[np.int64] = self.node[1]
        return row

    @property
    def layer(self) -> NDArray[np.int64]:
        """(K,): layer of the chunk, -1 where the node serves none."""
        row: NDArray[np.int64] = self.node[2]
        return row

    @property
    def dep_count(self) -> NDArray[np.int64]:
        """(K,): dependencies of each node."""
        row: NDArray[np.int64] = self.node[3]
        return row


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
        layer = [self._layer] * len(self._kind)
        return Piece(
            node=np.array([self._kind, self._item, layer, self._dep_count], np.int64),
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
    node = np.empty((4, times, nodes), np.int64)
    node[:] = piece.node[:, None]
    node[2] = np.asarray(layers)[:, None]
    shift = nodes * np.arange(times)[:, None]
    return Piece(
        node=node.reshape(4, -1),
        dep=np.where(piece.dep <= CHAIN, piece.dep, piece.dep + shift).ravel(),
        exits=tuple(node + nodes * (times - 1) for node in piece.exits),
        last_compute=piece.last_compute + nodes * (times - 1),
    )


def join(pieces: Sequence[Piece]) -> Piece:
    """The *pieces* one after the other; exits and last compute node are those of the last."""
    start, last_compute = 0, CHAIN
    deps = []
    for piece in pieces:
        deps.append(np.where(piece.dep <= CHAIN, piece.dep, piece.dep + start))
        if piece.last_compute != CHAIN:
            last_compute = piece.last_compute + start
        start += piece.nodes
    end = start - pieces[-1].nodes
    return Piece(
        node=np.concatenate([piece.node for piece in pieces], axis=1),
        dep=np.concatenate(deps),
        exits=tuple(node if node <= CHAIN else node + end for node in pieces[-1].exits),
        last_compute=last_compute,
    )
