"""The units that a stage's schedule is made of, and how often each runs."""

from collections.abc import Sequence
from dataclasses import dataclass

from simcore.workload.program.piece import CHAIN, Piece, join, nothing, seen_from_end
from simcore.workload.program.units.pieces import Chunk, UnitWriter


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageUnits:
    """The units of a stage.

    Attributes:
        pieces: In the order of ``Templates``, without the tail.
        runs: (once, per_batch) of each piece: m micro-batches run it once + m x per_batch times.
        weights: Where backward passes are cut, the weight gradients of one micro-batch.
        late: Those that are computed after the last unit.
    """

    pieces: tuple[Piece, ...]
    runs: tuple[tuple[int, int], ...]
    weights: Piece | None = None
    late: tuple[Piece, ...] = ()


def whole_units(writer: UnitWriter, chunks: Sequence[Chunk]) -> StageUnits:
    """Units of a schedule whose backward passes are whole."""
    forward = [writer.forward(chunk, chain=(CHAIN,)) for chunk in chunks]
    backward = [writer.backward(chunk, piece) for chunk, piece in zip(chunks, forward, strict=True)]
    others = [(0, 1)] * (2 * len(chunks) - 1)
    return StageUnits(
        pieces=(writer.first(chunks), *forward, *backward), runs=((1, 0), (-1, 1), *others)
    )


def forward_units(writer: UnitWriter, chunks: Sequence[Chunk]) -> StageUnits:
    """Units of a schedule without backward passes, which are empty and never run."""
    forward = [writer.forward(chunk, chain=(CHAIN,)) for chunk in chunks]
    others = [(0, 1)] * (len(chunks) - 1) + [(0, 0)] * len(chunks)
    backward = [nothing()] * len(chunks)
    return StageUnits(
        pieces=(writer.first(chunks), *forward, *backward), runs=((1, 0), (-1, 1), *others)
    )


def separate_units(writer: UnitWriter, chunks: Sequence[Chunk], cut: Sequence[int]) -> StageUnits:
    """Units of a schedule whose weight gradients may be units of their own.

    *cut*: how many of each chunk's backward passes are without them.
    """
    whole, count = whole_units(writer, chunks), len(chunks)
    forward = whole.pieces[1 : 1 + count]
    inputs = [writer.input_gradients(*pair) for pair in zip(chunks, forward, strict=True)]
    weights = [writer.weight_gradients(chunk, (CHAIN,)) for chunk in chunks]
    of_cut = [(times, 0) for times in cut]
    return StageUnits(
        pieces=(*whole.pieces, *inputs, *weights),
        runs=(*whole.runs[: 1 + count], *[(-times, 1) for times in cut], *of_cut, *of_cut),
    )


def cut_units(writer: UnitWriter, chunk: Chunk, late: int, *, none_in_time: bool) -> StageUnits:
    """Units of a schedule that computes weight gradients apart, *late* of them after its last unit.

    A backward unit ends with the weight gradients of the earliest micro-batch that lacks them, but
    for the first *late* ones. *none_in_time*: all are late.
    """
    forward = writer.forward(chunk, chain=(CHAIN,))
    inputs = writer.input_gradients(chunk, forward)
    weights = writer.weight_gradients(chunk, (inputs.last_compute - inputs.nodes,))
    backward = join([inputs, weights])
    before, pieces = inputs if none_in_time else backward, list[Piece]()
    for _ in range(late):
        entry = seen_from_end(before) if pieces else (before.last_compute - before.nodes,)
        before = writer.weight_gradients(chunk, entry)
        pieces.append(before)
    return StageUnits(
        pieces=(writer.first([chunk]), forward, backward, inputs),
        runs=((1, 0), (-1, 1), (-late, 1), (late, 0)),
        weights=weights,
        late=tuple(pieces),
    )
