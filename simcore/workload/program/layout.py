"""The layout of programs: all of them but what operators and collectives amount to.

Plans whose layers take the same steps have it in common, whatever their sizes. It is written once,
and other plans only say what the operators and collectives of its nodes are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcore.memo import Key, key_of_one
from simcore.workload.base import Workload
from simcore.workload.plan import ParallelPlan, fields_but
from simcore.workload.program.node_work import NodeWork
from simcore.workload.program.piece import Origin, Piece, Section
from simcore.workload.program.piece_table import PieceTable
from simcore.workload.program.tail.tail import StageEnds
from simcore.workload.program.units.orders import OrderEnds
from simcore.workload.program.work import Entry

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StagePieces:
    """The pieces of all stages of one shape.

    Attributes:
        pieces: With v chunks: the first unit, the forward unit of each chunk, the backward unit of
            each chunk, where the schedule cuts backward passes those without weight gradients,
            where it has these as units of their own those too, and the tail of the iteration.
        chunks: v.
        runs: (once, per_batch) of each piece: m micro-batches run it once + m x per_batch times.
        finale: Pieces of the units from the first of the chunks' last backward units on.
    """

    pieces: tuple[Piece, ...]
    chunks: int
    runs: tuple[tuple[int, int], ...]
    finale: tuple[int, ...]

    @property
    def in_order(self) -> tuple[Piece, ...]:
        """The pieces as they are listed in the table: what waits for nothing after what waits."""
        first, *others, tail = self.pieces
        return (*others, first, tail)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StageShape:
    """Common part of stages with the same layers and ends.

    Attributes:
        pieces: What they are made of.
        has_tail: The last piece ends with one; without backward passes there is none.
    """

    pieces: StagePieces
    has_tail: bool

    @property
    def unit_sections(self) -> list[Section]:
        """All sections of its pieces but the tail's own."""
        *units, last = self.pieces.pieces
        late = last.runs[:-1] if self.has_tail else last.runs
        return [section for piece in units for section, _ in piece.runs] + [s for s, _ in late]


