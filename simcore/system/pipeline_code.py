"""A program as the stage kernels read it, all but what the machine decides.

Depends on workload and plan alone, so it is worked out once for all machines.
"""

from dataclasses import dataclass

import numpy as np

from simcore.kernels import graph_schedule, piece_rows
from simcore.kernels import stage_layout as f
from simcore.system.engine_input import Ints
from simcore.system.stage_axes import is_shared
from simcore.system.unit_table import messages_of, repetition_of, unit_table
from simcore.terms import NodeKind
from simcore.workload.graph import Axis
from simcore.workload.program import StagePieces, TrainingProgram
from simcore.workload.schedules import SCHEDULES

_KERNEL_KIND = np.zeros(max(NodeKind) + 1, np.int64)
_KERNEL_KIND[NodeKind.COMPUTE] = graph_schedule.COMPUTE
_KERNEL_KIND[NodeKind.COLLECTIVE] = graph_schedule.COMMUNICATION
_KERNEL_KIND[NodeKind.SEND] = graph_schedule.SEND
_KERNEL_KIND[NodeKind.RECV] = graph_schedule.RECV


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SharedCollective:
    """A collective whose members are at several stages: its item and the stages."""

    item: int
    stages: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PipelineCode:
    """The kernels' ``fixed`` array, with R rows of nodes and P pieces.

    Its times are those of the machine that it was run on last: each run writes its own.

    Attributes:
        fixed: From the nodes to the programs, see ``stage_layout``.
        stages, operators: How many there are.
        time_of: (R,) int64, where each node finds its time: operators, collectives, then 0.
        pieces: (P, PIECE_FIELDS) int64 without the times of messages.
        piece: Address of the pieces; there is room for them once per stage, as each may have other
            times of messages.
        program, message, members, messages: Addresses, and how many messages there are.
        period: Units per period of the schedule, 0: none.
        period_batches: Micro-batches in it.
        shift: Bits of a position within a piece.
        categories: Names of what time is booked under: phases of compute, axes of communication.
        shared: Collectives between stages, by number.
    """

    fixed: Ints
    stages: int
    operators: int
    time_of: Ints
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

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.fixed.nbytes + self.time_of.nbytes + self.pieces.nbytes


def code_program(program: TrainingProgram) -> PipelineCode | None:
    """*program* for the kernels; None where its units are not such that they can be looked up."""
    shared = _shared_collectives(program)
    categories, items = _items(program, shared)
    wholes = _Wholes(program)
    head, time_of, pieces = wholes.rows(items, len(program.operators))
    units = unit_table(program)
    if units is None or not wholes.may_be_remembered(head, pieces):
        return None
    wholes.number(units)
    stages = len(program.stages)
    messages = messages_of(program, units)
    members = np.array([len(collective.stages) for collective in shared], np.int64)
    room = np.zeros(stages * pieces.size, np.int64)
    parts = [head, units.ravel(), messages.ravel(), members, room]
    _, unit_at, message_at, members_at, piece_at, stages_at = np.cumsum(
        [0, *(part.size for part in parts)]
    ).tolist()
    programs = np.zeros((stages, f.PROGRAM_FIELDS), np.int64)
    programs[:, f.UNITS] = unit_at + np.arange(stages) * units[0].size
    programs[:, f.FINALE_UNIT] = [
        stage.units.chunk.size - len(stage.pieces.finale) for stage in program.stages
    ]
    batches = SCHEDULES[program.plan.schedule]().period(program.plan.pp, program.plan.interleave)
    period = 2 * (batches or 0) * program.plan.interleave
    repetition = repetition_of(program, period)
    if repetition is not None:
        programs[:, f.REPEATS_FROM :] = repetition
    return PipelineCode(
        fixed=np.concatenate([*parts, programs.ravel()]),
        stages=stages,
        operators=len(program.operators),
        time_of=time_of,
        pieces=pieces,
        piece=piece_at,
        program=stages_at,
        message=message_at,
        members=members_at,
        messages=messages.shape[0],
        period=0 if repetition is None else period,
        period_batches=batches or 0,
        shift=int(pieces[:, f.NODES].max() - 1).bit_length(),
        categories=categories,
        shared=shared,
    )


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
    """Names of the categories; category and shared number of operators, collectives, messages."""
    phases = [str(operator.phase) for operator in program.operators]
    axes = [*(str(operation.axis) for operation in program.collectives), "pp"]
    categories = (*dict.fromkeys(phases), *dict.fromkeys(axes))
    number = {name: index for index, name in enumerate(categories)}
    items = np.full((2, len(phases) + len(axes)), -1, np.int64)
    items[0] = [number[name] for name in [*phases, *axes]]
    for index, collective in enumerate(shared):
        items[1, len(phases) + collective.item] = index
    return categories, items


class _Wholes:
    """The pieces of all stages, each once: units of many stages and chunks are the same."""

    def __init__(self, program: TrainingProgram) -> None:
        self._table = program.table
        self._whole: dict[tuple[tuple[int, int], ...], int] = {}
        shapes: dict[StagePieces, int] = {}
        numbers: list[list[int]] = []
        for stage in program.stages:
            if stage.pieces not in shapes:
                shapes[stage.pieces] = len(shapes)
                numbers.append(self._shape(stage.pieces))
        self._numbers = np.array(numbers, np.int64)
        self._shape_of = np.array([shapes[stage.pieces] for stage in program.stages], np.int64)

    def _shape(self, shape: StagePieces) -> list[int]:
        """Numbers of a stage's pieces; the last one is the end of its iteration."""
        number = self._table.number
        entries = [
            (number[piece], int(which > shape.chunks)) for which, piece in enumerate(shape.pieces)
        ]
        wholes: list[tuple[tuple[int, int], ...]] = [(entry,) for entry in entries[:-1]]
        wholes.append((*[entries[which] for which in shape.finale], entries[-1]))
        return [self._whole.setdefault(whole, len(self._whole)) for whole in wholes]

    def number(self, units: Ints) -> None:
        """Replace the stages' own numbers of pieces in the table of *units*."""
        units[:, :, f.WHICH] = self._numbers[self._shape_of[:, None], units[:, :, f.WHICH]]

    def rows(self, items: Ints, operators: int) -> tuple[Ints, Ints, Ints]:
        """Nodes, children and receives of all pieces; see ``write_rows``."""
        pieces, parts = self._table.pieces, self._table.nodes()
        parts.node[0] = _KERNEL_KIND.take(parts.node[0])
        part = np.empty((len(pieces), 5), np.int64)
        part[:, piece_rows.PART_NODE] = np.cumsum(parts.nodes) - parts.nodes
        part[:, piece_rows.PART_NODES] = parts.nodes
        part[:, piece_rows.PART_DEP] = np.cumsum(parts.deps) - parts.deps
        part[:, piece_rows.PART_LAST] = [piece.last_compute for piece in pieces]
        part[:, piece_rows.PART_EXIT] = [piece.exits[-1] for piece in pieces]
        return piece_rows.write_rows(
            parts.node,
            parts.dep,
            part,
            np.array([entry for whole in self._whole for entry in whole], np.int64),
            np.cumsum([0, *[len(whole) for whole in self._whole]]),
            items,
            operators,
        )

    def may_be_remembered(self, head: Ints, pieces: Ints) -> bool:
        """Whether the units can be looked up."""
        firsts, units = (
            set(self._numbers[:, 0].tolist()),
            set(self._numbers[:, :-1].ravel().tolist()),
        )
        return all(
            piece_rows.may_be_remembered(head, pieces[which], which in firsts) for which in units
        )
