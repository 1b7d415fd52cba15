"""Lays out the units of a stage's schedule one after the other, all at once."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from simcore.workload.graph import StageGraph
from simcore.workload.program.piece import CHAIN, LOSS, TURN
from simcore.workload.program.units.templates import Templates, pieces_of
from simcore.workload.schedules import Units

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
    to_loss = marks == LOSS
    if to_loss.any():
        ends = templates.last_exit.take(which) + start[:-1]
        dep[marked[to_loss]] = ends[_forward_unit(units)[unit[to_loss]]]
    to_turn = marks == TURN
    if to_turn.any():
        ends = templates.last_exit.take(which) + start[:-1]
        dep[marked[to_turn]] = ends[_unit_before_turn(units, unit[to_turn])]
    return dep.astype(np.int32)


def _units_before(units: Units) -> _Ints:
    """(U + 1,) int64: the unit that each one, and the tail, comes after."""
    before = np.arange(-1, units.microbatch.size)
    if units.beside is None:
        return before
    before[:-1] -= units.beside  # not after the one that it runs beside
    return before - units.beside[before]


def _forward_unit(units: Units) -> _Ints:
    """(U,) int64: the forward unit of each unit's micro-batch and chunk."""
    passed = units.microbatch + units.chunk * (int(units.microbatch.max()) + 1)
    forward = np.flatnonzero(~units.backward)
    of_pass = np.empty(forward.size, np.int64)
    of_pass[passed[forward]] = forward
    return of_pass.take(passed)


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