@dataclass(frozen=True, kw_only=True, eq=False)
class ProgramLayout:
    """Programs of H shapes of stages.

    Attributes:
        ends: Of the shapes.
        shapes: In order of their first stages.
        of_stage: Number of the shape of each stage.
        spans: Layers of each chunk of each stage.
        table: Of all pieces, with what the nodes of the first plan do.
        origins: Of the sections of layers and ends.
        work: Of the nodes of these and of the tails, in the first plan.
        used: Entries that the items of the table stand for, in the first plan.
        is_shared: Nothing but the tails depends on more than the sections of these origins.
    """

    ends: StageEnds
    shapes: tuple[StageShape, ...]
    of_stage: tuple[int, ...]
    spans: tuple[tuple[range, ...], ...]
    table: PieceTable
    origins: tuple[Origin, ...]
    work: tuple[NodeWork, NodeWork]
    used: tuple[Entry, ...]
    is_shared: bool

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory that it takes."""
        return 5 * self.table.size_bytes

    @property
    def shape_of_stages(self) -> list[StageShape]:
        """The shape of each stage."""
        return [self.shapes[number] for number in self.of_stage]

    @cached_property
    def structure(self) -> Key:
        """All that tells its programs from those of other layouts."""
        table = self.table
        shapes = [
            (table.numbers(one.pieces.pieces), one.pieces.chunks, one.pieces.finale)
            for one in self.shapes
        ]
        return Key(table.structure, self.of_stage, tuple(shapes))

    @cached_property
    def counts(self) -> tuple[Ints, Ints]:
        """Nodes of each of S stages, once in an iteration and once per micro-batch.

        Returns:
            (2, S, O + C + T) int64 of operators, collectives and transfers; (2, S, 2) int64 of
            messages in forward and in backward pieces.
        """
        runs = np.zeros((2, len(self.shapes), 2, len(self.table.pieces)), np.int64)
        for number, shape in enumerate(self.shapes):
            pieces = shape.pieces
            for at, (piece, often) in enumerate(zip(pieces.pieces, pieces.runs, strict=True)):
                runs[:, number, int(at > pieces.chunks), self.table.number[piece]] += often
        of_piece, sends = self.table.counts()
        of_stage = np.array(self.of_stage, np.int64)
        items, messages = runs.sum(axis=2) @ of_piece, runs @ sends
        return items.take(of_stage, axis=1), messages.take(of_stage, axis=1)

    @cached_property
    def _places(self) -> tuple[int, ...]:
        """Place of each entry of the table in the work of its sections and tails."""
        units, tails = self.work
        place = {entry: at for at, entry in enumerate((*units.entries, *tails.entries))}
        return tuple([place[entry] for entry in self.used])

    @cached_property
    def _joint(self) -> tuple[tuple[int, int], ...]:
        units, tails = self.work
        return units.joint(tails)

    def entries_of(self, units: NodeWork, tails: NodeWork) -> list[Entry] | None:
        """Entries of another plan, in place of those of the table.

        Args:
            units: Work of its sections of the same origins.
            tails: Work of its tails.

        Returns:
            None: its nodes are others, or what is one entry here is several there, or the other
            way round.
        """
        own = self.work
        if units.form != own[0].form or tails.form != own[1].form:
            return None
        if units.joint(tails) != self._joint:
            return None
        every = (*units.entries, *tails.entries)
        return [every[place] for place in self._places]


def origins_of(shapes: Sequence[StageShape]) -> tuple[tuple[Origin, ...], bool]:
    """Origins of the sections of units of these *shapes*, and True if all of them have one."""
    sections = [section for shape in shapes for section in shape.unit_sections]
    every = dict.fromkeys([section.origin for section in sections if section.nodes])
    return tuple([origin for origin in every if origin is not None]), None not in every


_VARIANTS = 8
"""Layouts that are kept of plans that the key does not tell apart."""


@dataclass(frozen=True, slots=True, eq=False)
class Layouts:
    """Layouts of plans with the same key, the latest first."""

    layouts: tuple[ProgramLayout, ...] = ()

    @property
    def size_bytes(self) -> int:
        """Memory that they take."""
        return 1024 + sum(layout.size_bytes for layout in self.layouts)

    def joined(self, layout: ProgramLayout) -> "Layouts":
        """These and *layout*."""
        return Layouts((layout, *self.layouts)[:_VARIANTS])


_of_units = fields_but(
    {
        "pp",
        "interleave",
        "interleave_group",
        "chunk_layers",
        "schedule",
        "overlap_gradients",
        "average_loss",
        "scale_loss",
        "tp",
        "cp",
        "dp",
        "ep",
        "etp",
        "dispatch_group",
        "micro_batch",
        "shard",
        "bucket_bytes",
        "order",
        "recompute",  # of which whole layers are named by themselves
        "recompute_every",
    }
)
"""Fields of a plan that decide which nodes units have; the others decide which units there are and
what follows them, or tell how much there is to do, and of which nodes, sections say themselves."""


def units_key(workload: Workload, plan: ParallelPlan) -> Key:
    """All that decides which sections the units have, and mostly what these are.

    Args:
        workload: What is to be done.
        plan: How it is spread.
    """
    degrees = plan.tp, plan.cp, plan.gradient_replicas, plan.ep, plan.expert_tp
    spread = [degree > 1 for degree in degrees]
    spread += plan.recompute == "full", plan.last_stage == 0
    return Key(key_of_one(workload.model), *spread, _of_units(plan))


def layout_key(units: Key, plan: ParallelPlan, ends: OrderEnds) -> Key:
    """All that decides which sections follow each other, and mostly what these are.

    Args:
        units: Key of the units.
        plan: How the work is spread.
        ends: Of the orders of the units.
    """
    stages = plan.pp, plan.interleave, plan.interleave_group, plan.chunk_layers, plan.schedule
    tails = plan.overlap_gradients, plan.average_loss, plan.scale_loss
    return Key(units, ends, *stages, *tails)
