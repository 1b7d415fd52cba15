"""A program as the stage kernels read it, all but what the machine decides.

Depends on workload and plan alone, so it is worked out once for all machines.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.input import Ints
from simcore.engines.stages.piece_code import PieceCode, SharedCollective
from simcore.kernels.many import programs
from simcore.kernels.npu.pointers import address_of
from simcore.kernels.stages import stage_layout as f
from simcore.memo import Key, Memo
from simcore.workload.program.units.templates import pieces_of
from simcore.workload.program.write import TrainingProgram
from simcore.workload.schedules import SCHEDULES, stacked

Bools = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, eq=False)
class UnitTable:
    """S stages with U units each and M messages: all that depends on the pipeline alone.

    Attributes:
        units: (S, U, UNIT_FIELDS) int64; WHICH is the stage's own number of a piece, FORWARD_AGE 0.
        backward: (S, U) bool, the unit is a backward pass.
        passed: (S, U) int64, number of the pass, of a micro-batch and chunk.
        messages: (M, MESSAGE_FIELDS) int64, who receives each message.
        period: Units per period of the schedule, 0: none.
        period_batches: Micro-batches in it.
        repeats: (S, 2) int64, between which units each stage's program repeats.
    """

    units: Ints
    backward: Bools
    passed: Ints
    messages: Ints
    period: int
    period_batches: int
    repeats: Ints

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        arrays = (self.units, self.backward, self.passed, self.passed, self.messages)
        return sum([array.nbytes for array in arrays])

    @cached_property
    def forward_age(self) -> Ints:
        """(S, U) int64: how many units ago the same pass went forward."""
        stages, units = self.passed.shape
        stage, unit = np.nonzero(~self.backward)
        forward = np.empty((stages, units // 2), np.int64)
        forward[stage, self.passed[stage, unit]] = unit
        since: Ints = np.arange(units) - forward[np.arange(stages)[:, None], self.passed]
        return since

    def parts(self, *, with_ages: bool) -> programs.OfUnits:
        """Addresses and sizes of the arrays; of the ages only if these are asked for."""
        stages, units = self.passed.shape
        return programs.OfUnits(
            units=address_of(self.units),
            ages=address_of(self.forward_age if with_ages else self.passed),
            messages=address_of(self.messages),
            repeats=address_of(self.repeats),
            stages=stages,
            unit_count=units,
            message_count=len(self.messages),
            period_batches=self.period_batches,
        )


def unit_table(program: TrainingProgram, memo: Memo) -> UnitTable:
    """The table of *program*."""
    return memo.of("tables of units", program.pipeline, lambda: _table(program))


def _table(program: TrainingProgram) -> UnitTable:
    plan, stages = program.plan, program.stages
    batches = program.batches
    every = stacked([stage.units for stage in stages])
    chunk, batch = every.chunk.astype(np.int64), every.microbatch.astype(np.int64)
    backward = every.backward
    units = np.zeros((*chunk.shape, f.UNIT_FIELDS), np.int64)
    units[:, :, f.WHICH] = pieces_of(every, plan.interleave)
    place = np.arange(plan.pp)[:, None] + chunk * plan.pp
    last = plan.interleave * plan.pp - 1
    for column, boundary in ((f.SENDS, place - backward), (f.RECEIVED, place - 1 + backward)):
        message = (2 * boundary + backward) * batches + batch
        units[:, :, column] = np.where((boundary >= 0) & (boundary < last), message, -1)
    schedule = SCHEDULES[plan.schedule]()
    period_batches = schedule.period(plan.pp, plan.interleave, plan.chunk_group) or 0
    late = [schedule.late_weights(stage.stage, batches) for stage in stages]
    period = 2 * period_batches * plan.interleave
    repeats = _repeats(2 * chunk + backward, backward, np.array(late), period)
    return UnitTable(
        units=units,
        backward=backward,
        passed=batch + chunk * batches,
        messages=_messages(units, 2 * last * batches),
        period=0 if repeats is None else period,
        period_batches=period_batches,
        repeats=np.zeros((plan.pp, 2), np.int64) if repeats is None else repeats,
    )


def _messages(units: Ints, count: int) -> Ints:
    messages = np.zeros((count, f.MESSAGE_FIELDS), np.int64)
    stage, unit = np.nonzero(units[:, :, f.RECEIVED] >= 0)
    message = units[stage, unit, f.RECEIVED]
    messages[message, f.TO_STAGE] = stage
    messages[message, f.TO_UNIT] = unit
    stage, unit = np.nonzero(units[:, :, f.SENDS] >= 0)
    message = units[stage, unit, f.SENDS]
    messages[message, f.FROM_STAGE] = stage
    messages[message, f.FROM_UNIT] = unit
    return messages


def _repeats(which: Ints, backward: Bools, late: Ints, period: int) -> Ints | None:
    """Between which units each stage's program repeats; None: not everywhere.

    That is the part in which forward and backward passes alternate, all of the latter with weight
    gradients.
    """
    if period == 0:
        return None
    warm_up = backward.argmax(axis=1) - 1
    first, last = warm_up + 2 * late, which.shape[1] - warm_up
    if (last - first < 2 * period).any():
        return None
    unit = np.arange(which.shape[1] - period)
    inside = (unit >= first[:, None]) & (unit + period < last[:, None])
    if (inside & (which[:, :-period] != which[:, period:])).any():
        return None
    return np.stack([first, last], axis=1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineCode:
    """The kernels' ``fixed`` array, with P pieces.

    Its times are those of the machine that it was run on last: each run writes its own.

    Attributes:
        fixed: From the nodes to the programs, see ``stage_layout``.
        stages, operators, ports: How many there are; ports of outer memory.
        items: Operators, collectives, transfers, and one for messages: what nodes find times by.
        sections: Places in sections that repeat; their records lie before the units.
        pieces: (P, PIECE_FIELDS) int64 without the times of messages.
        piece: Address of the pieces; there is room for them once per stage, as each may have other
            times of messages.
        program, message, members, messages: Addresses, and how many messages there are.
        period: Units per period of the schedule, 0: none.
        period_batches: Micro-batches in it.
        shift: Bits of a position within a piece.
        categories: Names of what time is booked under: phases of compute, axes of communication,
            tiers of memory.
        shared: Collectives between stages, by number.
        layouts: Where a run's memory lies, by what an NPU does at once and whether a collective
            takes no time: as ``f.Layout`` and as the kernels read it.
    """

    fixed: Ints
    stages: int
    operators: int
    ports: int
    items: int
    sections: int
    pieces: Ints
    piece: int
    program: int
    message: int
    members: int
    messages: int
    period: int
    period_batches: int
    shift: int
    categories: tuple[str, ...]
    shared: tuple[SharedCollective, ...]
    layouts: dict[Hashable, tuple[f.Layout, f.Layout]] = field(default_factory=dict)

    @property
    def repeats(self) -> Ints:
        """(S, 2) int64, between which units each stage's program repeats."""
        programs = self.fixed[self.program :].reshape(self.stages, f.PROGRAM_FIELDS)
        return programs[:, f.REPEATS_FROM :]

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.fixed.nbytes + self.pieces.nbytes


