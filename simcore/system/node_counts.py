"""How often each stage does what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.system.engine_input import Ints
from simcore.terms import NodeKind
from simcore.workload.graph import Operator, TrainingGraph
from simcore.workload.piece import Piece
from simcore.workload.program import StagePieces, TrainingProgram

MATRIX_KERNELS = ("gemm", "attention", "scan")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeCounts:
    """Nodes of an iteration, on one NPU per stage: S stages, C collectives.

    Attributes:
        nodes: All of them.
        matrix_flop: FLOP of matrix products and attention.
        collectives: (S, C) int64, runs of each collective.
        messages: (2, S) int64, messages to the next stage and to the one before.
        message_bytes: Size of a message.
    """

    nodes: int
    matrix_flop: float
    collectives: Ints
    messages: Ints
    message_bytes: int


def counts_of_program(program: TrainingProgram, batches: int) -> NodeCounts:
    """What *program* comes to with *batches* micro-batches."""
    counter = _Counter(len(program.operators), len(program.collectives), batches)
    known: dict[StagePieces, tuple[Ints, Ints]] = {}
    stages = []
    for stage in program.stages:
        if stage.pieces not in known:
            known[stage.pieces] = counter.stage(stage.pieces)
        stages.append(known[stage.pieces])
    items = np.array([stage[0] for stage in stages])
    runs, joint = items[:, : len(program.operators)], items[:, len(program.operators) :]
    messages = np.array([stage[1] for stage in stages])
    return NodeCounts(
        nodes=int(items.sum() + 2 * messages.sum()),  # every message is received too
        matrix_flop=float(runs.sum(axis=0) @ matrix_flop(program.operators)),
        collectives=joint,
        messages=messages.T,
        message_bytes=program.p2p_bytes,
    )


class _Counter:
    """Counts nodes of stages; equal pieces once."""

    def __init__(self, operators: int, collectives: int, batches: int) -> None:
        self._operators, self._items, self._batches = operators, operators + collectives, batches
        self._known: dict[Piece, tuple[Ints, int]] = {}

    def stage(self, stage: StagePieces) -> tuple[Ints, Ints]:
        """Runs of operators and then of collectives, and messages either way, of one stage."""
        runs, sends = np.zeros(self._items, np.int64), np.zeros(2, np.int64)
        for number, (piece, (once, per_batch)) in enumerate(
            zip(stage.pieces, stage.runs, strict=True)
        ):
            times = once + self._batches * per_batch
            items, messages = self._piece(piece)
            runs += times * items
            sends[int(number > stage.chunks)] += times * messages
        return runs, sends

    def _piece(self, piece: Piece) -> tuple[Ints, int]:
        if piece not in self._known:
            joint = piece.kind == NodeKind.COLLECTIVE
            item = (piece.item + self._operators * joint)[piece.item >= 0]
            sends = np.count_nonzero(piece.kind == NodeKind.SEND)
            self._known[piece] = np.bincount(item, minlength=self._items), int(sends)
        return self._known[piece]


def counts_of_graph(graph: TrainingGraph) -> NodeCounts:
    """What *graph* comes to, node by node."""
    operators, collectives = len(graph.operators), len(graph.collectives)
    runs = np.zeros(operators, np.int64)
    joint = np.zeros((len(graph.stages), collectives), np.int64)
    messages = np.zeros((2, len(graph.stages)), np.int64)
    message_bytes = 0
    for stage in graph.stages:
        items = stage.item[stage.kind == NodeKind.COLLECTIVE]
        joint[stage.stage] = np.bincount(items, minlength=collectives)
        runs += np.bincount(stage.item[stage.kind == NodeKind.COMPUTE], minlength=operators)
        sends = stage.kind == NodeKind.SEND
        to_next = stage.peer_stage[sends] == (stage.stage + 1) % len(graph.stages)
        messages[:, stage.stage] = to_next.sum(), (~to_next).sum()
        message_bytes = max(message_bytes, int(stage.size_bytes[sends].max(initial=0)))
    return NodeCounts(
        nodes=sum(stage.nodes for stage in graph.stages),
        matrix_flop=float(runs @ matrix_flop(graph.operators)),
        collectives=joint,
        messages=messages,
        message_bytes=message_bytes,
    )


def matrix_flop(operators: Sequence[Operator]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(O,) float64: FLOP of matrix products and attention in each operator."""
    return np.array(
        [
            sum(kernel.flop for kernel in operator.kernels if kernel.kind in MATRIX_KERNELS)
            for operator in operators
        ],
        np.float64,
    )
