"""From a collective to its chunks, and from a chunk to its phases on the dimensions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from simcore.collectives import CollectiveAlgorithm, algorithm_name, algorithm_named
from simcore.collectives import runnable as running_algorithm
from simcore.collectives.record import program_row
from simcore.engines.collectives.placement import Placement
from simcore.kernels.collectives import cutting
from simcore.kernels.collectives.records import Program
from simcore.terms import CollectiveKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One chunk's work on one dimension.

    Attributes:
        dimension: Of the network; also the number of its queue.
        kind: What the members of the dimension do there.
        algorithm: How.
        members: How many of them.
        stride: Distance of neighbouring members in the dimension's coordinate; on the event engine,
            whose members are not those of one dimension alone, of their NPU ids.
        in_list: They are those of a list group (ASTRA-sim's kind "Local").
        leads: Stride and members of the dimensions at whose place 0 members of a rooted collective
            stand that take part; the others have nothing to send or to receive.
    """

    dimension: int
    kind: CollectiveKind
    algorithm: CollectiveAlgorithm
    members: int
    stride: int
    in_list: bool = False
    leads: tuple[tuple[int, int], ...] = ()


BARRIER_BYTES = 1
"""Bytes of a message of a barrier, whatever size it is given."""


def cut(kind: CollectiveKind, size_bytes: int, chunks: int, members: int) -> tuple[int, int]:
    """Number and size of the chunks of a collective, see ``cutting.cut``."""
    if kind is CollectiveKind.BARRIER:
        return 1, BARRIER_BYTES
    return cutting.cut(size_bytes, chunks, members, kind.gathers)


def runnable(name: str, kind: CollectiveKind, members: int) -> str:
    """The name of what runs where *name* is asked for, see ``collectives.runnable``."""
    algorithm = algorithm_named(name)
    found = running_algorithm(algorithm, kind, members)
    return name if found is algorithm else algorithm_name(found)


def passes_of_chunk(
    kind: CollectiveKind, involved: Sequence[int], local_bw_aware: bool
) -> list[tuple[int, CollectiveKind]]:
    """The dimensions in the order in which a chunk passes them, and what is done there.

    All-gathers, broadcasts and scatters run the *involved* dimensions outside in, the others inside
    out; a bandwidth-aware all-reduce reduce-scatters up to the last dimension, all-reduces there
    and gathers back.
    """
    if kind in OUTSIDE_IN:
        return [(d, kind) for d in reversed(involved)]
    if kind is CollectiveKind.ALL_REDUCE and local_bw_aware:
        inner = [(d, CollectiveKind.REDUCE_SCATTER) for d in involved[:-1]]
        outer = [(d, CollectiveKind.ALL_GATHER) for d in reversed(involved[:-1])]
        return [*inner, *((d, kind) for d in involved[-1:]), *outer]
    return [(d, kind) for d in involved]


OUTSIDE_IN = (CollectiveKind.ALL_GATHER, CollectiveKind.BROADCAST, CollectiveKind.SCATTER)
"""Kinds whose data comes from the outermost dimension."""


def leading(
    kind: CollectiveKind, order: Sequence[int], dimension: int, lines: Mapping[int, tuple[int, int]]
) -> tuple[tuple[int, int], ...]:
    """``Phase.leads`` of a phase of *kind* in *dimension*.

    Args:
        kind: Of the collective.
        order: Dimensions, as a reduce passes them.
        dimension: One of them.
        lines: Stride and members of each of them.
    """
    if not kind.rooted:
        return ()
    return tuple(lines[d] for d in order[: order.index(dimension)])


@lru_cache(maxsize=4096)
def phases_of_chunk(
    kind: CollectiveKind,
    placement: Placement,
    algorithms: tuple[str, ...],
    local_bw_aware: bool,
    passed: tuple[int, ...] | None = None,
) -> tuple[Phase, ...]:
    """The phases of one chunk, each starting with the size that the one before left.

    *passed* is the order of the involved dimensions, if it is not the ascending one.
    """
    order = passed or placement.involved
    lines = {d: (placement.stride[d], placement.extent[d]) for d in order}
    return tuple(
        Phase(
            dimension=d,
            kind=what,
            algorithm=running_algorithm(algorithm_named(algorithms[d]), what, placement.extent[d]),
            members=placement.extent[d],
            stride=placement.stride[d],
            leads=leading(kind, order, d, lines),
        )
        for d, what in passes_of_chunk(kind, order, local_bw_aware)
    )


@lru_cache(maxsize=4096)
def stand_ins(
    kind: CollectiveKind, placement: Placement, names: tuple[str, ...]
) -> tuple[str, ...]:
    """Algorithms that stand in for those of the dimensions, *names*, that cannot run."""
    notes = []
    for dimension, (name, members) in enumerate(zip(names, placement.extent, strict=True)):
        stand_in = runnable(name, kind, members) if members > 1 else name
        if stand_in != name:
            notes.append(
                f"{stand_in} stood in for {name} in {kind.name.lower()} among "
                f"{members} NPUs of dimension {dimension}"
            )
    return tuple(notes)


def placed_row(phase: Phase) -> Program:
    """Row and step table of a phase; whether its members see the same distances is left open."""
    row, table = program_row(phase.algorithm, phase.kind, phase.members, in_list=phase.in_list)
    lines = prod(members for _, members in phase.leads)
    return row._replace(stride=phase.stride, dimension=phase.dimension, lines=lines), table