_LOWER_BITS = 32
_LOWER = (1 << _LOWER_BITS) - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyedProgram:
    """A program and its structure: all that its code depends on.

    Two programs with the same structure differ in what operators and collectives amount to alone.

    Attributes:
        pieces: Of the structure, all but the order in which the pieces run.
    """

    program: TrainingProgram
    structure: Key
    pieces: Key

    @classmethod
    def of(cls, program: TrainingProgram) -> Self:
        """*program* and its structure."""
        pieces = Key(
            program.layout.structure,
            tuple([operator.phase for operator in program.operators]),
            tuple([operation.axis for operation in program.collectives]),
            tuple([transfer.port for transfer in program.transfers]),
        )
        return cls(program=program, structure=Key(program.pipeline, pieces), pieces=pieces)

    @property
    def place(self) -> int:
        """Place in an order in which programs of one structure are neighbours.

        Those that run the same pieces in other orders come next to them. Others hardly ever have
        the same place.
        """
        return hash(self.pieces) >> _LOWER_BITS << _LOWER_BITS | hash(self.structure) & _LOWER

    @property
    def size_bytes(self) -> int:
        """Estimate of the memory taken beside the layout, which is kept by itself."""
        return 4096 + 16 * len(self.program.table.used)


def pipeline_code(known: KeyedProgram, memo: Memo) -> PipelineCode | None:
    """The code of a program, one for all with the same structure.

    None where its units are not such that they can be looked up.
    """
    return memo.of("codes", known.structure, lambda: _code(known, memo))


@dataclass(frozen=True, slots=True, eq=False)
class CodeParts:
    """All that the code of a program is put together of.

    Attributes:
        own: Its pieces.
        table: Which of them its units run.
    """

    own: PieceCode
    table: UnitTable

    @property
    def row(self) -> tuple[int, ...]:
        """PROGRAM of ``kernels.many.programs``; the addresses hold as long as these parts."""
        own, table = self.own, self.table
        stages, head = table.units.shape[0], own.head.size
        sizes = [table.units.size, table.messages.size, len(own.shared), stages * own.pieces.size]
        places = list(accumulate([*sizes, stages * f.PROGRAM_FIELDS], initial=head))
        return (*own.parts, *table.parts(with_ages=own.asks), *places[1:])


def code_parts(known: KeyedProgram, memo: Memo) -> CodeParts | None:
    """Parts of the code of a program; None where its units are not such that they can be known."""
    program = known.program
    schedule = SCHEDULES[program.plan.schedule]
    if schedule.overlaps or not schedule.trains:  # these run node by node
        return None
    own = memo.of("codes of pieces", known.pieces, lambda: PieceCode.of(program))
    if not own.are_known:
        return None
    return CodeParts(own, unit_table(program, memo))


def _code(known: KeyedProgram, memo: Memo) -> PipelineCode | None:
    parts = code_parts(known, memo)
    if parts is None:
        return None
    own, table = parts.own, parts.table
    row = np.array([parts.row], programs.PROGRAM)
    message_at, members_at, piece_at, stages_at, size = row[list(programs.PLACES)][0].tolist()
    fixed = np.zeros(size, np.int64)
    if not programs.write(row, fixed):
        return None
    return PipelineCode(
        fixed=fixed,
        stages=table.units.shape[0],
        operators=own.operators,
        ports=own.ports,
        items=own.items,
        sections=own.sections,
        pieces=own.pieces,
        piece=piece_at,
        program=stages_at,
        message=message_at,
        members=members_at,
        messages=table.messages.shape[0],
        period=table.period,
        period_batches=table.period_batches,
        shift=own.shift,
        categories=own.categories,
        shared=own.shared,
    )
