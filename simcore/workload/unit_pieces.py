"""The pieces of a stage: one forward and one backward pass through a chunk of its layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from simcore.terms import NodeKind
from simcore.workload.gradients import Bucket
from simcore.workload.model import LayerKind
from simcore.workload.passes import Gate, Passes
from simcore.workload.piece import (
    CHAIN,
    LOSS,
    Piece,
    PieceBuilder,
    join,
    repeat,
    seen_from_end,
)

_WritePiece = Callable[[LayerKind, Sequence[int], Gate], Piece]
_Gates = Callable[[Sequence[Piece]], tuple[int, ...] | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Neighbouring layers on one stage, and what comes before and after them.

    Attributes:
        layers: Their kinds, in order.
        is_first, is_last: The chunk begins or ends the model; otherwise it has messages.
        has_table, has_head: It looks tokens up; it computes logits and loss.
    """

    layers: tuple[LayerKind, ...]
    is_first: bool
    is_last: bool
    has_table: bool
    has_head: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnitWriter:
    """Writes units; equal pieces are written once."""

    passes: Passes
    known: dict[tuple[object, ...], Piece] = field(default_factory=dict)

    def first(self, chunks: Sequence[Chunk]) -> Piece:
        """The first unit of a stage, which waits for nothing.

        Where the new weights of the iteration before are gathered beside it, those of the later
        *chunks* follow as soon as the network is free.
        """
        plan = self.passes.means.plan
        if not plan.overlap_weights or plan.zero_stage not in (1, 2):
            return self.forward(chunks[0], chain=())
        unit = self._forward(chunks[0], (), lambda layers: ())
        later = [bucket for chunk in chunks[1:] for bucket in self._buckets(chunk)]
        return replace(join([unit, self.passes.gathering(later)]), exits=unit.exits)

    def forward(self, chunk: Chunk, *, chain: tuple[int, ...]) -> Piece:
        """A forward pass that follows *chain*: CHAIN, or nothing for a stage's first unit."""
        key = ("forward", chunk, chain)
        if key not in self.known:
            gate = self._gate(chain, sharded=self._sharded)
            self.known[key] = self._forward(chunk, chain, gate)
        return self.known[key]

    def backward(self, chunk: Chunk, forward: Piece) -> Piece:
        """The backward pass of what *forward* computed."""
        key = ("backward", chunk)
        if key not in self.known:
            self.known[key] = self._whole_backward(chunk, forward)
        return self.known[key]

    def _whole_backward(self, chunk: Chunk, forward: Piece) -> Piece:
        plan, passes = self.passes.means.plan, self.passes
        redone = plan.redone_layers(len(chunk.layers))
        writers = [
            passes.redone_layer if number < redone else passes.backward_layer
            for number in range(len(chunk.layers))
        ]
        gate = self._gate((CHAIN,), sharded=self._sharded and plan.reshard)
        pieces = self._backward(chunk, forward, writers, gate)
        if chunk.has_table:
            pieces.append(passes.embedding_backward(seen_from_end(pieces[-1])))
        return join(_sent(pieces, chunk))

    def input_gradients(self, chunk: Chunk, forward: Piece) -> Piece:
        """The backward pass but for the weight gradients of the layers."""
        writers = [self.passes.layer_inputs] * len(chunk.layers)
        return join(_sent(self._backward(chunk, forward, writers, lambda layers: None), chunk))

    def weight_gradients(self, chunk: Chunk, entry: tuple[int, ...]) -> Piece:
        """The weight gradients of the layers, and the gradient of the token table."""
        writers = [self.passes.layer_weights] * len(chunk.layers)
        layers = self._layers(writers, chunk.layers[::-1], entry, lambda layers: None)
        pieces = _runs(layers, range(len(layers))[::-1])
        if chunk.has_table:
            pieces.append(self.passes.embedding_backward(seen_from_end(pieces[-1])))
        return join(pieces)

    def _backward(
        self, chunk: Chunk, forward: Piece, writers: Sequence[_WritePiece], gate: _Gates
    ) -> list[Piece]:
        """Receive, head, and the layers from the last to the first."""
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
        layers = self._layers(writers[::-1], chunk.layers[::-1], entry, gate)
        return pieces + _runs(layers, range(len(layers))[::-1])

    def _forward(self, chunk: Chunk, chain: tuple[int, ...], gate: _Gates) -> Piece:
        pieces: list[Piece] = []
        entry = chain
        if not chunk.is_first:
            pieces.append(_receive(chain))
        elif chunk.has_table:
            pieces.append(self.passes.embedding_forward(chain, gate([])))
        if pieces:
            entry = seen_from_end(pieces[-1])
        writers = [self.passes.forward_layer] * len(chunk.layers)
        layers = self._layers(writers, chunk.layers, entry, gate)
        pieces += _runs(layers, range(len(layers)))
        if chunk.has_head:
            pieces.append(self.passes.head_forward(seen_from_end(pieces[-1]), gate(layers)))
        if not chunk.is_last:
            pieces.append(_send(seen_from_end(pieces[-1])))
        return join(pieces)

    def _layers(
        self,
        writers: Sequence[_WritePiece],
        kinds: Sequence[LayerKind],
        entry: tuple[int, ...],
        gates: _Gates,
    ) -> list[Piece]:
        """A piece per layer; once enough neighbours are equal, so are all further ones."""
        pieces: list[Piece] = []
        settled = self.passes.means.plan.prefetch + 2 if self._sharded else 1
        for (write, kind), group in groupby(zip(writers, kinds, strict=True)):
            layers, equal = len(list(group)), 0
            for number in range(layers):
                gate = gates(pieces)
                key = (write.__name__, kind, entry, gate)
                if key not in self.known:
                    self.known[key] = write(kind, entry, gate)
                piece = self.known[key]
                equal = equal + 1 if pieces and piece is pieces[-1] else 0
                pieces.append(piece)
                entry = seen_from_end(piece)
                if equal == settled:
                    pieces += [piece] * (layers - number - 1)
                    break
        return pieces

    @property
    def _sharded(self) -> bool:
        return self.passes.means.plan.zero_stage >= 3

    def _gate(self, chain: tuple[int, ...], *, sharded: bool) -> _Gates:
        """When a layer's weights are gathered, told from the layers before it in the unit.

        Sharded ones when the layer before the *prefetch* that are still ahead has ended, and the
        first ones after *chain*.
        """
        ahead = self.passes.means.plan.prefetch

        def gate(layers: Sequence[Piece]) -> tuple[int, ...]:
            if len(layers) <= ahead:
                return chain
            since = layers[-1 - ahead :]
            return (since[0].last_compute - sum(piece.nodes for piece in since),)

        return gate if sharded else lambda layers: None

    def _buckets(self, chunk: Chunk) -> list[Bucket]:
        buckets = [bucket for kind in chunk.layers for bucket in self.passes.layers[kind].buckets]
        return [*buckets, self.passes.head] if chunk.has_head else buckets


def _runs(layers: Sequence[Piece], order: range) -> list[Piece]:
    """The *layers*, neighbours that are equal as one piece."""
    starts = [i for i, piece in enumerate(layers) if i == 0 or piece is not layers[i - 1]]
    ends = [*starts[1:], len(layers)]
    return [
        repeat(layers[start], order[start:end]) for start, end in zip(starts, ends, strict=True)
    ]


def _sent(pieces: list[Piece], chunk: Chunk) -> list[Piece]:
    """*pieces* of a backward pass, and its message unless the chunk begins the model."""
    return pieces if chunk.is_first else [*pieces, _send(seen_from_end(pieces[-1]))]


def _receive(chain: tuple[int, ...]) -> Piece:
    builder = PieceBuilder(())
    builder.frontier = (builder.add(NodeKind.RECV, -1, ()), *chain)
    return builder.piece()


def _send(entry: tuple[int, ...]) -> Piece:
    builder = PieceBuilder(entry)
    builder.then(NodeKind.SEND, -1)
    return builder.piece()
