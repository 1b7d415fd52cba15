"""The pieces of a program as the stage kernels read them, in whatever order they run."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.ends import is_shared
from simcore.engines.events.input import Ints
from simcore.kernels.npu import layout as n
from simcore.kernels.stages import piece_rows
from simcore.kernels.stages.piece_resumed import write_resumed
from simcore.kernels.stages.piece_rows import lay_out
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, ports_of
from simcore.workload.program.layout import StagePieces
from simcore.workload.program.write import TrainingProgram

Bools = NDArray[np.bool_]

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
class PieceCode:
    """Nodes and P pieces, and which of these each stage runs.

    Attributes:
        head: Nodes with what belongs to them, and the sections that repeat.
        items, sections, pieces, categories, shared: As in ``PipelineCode``.
        operators, ports: How many there are; ports of outer memory.
        numbers: (H, W) int64, the whole piece of each piece of each shape of stages.
        resumed: (R, 2) int64, numbers of the last R pieces: the whole piece that each is, but for
            the units before the one at which it begins, and that unit.
        asks: (H, W - 1) bool, it asks for the end of its forward pass.
        finales: (H,) int64, units from the first of the chunks' last backward units on.
        shape_of: (S,) int64, shape of each stage.
        are_known: The units can be looked up.
    """

    head: Ints
    items: int
    sections: int
    pieces: Ints
    categories: tuple[str, ...]
    shared: tuple[SharedCollective, ...]
    operators: int
    ports: int
    numbers: Ints
    resumed: Ints
    asks: Bools
    finales: Ints
    shape_of: Ints
    are_known: bool

    @classmethod
    def of(cls, program: TrainingProgram) -> Self:
        """The pieces of *program*, the same for all with its structure but for the order."""
        shared = _shared_collectives(program)
        categories, items = _items(program, shared)
        interner = _PieceInterner(program)
        head, pieces, sections, resumed = interner.rows(items, len(program.operators))
        return cls(
            head=head,
            items=items.shape[1],
            sections=sections,
            pieces=pieces,
            categories=categories,
            shared=shared,
            operators=len(program.operators),
            ports=len(ports_of(program.transfers)),
            numbers=interner.numbers,
            resumed=resumed,
            asks=interner.asks,
            finales=interner.finales,
            shape_of=np.array(program.layout.of_stage, np.int64),
            are_known=interner.may_be_remembered(head, pieces),
        )

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.head.nbytes + self.pieces.nbytes

    def finale_unit(self, units: int) -> Ints:
        """(S,) int64: the first of the *units* of each stage that is of its finale."""
        first: Ints = units - self.finales[self.shape_of]
        return first


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


class _PieceInterner:
    """The pieces of all stages, each once: units of many stages and chunks are the same.

    Attributes:
        numbers, asks, finales: As in ``PieceCode``.
    """

    def __init__(self, program: TrainingProgram) -> None:
        self._table = program.table
        self._whole: dict[tuple[tuple[int, int], ...], int] = {}
        shapes = [shape.pieces for shape in program.layout.shapes]
        self.numbers = np.array([self._shape(shape) for shape in shapes], np.int64)
        self.asks = np.array([[p.asks_loss for p in shape.pieces[:-1]] for shape in shapes])
        self.finales = np.array([len(shape.finale) for shape in shapes], np.int64)

    def _shape(self, shape: StagePieces) -> list[int]:
        """Numbers of a stage's pieces; the last one is the end of its iteration."""
        numbers = enumerate(self._table.numbers(shape.pieces))
        entries = [(number, int(which > shape.chunks)) for which, number in numbers]
        wholes: list[tuple[tuple[int, int], ...]] = [(entry,) for entry in entries[:-1]]
        wholes.append((*[entries[which] for which in shape.finale], entries[-1]))
        return [self._whole.setdefault(whole, len(self._whole)) for whole in wholes]

    def rows(self, items: Ints, operators: int) -> tuple[Ints, Ints, int, Ints]:
        """Nodes with what belongs to them and sections; the pieces; places in sections; resumed."""
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
        sequence = np.array([entry for whole in self._whole for entry in whole], np.int64)
        begins = np.cumsum([0, *[len(whole) for whole in self._whole]])
        fixed, pieces, sections = piece_rows.write_rows(
            *laid_out, part, sequence, begins, items, operators
        )
        parts = part[sequence[:, piece_rows.ENTRY_PART]]
        nodes = parts[:, piece_rows.PART_NODES]
        starts = np.cumsum(nodes) - nodes
        starts -= np.repeat(starts[begins[:-1]], np.diff(begins))
        more, others, resumed = write_resumed(
            fixed, pieces, begins, starts, parts[:, piece_rows.PART_LAST].copy()
        )
        head = np.concatenate([fixed, more, sections])
        return head, np.concatenate([pieces, others]), sections.size, resumed

    def may_be_remembered(self, head: Ints, pieces: Ints) -> bool:
        """True if the units can be looked up."""
        firsts = set(self.numbers[:, 0].tolist())
        units = set(self.numbers[:, :-1].ravel().tolist())
        return all(
            piece_rows.may_be_remembered(head, pieces[which], which in firsts) for which in units
        )
