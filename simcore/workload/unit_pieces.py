"""The pieces of a stage: one forward and one backward pass through a chunk of its layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from simcore.terms import NodeKind
from simcore.workload.passes import Passes
from simcore.workload.piece import (
    CHAIN,
    LOSS,
    Piece,
    PieceBuilder,
    join,
    repeat,
    seen_from_end,
)

_WritePiece = Callable[[Sequence[int], Sequence[int]], Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Neighbouring layers on one stage, and what comes before and after them.

    Attributes:
        layers: How many.
        is_first, is_last: The chunk begins or ends the model; otherwise it has messages.
        has_table, has_head: It looks tokens up; it computes logits and loss.
    """

    layers: int
    is_first: bool
    is_last: bool
    has_table: bool
    has_head: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitWriter:
    """Writes units; equal pieces are written once."""

    passes: Passes
    known: dict[tuple[object, ...], Piece] = field(default_factory=dict)

    def forward(self, chunk: Chunk, *, chain: tuple[int, ...]) -> Piece:
        """A forward pass that follows *chain*: CHAIN, or nothing for a stage's first unit."""
        pieces: list[Piece] = []
        entry = chain
        if not chunk.is_first:
            pieces.append(_receive(chain))
        elif chunk.has_table:
            pieces.append(self.passes.embedding_forward(chain, chain))
        if pieces:
            entry = seen_from_end(pieces[-1])
        layers = range(chunk.layers)
        pieces += self._layers(self.passes.forward_layer, entry, chain, layers)
        if chunk.has_head:
            layer = self._piece(self.passes.forward_layer, entry, chain)
            gate = _before_last(layer) if chunk.layers > 1 else chain
            pieces.append(self.passes.head_forward(seen_from_end(pieces[-1]), gate))
        if not chunk.is_last:
            pieces.append(_send(seen_from_end(pieces[-1])))
        return join(pieces)

    def backward(self, chunk: Chunk, forward: Piece) -> Piece:
        """The backward pass of what *forward* computed."""
        pieces: list[Piece] = []
        entry: tuple[int, ...] = (CHAIN,)
        if not chunk.is_last:
            pieces.append(_receive(entry))
        elif forward.exits != (forward.last_compute,):
            entry = (CHAIN, LOSS)
        if chunk.has_head:
            pieces.append(self.passes.head_backward(entry))
        if pieces:
            entry = seen_from_end(pieces[-1])
        layers = range(chunk.layers)[::-1]
        pieces += self._layers(self.passes.backward_layer, entry, (CHAIN,), layers)
        if chunk.has_table:
            pieces.append(self.passes.embedding_backward(seen_from_end(pieces[-1])))
        if not chunk.is_first:
            pieces.append(_send(seen_from_end(pieces[-1])))
        return join(pieces)

    def _layers(
        self, write: _WritePiece, entry: tuple[int, ...], chain: tuple[int, ...], layers: range
    ) -> list[Piece]:
        """Layers in a row; *chain* is what the first two wait for to gather their weights."""
        first = self._piece(write, entry, chain)
        second = self._piece(write, seen_from_end(first), chain)
        inner = self._piece(write, seen_from_end(first), _before_last(first))
        parts = ((first, layers[:1]), (second, layers[1:2]), (inner, layers[2:]))
        return [repeat(piece, which) for piece, which in parts if which]

    def _piece(self, write: _WritePiece, entry: tuple[int, ...], gate: tuple[int, ...]) -> Piece:
        key = (write.__name__, entry, gate if self.passes.gathers_weights else ())
        if key not in self.known:
            self.known[key] = write(entry, gate)
        return self.known[key]


def _before_last(layer: Piece) -> tuple[int]:
    """The end of the last but one *layer*, relative to the node after the layers."""
    return (layer.last_compute - 2 * layer.nodes,)


def _receive(chain: tuple[int, ...]) -> Piece:
    builder = PieceBuilder(())
    builder.frontier = (builder.add(NodeKind.RECV, -1, ()), *chain)
    return builder.piece()


def _send(entry: tuple[int, ...]) -> Piece:
    builder = PieceBuilder(entry)
    builder.then(NodeKind.SEND, -1)
    return builder.piece()
