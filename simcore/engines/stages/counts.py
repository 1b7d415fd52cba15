"""Counts of the nodes of each stage."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simcore.engines.events.input import Floats, Ints
from simcore.engines.limits.size_range import Traffic
from simcore.terms import NodeKind
from simcore.workload.graph import Operator, TrainingGraph
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


def counts_of_program(program: TrainingProgram, batches: int) -> NodeCounts:
    """Counts of *program* with *batches* micro-batches."""
    (once, per_batch), (sends, sends_per_batch) = program.layout.counts
    items = once + batches * per_batch
    messages = (sends + batches * sends_per_batch).T
    operators, sizes = len(program.operators), program.message_bytes
    moving = operators + len(program.collectives)
    of_all = items.sum(axis=0)
    computed, joint = of_all[:operators], items[:, operators:moving]
    message_bytes = np.array([sizes, (sizes[-1], *sizes[:-1])], np.int64)
    return NodeCounts(
        nodes=int(of_all.sum() + 2 * messages.sum()),  # every message is received too
        matrix_flop=float(computed @ matrix_flop(program.operators)),
        operators=computed,
        collectives=joint,
        transfers=items[:, moving:],
        messages=messages,
        message_bytes=message_bytes,
        sent_bytes=messages * message_bytes.astype(float),
        traffic=Traffic.of(program.collectives, program.groups, joint, messages, message_bytes),
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
    return NodeCounts(
        nodes=sum(stage.nodes for stage in graph.stages),
        matrix_flop=float(runs @ matrix_flop(graph.operators)),
        operators=runs,
        collectives=joint,
        transfers=moved,
        messages=messages,
        message_bytes=message_bytes,
        sent_bytes=messages * message_bytes.astype(float),
        traffic=Traffic.of(graph.collectives, graph.groups, joint, messages, message_bytes),
    )


def matrix_flop(operators: Sequence[Operator]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(O,) float64: FLOP of matrix products and attention in each operator."""
    return np.array([operator.matrix_flop for operator in operators], np.float64)
