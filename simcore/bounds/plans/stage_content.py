"""Content of stages: the units that their sums are read from, and the end of the iteration."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from simcore.terms import NodeKind
from simcore.workload.graph import StageGraph
from simcore.workload.schedules import Units

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitsRead:
    """Numbers of the units of a stage that stand for all of their kind.

    Attributes:
        forward: Of each chunk, the first forward unit that is like most others.
        backward: Likewise.
        last: The last unit of all.
    """

    forward: tuple[int, ...]
    backward: tuple[int, ...]
    last: int

    @classmethod
    def of(cls, units: Units, chunks: int, *, has_own_first: bool) -> Self:
        """Numbers for *units*; *has_own_first*: the very first unit is like no other."""

        def first(backward: bool, chunk: int) -> int:
            like = np.flatnonzero((units.backward == backward) & (units.chunk == chunk))
            is_own = has_own_first and like[0] == 0 and like.size > 1
            return int(like[1 if is_own else 0])

        return cls(
            forward=tuple([first(False, chunk) for chunk in range(chunks)]),
            backward=tuple([first(True, chunk) for chunk in range(chunks)]),
            last=units.backward.size - 1,
        )


def content_key(stage: StageGraph, units: Units, read: UnitsRead) -> bytes:
    """Key of stages of one program whose sums are equal.

    Each stage of a pipeline has the same units in another order, which is of no account: of what is
    before a unit, it matters only which of its nodes wait for the same, and which of that is later.
    """
    begins, middles, ends = np.array(_ranges(stage, units, read), np.int64).T
    owner, nodes = _joined(begins, ends)
    of_dep, deps = _joined(stage.dep_start[begins], stage.dep_start[ends])
    ahead = stage.dep[deps] - begins[of_dep]
    (before,) = np.nonzero(ahead < 0)
    if before.size:  # in place of how far before: which one of these it is
        span = stage.nodes + 1
        _, rank = np.unique(of_dep[before] * span + ahead[before], return_inverse=True)
        ahead[before] = rank - (before.size + span)
    layer = stage.layer[nodes]
    parts = (
        middles - begins,
        owner,
        stage.kind[nodes],
        stage.item[nodes],
        np.where(layer < 0, -1, layer - stage.layers[0]),
        np.diff(stage.dep_start)[nodes],
        ahead,
    )
    return b"".join([part.tobytes() for part in parts])


def _ranges(stage: StageGraph, units: Units, read: UnitsRead) -> list[tuple[int, int, int]]:
    """Begin of each unit, its end, and the end of what is read with it.

    The last one is read with the end of the iteration, and a forward pass that sends nothing with
    the unit behind it, which tells what of the pass is waited for.
    """
    starts = [*stage.unit_start.tolist(), stage.nodes]
    found = []
    for unit in (*read.forward, *read.backward, read.last):
        begin, end = starts[unit : unit + 2]
        sends = bool((stage.kind[begin:end] == NodeKind.SEND).any())
        is_open = unit == read.last or not (units.backward[unit] or sends)
        found.append((begin, end, starts[unit + 2] if is_open else end))
    return found


def _joined(begins: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Places in several ranges, one after the other; gives the range of each first."""
    sizes = ends - begins
    owner = np.repeat(np.arange(sizes.size), sizes)
    return owner, np.arange(owner.size) + np.repeat(begins - (np.cumsum(sizes) - sizes), sizes)
