"""The pieces of a program as the stage kernels read them, in whatever order they run."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.ends import is_shared
from simcore.engines.events.input import Ints
from simcore.kernels.many.programs import LATEST, OfPieces
from simcore.kernels.npu import layout as n
from simcore.kernels.npu.pointers import address_of
from simcore.kernels.stages import piece_rows
from simcore.kernels.stages import stage_layout as f
from simcore.kernels.stages.piece_resumed import write_resumed
from simcore.kernels.stages.piece_rows import lay_out
from simcore.terms import NodeKind
from simcore.workload.graph import Axis, PassPhase, ports_of
from simcore.workload.program.layout import StagePieces
from simcore.workload.program.write import TrainingProgram

Shorts = NDArray[np.int32]

PHASES = frozenset(map(str, PassPhase))
"""Names of the categories that are of computing."""

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
        head: Nodes with what belongs to them, and the sections that repeat; ``LATEST`` for NEVER.
        items, sections, pieces, categories, shared: As in ``PipelineCode``.
        operators, ports: How many there are; ports of outer memory.
        asks: Some piece asks for the end of its forward pass.
        are_known: The units can be looked up.
        shift: Bits of a position within a piece.
        small: All that kernels read of this but the nodes.
        parts: Where kernels find all that.
    """

    head: Shorts
    items: int
    sections: int
    pieces: Ints
    categories: tuple[str, ...]
    shared: tuple[SharedCollective, ...]
    operators: int
    ports: int
    asks: bool
    are_known: bool
    shift: int
    small: Ints
    parts: OfPieces

    @classmethod
    def of(cls, program: TrainingProgram) -> Self:
        """The pieces of *program*, the same for all with its structure but for the order."""
        shared, operators = _shared_collectives(program), len(program.operators)
        categories, items = _items(program, shared)
        interner = _PieceInterner(program)
        head, pieces, sections, resumed = interner.rows(items, operators)
        small = _small(program, interner, pieces, resumed, categories, shared)
        short, flat = _shortened(head), _side_by_side(small.values())
        begins = accumulate([array.size for array in small.values()], initial=0)
        return cls(
            head=short,
            items=items.shape[1],
            sections=sections,
            pieces=pieces,
            categories=categories,
            shared=shared,
            operators=operators,
            ports=len(ports_of(program.transfers)),
            asks=bool(interner.asks.any()),
            are_known=interner.may_be_remembered(head, pieces),
            shift=int(pieces[:, f.NODES].max() - 1).bit_length(),
            small=flat,
            parts=OfPieces(
                head=address_of(short),
                head_size=short.size,
                small=address_of(flat),
                small_size=flat.size,
                piece_count=len(pieces),
                width=interner.numbers.shape[1],
                resumed_count=len(resumed),
                joint=len(shared),
                categories=len(categories),
                operators=operators,
                **dict(zip(small, begins, strict=False)),
            ),
        )

    @property
    def size_bytes(self) -> int:
        """Memory taken by the arrays."""
        return self.head.nbytes + self.pieces.nbytes + self.small.nbytes


def _small(
    program: TrainingProgram,
    interner: "_PieceInterner",
    pieces: Ints,
    resumed: Ints,
    categories: tuple[str, ...],
    shared: tuple[SharedCollective, ...],
) -> dict[str, NDArray[Any]]:
    """Arrays that kernels read beside the nodes, by their names in ``OfPieces``."""
    stages = [one.stages for one in shared]
    return {
        "pieces": pieces,
        "numbers": interner.numbers,
        "asks": interner.asks,
        "finales": interner.finales,
        "shape_of": np.array(program.layout.of_stage, np.int64),
        "resumed": resumed,
        "members": np.cumsum([0, *map(len, stages)]),
        "member_stage": np.array([stage for own in stages for stage in own], np.int64),
        "item": np.array([one.item for one in shared], np.int64),
        "is_phase": np.array([name in PHASES for name in categories]),
    }


def _shortened(head: Ints) -> Shorts:
    """Numbers of half the length, ``LATEST`` in place of ``NEVER``."""
    return np.where(head == n.NEVER, LATEST, head).astype(np.int32)


def _side_by_side(arrays: Iterable[NDArray[Any]]) -> Ints:
    """All *arrays* in one."""
    flat: Ints = np.concatenate([array.ravel() for array in arrays]).astype(np.int64)
    return flat


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
        numbers: (H, W) int64, the whole piece of each piece of each shape of stages.
        asks: (H, W - 1) bool, it asks for the end of its forward pass.
        finales: (H,) int64, units from the first of the chunks' last backward units on.
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
        """Nodes with what belongs to them and sections; the pieces; places in sections; resumed.

        Of the last, (R, 2) int64, the numbers of the last R pieces: the whole piece that each is,
        but for the units before the one at which it begins, and that unit.
        """
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
