"""The pieces that a stage is laid out from, as columns in one row of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.program.piece_table import PieceTable
from simcore.workload.schedules import Units

FIRST = 0
"""Index of the piece of the first unit, which waits for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Templates:
    """Pieces one after the other, equal for all stages of the same shape.

    With v chunks the P pieces are the first unit, the forward unit of each chunk, the backward unit
    of each chunk, where the schedule cuts backward passes those without weight gradients, where it
    has these as units of their own those too, and the tail of the iteration. K nodes and D
    dependencies in all.

    Attributes:
        chunks: v.
        stages: Stages of the pipeline.
        nodes, deps: (P,) int64, nodes and dependencies of each piece.
        last_compute, last_exit: (P,) int64, relative to the piece.
        kind: (K,) int8.
        item: (K,) int32.
        size_bytes: (K,) int64, of collectives; else 0.
        chunk: (K,) int64, chunk of each node; 0 in the tail.
        layer: (K,) int32, counted from the chunk's first layer; -1 for none.
        peer_step: (K,) int32, 1 and -1: messages with the next stage and the one before; else 0.
        lane: (K,) int64, ordinal of (boundary, direction), counted from that of chunk 0.
        dep_count: (K,) int32.
        dep: (D,) int64, as in ``PieceNodes``.
    """

    chunks: int
    stages: int
    nodes: NDArray[np.int64]
    deps: NDArray[np.int64]
    last_compute: NDArray[np.int64]
    last_exit: NDArray[np.int64]
    kind: NDArray[np.int8]
    item: NDArray[np.int32]
    size_bytes: NDArray[np.int64]
    chunk: NDArray[np.int64]
    layer: NDArray[np.int32]
    peer_step: NDArray[np.int32]
    lane: NDArray[np.int64]
    dep_count: NDArray[np.int32]
    dep: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        table: PieceTable,
        which: Sequence[int],
        *,
        stages: int,
        chunks: int,
        mirrors: bool = False,
    ) -> Self:
        """Line up the pieces *which*; *mirrors*: the second chunks lie in reverse order."""
        pieces = [table.pieces[piece] for piece in which]
        laid_out = table.nodes(which)
        node, nodes = laid_out.node, laid_out.nodes
        kind, item = node[0].astype(np.int8), node[1].astype(np.int32)
        backward = np.repeat(np.arange(len(pieces)) > chunks, nodes)
        each = np.tile(np.arange(chunks), (len(pieces) - 2) // chunks)
        chunk = np.repeat(np.concatenate([[0], each, [0]]), nodes)
        sends, receives = kind == NodeKind.SEND, kind == NodeKind.RECV
        upwards = backward ^ (mirrors & (chunk == 1))
        peer_step = (sends.astype(np.int32) - receives) * np.where(upwards, -1, 1)
        size_bytes = np.zeros(kind.size, np.int64)
        joint = np.flatnonzero(kind == NodeKind.COLLECTIVE)
        of_item = np.array([operation.size_bytes for operation in table.collectives], np.int64)
        size_bytes[joint] = of_item[item[joint]]
        boundary = chunk * stages + np.minimum(peer_step, 0)
        return cls(
            chunks=chunks,
            stages=stages,
            nodes=nodes,
            deps=laid_out.deps,
            last_compute=np.array([piece.last_compute for piece in pieces], np.int64),
            last_exit=np.array([piece.exits[-1] for piece in pieces], np.int64),
            kind=kind,
            item=item,
            size_bytes=size_bytes,
            chunk=chunk,
            layer=node[2].astype(np.int32),
            peer_step=peer_step.astype(np.int32),
            lane=2 * boundary + backward,
            dep_count=node[3].astype(np.int32),
            dep=laid_out.dep,
        )

    def sizes(self, stage: int, message_bytes: Sequence[int]) -> NDArray[np.int64]:
        """(K,) int64: bytes of each collective and message of a stage.

        Args:
            stage: The stage.
            message_bytes: Of the messages between each stage and the next one around.
        """
        to_next, to_previous = message_bytes[stage], message_bytes[stage - 1]
        of_step = np.array([0, to_next, to_previous], np.int64)  # step -1 takes the last one
        return self.size_bytes + of_step[self.peer_step]

    def peer_stage(self, stage: int) -> NDArray[np.int32]:
        """(K,) int32: the other stage of each message, -1 for other nodes."""
        peer = (self.peer_step + stage) % self.stages
        return np.where(self.peer_step != 0, peer, -1).astype(np.int32)

    def layer_number(self, spans: Sequence[range]) -> NDArray[np.int32]:
        """(K,) int32: the model's layer that each node serves, -1 for none."""
        first = np.array([span.start for span in spans])
        layer = self.layer + first.take(self.chunk)
        return np.where(self.layer >= 0, layer, -1).astype(np.int32)


def pieces_of(units: Units, chunks: int) -> NDArray[np.int64]:
    """(..., U) int64: the piece of each unit."""
    which = np.add(np.where(units.backward, 1 + chunks, 1), units.chunk, dtype=np.int64)
    which[..., 0] = FIRST
    if units.without_weights is not None:
        which[units.without_weights] += chunks
    if units.weights is not None:
        which[units.weights] += 2 * chunks
    return which
