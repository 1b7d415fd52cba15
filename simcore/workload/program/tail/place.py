"""Nodes of a stage's last units that the end of its iteration waits for."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from simcore.workload.program.piece import CHAIN, GATE, Piece, Section
from simcore.workload.program.units.pieces import Chunk, StageUnits

LAST, SCATTERED, COMPLETED = GATE - 1, GATE - 2, GATE - 3
"""Dependencies of a tail before it is known what comes before it: see ``TailPlace``; that on the
first node that completes something is ``COMPLETED``, on the next one ``COMPLETED`` - 1."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TailPlace:
    """Nodes that the tail of stages of a shape waits for, relative to where the sums begin.

    Attributes:
        chunks: Of the stage's layers.
        completed: Those that complete head, layers and token table, chunk after chunk.
        last: The last of those of chunk 0.
        scattered: Sums of gradients in the last backward unit of each chunk (ZeRO 2 and up).
    """

    chunks: tuple[Chunk, ...]
    completed: tuple[int, ...]
    last: int
    scattered: tuple[int, ...]

    @classmethod
    def of(cls, chunks: Sequence[Chunk], units: StageUnits, ends: Sequence[Sequence[int]]) -> Self:
        """The place after *units*.

        Args:
            chunks: Of the stage's layers.
            units: Of the stage; the backward unit of chunk 0 is its last one.
            ends: For each chunk, the pieces from its last unit on.
        """
        backward = [units.pieces[later[0]] for later in ends]
        starts = [-sum([units.pieces[which].nodes for which in later]) for later in ends]
        late = sum([piece.nodes for piece in units.late])
        completed = [
            _completed(chunk, piece, start - late, units)
            for chunk, piece, start in zip(chunks, backward, starts, strict=True)
        ]
        scattered = [
            position
            for piece, start in zip(backward, starts, strict=True)
            for position in _scattered(piece, start)
        ]
        return cls(
            chunks=tuple(chunks),
            completed=tuple([node for nodes in completed for node in nodes]),
            last=max(completed[0]),
            scattered=tuple(scattered),
        )

    def put(self, tail: Section, items: Sequence[int]) -> Section:
        """The section *tail* here, with these *items* in place of its own."""
        means = {LAST: (self.last,), SCATTERED: self.scattered}
        means |= {COMPLETED - at: (node,) for at, node in enumerate(self.completed)}
        dep_count, dep, at = list[int](), list[int](), 0
        for count in tail.dep_count:
            own = [node for mark in tail.dep[at : at + count] for node in means.get(mark, (mark,))]
            dep += own
            dep_count.append(len(own))
            at += count
        return replace(
            tail,
            item=tuple([items[item] for item in tail.item]),
            dep_count=tuple(dep_count),
            dep=tuple(dep),
            exits=tuple([node for mark in tail.exits for node in means.get(mark, (mark,))]),
        )


def _completed(chunk: Chunk, backward: Piece, start: int, units: StageUnits) -> list[int]:
    """The nodes that complete head, layers and token table of a chunk.

    Where the schedule cuts backward passes, weight gradients complete the sums of the layers: the
    end of the last backward unit, or the last of those in the tail.
    """
    positions = _last_computes(backward, start)
    if units.weights is None:
        missing = len(chunk.layers) + chunk.has_head + chunk.has_table - len(positions)
        return positions[:1] * missing + positions  # the head's are there before the layers'
    end = 0 if units.late else start + backward.nodes
    own = _last_computes(units.weights, end - units.weights.nodes)
    return positions[:1] + own if chunk.has_head else own


def _last_computes(backward: Piece, start: int) -> list[int]:
    """Positions of the last compute node of each section, where the piece begins at *start*."""
    positions: list[int] = []
    for section, layers in backward.runs:
        end = start + section.nodes * len(layers)
        if section.last_compute != CHAIN:
            positions += range(start + section.last_compute, end, section.nodes)
        start = end
    return positions


def _scattered(backward: Piece, start: int) -> Iterator[int]:
    """Positions of the sums of gradients."""
    for section, layers in backward.runs:
        end = start + section.nodes * len(layers)
        if section.sums:
            begins = range(start, end, section.nodes)
            yield from [begin + at for begin in begins for at in section.sums]
        start = end
