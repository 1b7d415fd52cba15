"""A program as the stage kernels read it, all but what the machine decides.

Depends on workload and plan alone, so it is worked out once for all machines.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.ends import is_shared
from simcore.engines.events.input import Ints
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import piece_rows
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.piece_rows import lay_out
from simcore.memo import Memo
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, ports_of
from simcore.workload.program.units.templates import pieces_of
from simcore.workload.program.write import StagePieces, TrainingProgram
from simcore.workload.schedules import SCHEDULES, stacked

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
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
        arrays = (self.units, self.backward, self.passed, self.messages)
        return sum([array.nbytes for array in arrays])

    def forward_age(self) -> Ints:
        """(S, U) int64: how many units ago the same pass went forward."""
        stages, units = self.passed.shape
        stage, unit = np.nonzero(~self.backward)
        forward = np.empty((stages, units // 2), np.int64)
        forward[stage, self.passed[stage, unit]] = unit
        since: Ints = np.arange(units) - forward[np.arange(stages)[:, None], self.passed]
        return since


def unit_table(program: TrainingProgram, memo: Memo) -> UnitTable:
    """The table of *program*."""
    return memo.of("tables of units", program.pipeline, lambda: _table(program))


def _table(program: TrainingProgram) -> UnitTable:
    plan, stages = program.plan, program.stages
    batches = program.stages[0].units.batches
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
    messages[units[stage, unit, f.SENDS], f.FROM_STAGE] = stage
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


_KERNEL_KIND = np.zeros(max(NodeKind) + 1, np.int64)
_KERNEL_KIND[NodeKind.COMPUTE] = n.COMPUTE
_KERNEL_KIND[NodeKind.COLLECTIVE] = n.COMMUNICATION
_KERNEL_KIND[NodeKind.SEND] = n.SEND
_KERNEL_KIND[NodeKind.RECV] = n.RECV
_KERNEL_KIND[[NodeKind.MEM_LOAD, NodeKind.MEM_STORE]] = n.TRANSFER


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedCollective:
    """A collective whose members are at several stages: its item and the stages."""

    item: int
    stages: tuple[int, ...]


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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyedProgram:
    """A program and its structure: all that its code depends on.

    Two programs with the same structure differ in what operators and collectives amount to alone.
    """

    program: TrainingProgram
    structure: Hashable

    @classmethod
    def of(cls, program: TrainingProgram) -> Self:
        """*program* and its structure."""
        table, number = program.table, {stage.pieces: 0 for stage in program.stages}
        number.update({shape: at for at, shape in enumerate(number)})
        structure = (
            program.pipeline,
            table.structure,
            tuple([number[stage.pieces] for stage in program.stages]),
            tuple([(table.numbers(shape.pieces), shape.chunks, shape.finale) for shape in number]),
            tuple([operator.phase for operator in program.operators]),
            tuple([operation.axis for operation in program.collectives]),
            tuple([transfer.port for transfer in program.transfers]),
        )
        return cls(program=program, structure=structure)

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays, and by what the structure tells of them."""
        return 2 * self.program.table.size_bytes


def pipeline_code(known: KeyedProgram, memo: Memo) -> PipelineCode | None:
    """The code of a program, one for all with the same structure.

    None where its units are not such that they can be looked up.
    """
    return memo.of("codes", known.structure, lambda: _code(known.program, memo))


def _code(program: TrainingProgram, memo: Memo) -> PipelineCode | None:
    schedule = SCHEDULES[program.plan.schedule]
    if schedule.overlaps or not schedule.trains:  # these run node by node
        return None
    table = unit_table(program, memo)
    shared = _shared_collectives(program)
    categories, items = _items(program, shared)
    interner = PieceInterner(program)
    head, pieces, sections = interner.rows(items, len(program.operators))
    if not interner.may_be_remembered(head, pieces):
        return None
    stages, members = len(program.stages), [len(collective.stages) for collective in shared]
    sizes = [head.size, table.units.size, table.messages.size, len(members), stages * pieces.size]
    unit_at, message_at, members_at, piece_at, stages_at = np.cumsum(sizes).tolist()
    fixed = np.zeros(stages_at + stages * f.PROGRAM_FIELDS, np.int64)
    fixed[:unit_at] = head
    if not interner.write_units(table, fixed[unit_at:message_at].reshape(table.units.shape)):
        return None
    fixed[message_at:members_at] = table.messages.ravel()
    fixed[members_at:piece_at] = members
    _write_programs(fixed[stages_at:], table, unit_at, interner.finale_unit(table))
    return PipelineCode(
        fixed=fixed,
        stages=stages,
        operators=len(program.operators),
        ports=len(ports_of(program.transfers)),
        items=items.shape[1],
        sections=sections,
        pieces=pieces,
        piece=piece_at,
        program=stages_at,
        message=message_at,
        members=members_at,
        messages=table.messages.shape[0],
        period=table.period,
        period_batches=table.period_batches,
        shift=int(pieces[:, f.NODES].max() - 1).bit_length(),
        categories=categories,
        shared=shared,
    )


def _write_programs(fixed: Ints, table: UnitTable, unit_at: int, finale_unit: Ints) -> None:
    """Write the programs but for PIECES: these lie where each run puts them."""
    programs = fixed.reshape(-1, f.PROGRAM_FIELDS)
    programs[:, f.UNITS] = unit_at + np.arange(len(programs)) * table.units[0].size
    programs[:, f.FINALE_UNIT] = finale_unit
    programs[:, f.REPEATS_FROM :] = table.repeats


