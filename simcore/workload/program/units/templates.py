"""The pieces that a stage is laid out from, as columns in one row of nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph
from simcore.workload.program.piece import CHAIN, LOSS, TURN
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
            size_bytes=_item_bytes(table, kind, item),
            chunk=chunk,
            layer=node[2].astype(np.int32),
            peer_step=peer_step.astype(np.int32),
            lane=2 * boundary + backward,
            dep_count=node[3].astype(np.int32),
            dep=laid_out.dep,
        )

    def sizes(self, stage: int, message_bytes: Sequence[int]) -> NDArray[np.int64]:
        """(K,) int64: bytes of each collective, transfer and message of a stage.

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


def _item_bytes(
    table: PieceTable, kind: NDArray[np.int8], item: NDArray[np.int32]
) -> NDArray[np.int64]:
    """(K,) int64, as in ``Templates.size_bytes``; *kind* and *item*: of the nodes."""
    size_bytes = np.zeros(kind.size, np.int64)
    joint = np.flatnonzero(kind == NodeKind.COLLECTIVE)
    of_item = np.array([operation.size_bytes for operation in table.collectives], np.int64)
    size_bytes[joint] = of_item[item[joint]]
    moves = np.flatnonzero((kind == NodeKind.MEM_LOAD) | (kind == NodeKind.MEM_STORE))
    of_item = np.array([transfer.size_bytes for transfer in table.transfers], np.int64)
    size_bytes[moves] = of_item[item[moves]]
    return size_bytes


def pieces_of(units: Units, chunks: int) -> NDArray[np.int64]:
    """(..., U) int64: the piece of each unit."""
    which = np.add(np.where(units.backward, 1 + chunks, 1), units.chunk, dtype=np.int64)
    which[..., 0] = FIRST
    if units.without_weights is not None:
        which[units.without_weights] += chunks
    if units.weights is not None:
        which[units.weights] += 2 * chunks
    return which


_Ints = NDArray[np.int64]


def assemble(
    templates: Templates,
    units: Units,
    stage: int,
    spans: Sequence[range],
    message_bytes: Sequence[int],
) -> StageGraph:
    """The graph of *stage*, which holds the layers *spans* and works in the order of *units*.

    *message_bytes* are those of the messages between each stage and the next one around.
    """
    which = np.append(pieces_of(units, templates.chunks), templates.nodes.size - 1)  # the tail
    start, gather = _layout(which, templates.nodes)
    batch = np.full(which.size, -1, np.int32)
    batch[:-1] = units.microbatch
    microbatch = np.repeat(batch, np.diff(start))
    dep_start = np.zeros(gather.size + 1, np.int64)
    np.cumsum(templates.dep_count.take(gather), out=dep_start[1:])
    return StageGraph(
        stage=stage,
        layers=tuple(layer for span in spans for layer in span),
        kind=templates.kind.take(gather),
        item=templates.item.take(gather),
        size_bytes=templates.sizes(stage, message_bytes).take(gather),
        peer_stage=templates.peer_stage(stage).take(gather),
        tag=_tags(templates, units, stage, gather, microbatch),
        microbatch=microbatch,
        layer=templates.layer_number(spans).take(gather),
        unit_start=start[:-1],
        dep_start=dep_start,
        dep=_dependencies(templates, which, start, units),
    )


def last_units(units: Units, chunks: int) -> Iterator[tuple[int, ...]]:
    """For each chunk, the pieces from its last unit to the last unit of the stage."""
    which = pieces_of(units, chunks)
    for chunk in range(chunks):
        last = np.flatnonzero(units.chunk == chunk)[-1]
        yield tuple(which[last:].tolist())


def _layout(which: _Ints, sizes: _Ints) -> tuple[_Ints, _Ints]:
    """Start of each unit, (U + 1,), and for each element its place in the templates."""
    lengths = sizes.take(which)
    start = np.zeros(which.size + 1, np.int64)
    np.cumsum(lengths, out=start[1:])
    origin = (np.cumsum(sizes) - sizes).take(which)
    return start, np.arange(start[-1]) + np.repeat(origin - start[:-1], lengths)


def _tags(
    templates: Templates, units: Units, stage: int, gather: _Ints, microbatch: NDArray[np.int32]
) -> _Ints:
    """Each boundary has one tag per micro-batch down, then as many up."""
    first = (templates.lane + 2 * stage) * units.batches
    tag = np.full(gather.size, -1, np.int64)
    messages = np.flatnonzero((templates.peer_step != 0).take(gather))
    tag[messages] = first.take(gather[messages]) + microbatch[messages]
    return tag


def _dependencies(
    templates: Templates, which: _Ints, start: _Ints, units: Units
) -> NDArray[np.int32]:
    """Dependencies of all nodes as positions; CHAIN, LOSS and TURN find their unit here."""
    edge_start, gather = _layout(which, templates.deps)
    dep = templates.dep.take(gather)
    marked = np.flatnonzero(dep <= CHAIN)
    marks = dep[marked]
    dep += np.repeat(start[:-1], np.diff(edge_start))
    unit = np.searchsorted(edge_start, marked, side="right") - 1
    last_compute = templates.last_compute.take(which) + start[:-1]
    dep[marked] = last_compute[_units_before(units)[unit]]
    for mark, awaited in ((LOSS, _forward_unit), (TURN, _unit_before_turn)):
        own = marks == mark
        if own.any():
            ends = templates.last_exit.take(which) + start[:-1]
            dep[marked[own]] = ends[awaited(units, unit[own])]
    return dep.astype(np.int32)


def _units_before(units: Units) -> _Ints:
    """(U + 1,) int64: the unit that each one, and the tail, comes after."""
    before = np.arange(-1, units.microbatch.size)
    if units.beside is None:
        return before
    before[:-1] -= units.beside  # not after the one that it runs beside
    return before - units.beside[before]


def _forward_unit(units: Units, which: _Ints) -> _Ints:
    """Forward units of the micro-batches and chunks of the units *which*."""
    passed = units.microbatch + units.chunk * (int(units.microbatch.max()) + 1)
    forward = np.flatnonzero(~units.backward)
    of_pass = np.empty(forward.size, np.int64)
    of_pass[passed[forward]] = forward
    return of_pass.take(passed[which])


def _unit_before_turn(units: Units, which: _Ints) -> _Ints:
    """Units in the other chunk from which the micro-batches of the units *which* turn to these.

    Forward passes turn from the first chunk to the second one, backward passes back.
    """
    passes: _Ints = np.full((2, 2, units.batches), -1)
    own = np.arange(units.microbatch.size)
    if units.weights is not None:
        own = own[~units.weights]
    passes[units.backward[own].astype(int), units.chunk[own], units.microbatch[own]] = own
    backward = units.backward[which].astype(int)
    found: _Ints = passes[backward, 1 - units.chunk[which], units.microbatch[which]]
    return found
