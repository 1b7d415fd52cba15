"""Counts of the nodes of each stage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from simcore.engines.events.input import Floats, Ints
from simcore.engines.limits.size_range import Traffic
from simcore.memo import Memo
from simcore.terms import NodeKind
from simcore.workload.graph import Operator, TrainingGraph
from simcore.workload.program.layout import ProgramLayout
from simcore.workload.program.write import TrainingProgram


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class NodeCounts:
    """Nodes of an iteration, on one NPU per stage: S stages, O operators, C collectives.

    Attributes:
        nodes: All of them.
        matrix_flop: FLOP of matrix products and attention.
        operators: (O,) int64, runs of each operator on all stages together.
        collectives: (S, C) int64, runs of each collective.
        transfers: (S, T) int64, runs of each transfer into or out of a tier of memory.
        messages: (2, S) int64, messages to the next stage and to the one before.
        message_bytes: (2, S) int64, size of these messages.
        sent_bytes: (2, S) float64, of all of these messages together.
        traffic: What collectives and messages send at most.
    """

    nodes: int
    matrix_flop: float
    operators: Ints
    collectives: Ints
    transfers: Ints
    messages: Ints
    message_bytes: Ints
    sent_bytes: Floats
    traffic: Traffic


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Runs:
    """Runs of nodes of one layout, whatever they do: as in ``NodeCounts``.

    Attributes:
        each_collective: Runs of each collective on all stages.
        sends: All messages.
    """

    nodes: int
    operators: Ints
    collectives: Ints
    transfers: Ints
    messages: Ints
    each_collective: list[int]
    sends: int

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory taken."""
        return 1024 + 2 * (self.collectives.nbytes + self.transfers.nbytes)

    @classmethod
    def of(cls, layout: ProgramLayout, batches: int) -> Self:
        """The runs in an iteration with *batches* micro-batches."""
        (once, per_batch), (sends, sends_per_batch) = layout.counts
        items = once + batches * per_batch
        messages = (sends + batches * sends_per_batch).T
        operators = len(layout.table.operators)
        moving = operators + len(layout.table.collectives)
        of_all, sent = items.sum(axis=0), int(messages.sum())
        return cls(
            nodes=int(of_all.sum()) + 2 * sent,  # every message is received too
            operators=of_all[:operators],
            collectives=items[:, operators:moving],
            transfers=items[:, moving:],
            messages=messages,
            each_collective=of_all[operators:moving].tolist(),
            sends=sent,
        )


def counts_of_program(
    program: TrainingProgram, batches: int, memo: Memo | None = None
) -> NodeCounts:
    """Counts of *program* with *batches* micro-batches.

    *memo*: what is known of programs with the same layout; None: nothing.
    """
    layout, sizes = program.layout, program.message_bytes
    memo = Memo() if memo is None else memo
    runs = memo.of("runs of nodes", (layout, batches), lambda: _Runs.of(layout, batches))
    message_bytes = np.array([sizes, (sizes[-1], *sizes[:-1])], np.int64)
    sent_bytes = runs.messages * message_bytes.astype(float)
    return NodeCounts(
        nodes=runs.nodes,
        matrix_flop=float(runs.operators @ matrix_flop(program.operators)),
        operators=runs.operators,
        collectives=runs.collectives,
        transfers=runs.transfers,
        messages=runs.messages,
        message_bytes=message_bytes,
        sent_bytes=sent_bytes,
        traffic=Traffic.of(
            program.collectives,
            program.groups,
            runs.each_collective,
            messages=runs.sends,
            sent_bytes=float(sent_bytes.sum()),
            largest_bytes=max(sizes),
        ),
    )


def counts_of_graph(graph: TrainingGraph) -> NodeCounts:
    """Nodes, FLOP and bytes of *graph*, added up node by node."""
    operators, collectives = len(graph.operators), len(graph.collectives)
    runs = np.zeros(operators, np.int64)
    joint = np.zeros((len(graph.stages), collectives), np.int64)
    moved = np.zeros((len(graph.stages), len(graph.transfers)), np.int64)
    messages = np.zeros((2, len(graph.stages)), np.int64)
    message_bytes = np.zeros_like(messages)
    for stage in graph.stages:
        items = stage.item[stage.kind == NodeKind.COLLECTIVE]
        joint[stage.stage] = np.bincount(items, minlength=collectives)
        moves = np.isin(stage.kind, (NodeKind.MEM_LOAD, NodeKind.MEM_STORE))
        moved[stage.stage] = np.bincount(stage.item[moves], minlength=len(graph.transfers))
        runs += np.bincount(stage.item[stage.kind == NodeKind.COMPUTE], minlength=operators)
        sends = stage.kind == NodeKind.SEND
        to_next = stage.peer_stage[sends] == (stage.stage + 1) % len(graph.stages)
        messages[:, stage.stage] = to_next.sum(), (~to_next).sum()
        for way, chosen in enumerate((to_next, ~to_next)):
            sizes = stage.size_bytes[sends][chosen]
            message_bytes[way, stage.stage] = sizes.max(initial=0)
    sent_bytes = messages * message_bytes.astype(float)
    return NodeCounts(
        nodes=sum(stage.nodes for stage in graph.stages),
        matrix_flop=float(runs @ matrix_flop(graph.operators)),
        operators=runs,
        collectives=joint,
        transfers=moved,
        messages=messages,
        message_bytes=message_bytes,
        sent_bytes=sent_bytes,
        traffic=Traffic.of(
            graph.collectives,
            graph.groups,
            joint.sum(axis=0).tolist(),
            messages=int(messages.sum()),
            sent_bytes=float(sent_bytes.sum()),
            largest_bytes=int(message_bytes.max(initial=0)),
        ),
    )


def matrix_flop(operators: Sequence[Operator]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(O,) float64: FLOP of matrix products and attention in each operator."""
    return np.array([operator.matrix_flop for operator in operators], np.float64)