def _shared_collectives(program: TrainingProgram) -> tuple[SharedCollective, ...]:
    last = program.plan.pp - 1
    return tuple(
        SharedCollective(
            item=item,
            stages=(0, last) if operation.axis is Axis.EMBEDDING else tuple(range(last + 1)),
        )
        for item, operation in enumerate(program.collectives)
        if is_shared(program.plan, operation.axis)
    )


def _items(
    program: TrainingProgram, shared: tuple[SharedCollective, ...]
) -> tuple[tuple[str, ...], Ints]:
    """Names of the categories; category and shared number of all items, then of messages."""
    phases = [str(operator.phase) for operator in program.operators]
    axes = [str(operation.axis) for operation in program.collectives]
    tiers = [transfer.category for transfer in program.transfers]
    categories = (*dict.fromkeys(phases), *dict.fromkeys([*axes, "pp"]), *dict.fromkeys(tiers))
    number = {name: index for index, name in enumerate(categories)}
    names = [*phases, *axes, *tiers, "pp"]
    items = np.full((2, len(names)), -1, np.int64)
    items[0] = [number[name] for name in names]
    for index, collective in enumerate(shared):
        items[1, len(phases) + collective.item] = index
    return categories, items


class PieceInterner:
    """The pieces of all stages, each once: units of many stages and chunks are the same."""

    def __init__(self, program: TrainingProgram) -> None:
        self._table = program.table
        self._whole: dict[tuple[tuple[int, int], ...], int] = {}
        shapes = {stage.pieces: 0 for stage in program.stages}
        shapes.update({shape: number for number, shape in enumerate(shapes)})
        self._numbers = np.array([self._shape(shape) for shape in shapes], np.int64)
        self._asks = np.array([[p.asks_loss for p in shape.pieces[:-1]] for shape in shapes])
        self._finales = np.array([len(shape.finale) for shape in shapes], np.int64)
        self._shape_of = np.array([shapes[stage.pieces] for stage in program.stages], np.int64)

    def _shape(self, shape: StagePieces) -> list[int]:
        """Numbers of a stage's pieces; the last one is the end of its iteration."""
        numbers = enumerate(self._table.numbers(shape.pieces))
        entries = [(number, int(which > shape.chunks)) for which, number in numbers]
        wholes: list[tuple[tuple[int, int], ...]] = [(entry,) for entry in entries[:-1]]
        wholes.append((*[entries[which] for which in shape.finale], entries[-1]))
        return [self._whole.setdefault(whole, len(self._whole)) for whole in wholes]

    def finale_unit(self, table: UnitTable) -> Ints:
        """(S,) int64: the first unit of each stage's finale."""
        first: Ints = table.units.shape[1] - self._finales[self._shape_of]
        return first

    def write_units(self, table: UnitTable, out: Ints) -> bool:
        """Write the units with the pieces that they run to *out*, (S, U, UNIT_FIELDS).

        Returns:
            Whether they can be: no unit of the finale but the first asks for the end of its
            forward pass.
        """
        out[:] = table.units
        shape, finale = self._shape_of[:, None], self.finale_unit(table)
        which = table.units[:, :, f.WHICH]
        out[:, :, f.WHICH] = self._numbers[shape, which]
        if self._asks.any():
            asks = self._asks[shape, which]
            if (asks & (np.arange(which.shape[1]) > finale[:, None])).any():
                return False
            out[:, :, f.FORWARD_AGE] = np.where(asks, table.forward_age(), 0)
        out[np.arange(finale.size), finale, f.WHICH] = self._numbers[self._shape_of, -1]
        return True

    def rows(self, items: Ints, operators: int) -> tuple[Ints, Ints, int]:
        """Nodes with what belongs to them and sections; the pieces; places in sections."""
        table = self._table
        node = table.node.copy()
        node[0] = _KERNEL_KIND.take(node[0])
        if table.transfers:
            ports, moves = ports_of(table.transfers), node[0] == n.TRANSFER
            port = np.array([ports[transfer.port] for transfer in table.transfers], np.int64)
            node[0, moves] += port[node[1, moves]]
            node[1, moves] += len(table.collectives)
        part = np.empty((len(table.pieces), 5), np.int64)
        part[:, piece_rows.PART_LAST] = [piece.last_compute for piece in table.pieces]
        part[:, piece_rows.PART_EXIT] = [piece.exits[-1] for piece in table.pieces]
        laid_out = lay_out(
            table.runs, table.section_nodes, table.section_deps, node, table.dep, part
        )
        fixed, pieces, sections = piece_rows.write_rows(
            *laid_out,
            part,
            np.array([entry for whole in self._whole for entry in whole], np.int64),
            np.cumsum([0, *[len(whole) for whole in self._whole]]),
            items,
            operators,
        )
        return np.concatenate([fixed, sections]), pieces, sections.size

    def may_be_remembered(self, head: Ints, pieces: Ints) -> bool:
        """True if the units can be looked up."""
        firsts = set(self._numbers[:, 0].tolist())
        units = set(self._numbers[:, :-1].ravel().tolist())
        return all(
            piece_rows.may_be_remembered(head, pieces[which], which in firsts) for which in units
        )
