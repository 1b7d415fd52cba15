"""Puts programs together into one table; nodes that several share are held once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.system.programs import (
    COLUMNS,
    Bodies,
    Ints,
    Names,
    Program,
    Programs,
    Transfers,
    fixed_nodes,
    node_codes,
    starts,
)

Ids = NDArray[np.uint64]

_BODY_COLUMNS = ("node_id", "kind", "code", "duration_ns")


@dataclass(slots=True)
class ProgramCollector:
    """Takes programs batch by batch, and holds each body once."""

    _names: list[Names] = field(default_factory=list)
    _bodies: list[Bodies] = field(default_factory=list)
    _transfers: list[Transfers] = field(default_factory=list)
    _body_of: list[int] = field(default_factory=list)
    _known: dict[int, list[tuple[int, Bodies, int]]] = field(default_factory=dict)
    _count: int = 0

    def __len__(self) -> int:
        return len(self._body_of)

    def add(self, bodies: Bodies, transfers: Transfers, names: Sequence[Names]) -> None:
        """Add a program for each of *bodies*, which communicates what *transfers* say."""
        kept = []
        for index, mark in enumerate(bodies.marks().tolist()):
            number = self._known_as(mark, bodies, index)
            if number < 0:
                number, self._count = self._count, self._count + 1
                kept.append(index)
                self._known.setdefault(mark, []).append((number, bodies, index))
            self._body_of.append(number)
        if len(kept) == bodies.first.size - 1:
            self._bodies.append(bodies)
        elif kept:
            self._bodies.append(bodies.take(np.array(kept, np.int64)))
        self._transfers.append(transfers)
        self._names.extend(names)

    def _known_as(self, mark: int, bodies: Bodies, index: int) -> int:
        for number, others, place in self._known.get(mark, ()):
            if _equal(bodies, index, others, place):
                return number
        return -1

    def collected(self) -> Programs:
        """All programs; the collector is of no further use."""
        self._known.clear()
        first = starts(np.concatenate([np.diff(part.first) for part in self._bodies]))
        columns = {
            name: _joined([getattr(p, name) for p in self._bodies]) for name in _BODY_COLUMNS
        }
        counts = _joined([np.diff(part.dep_start).astype(np.int32) for part in self._bodies])
        dep = _joined([part.dep for part in self._bodies])
        self._bodies.clear()
        bodies = Bodies(first=first, dep_start=starts(counts), dep=dep, **columns)
        rows = {name: _joined([getattr(p, name) for p in self._transfers]) for name in COLUMNS}
        counts = np.concatenate([np.diff(part.first) for part in self._transfers])
        return Programs(
            bodies=bodies,
            body_of=np.array(self._body_of, np.int64),
            transfers=Transfers(first=starts(counts), **rows),
            names=self._names,
        )


def _joined(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _equal(some: Bodies, index: int, others: Bodies, place: int) -> bool:
    """Whether body *index* of some equals body *place* of others."""
    one = slice(*some.first[index : index + 2].tolist())
    two = slice(*others.first[place : place + 2].tolist())
    if one.stop - one.start != two.stop - two.start:
        return False
    for name in _BODY_COLUMNS:
        if not np.array_equal(getattr(some, name)[one], getattr(others, name)[two]):
            return False
    edges, rest = (
        some.dep_start[one.start : one.stop + 1],
        others.dep_start[two.start : two.stop + 1],
    )
    if not np.array_equal(edges - edges[0], rest - rest[0]):
        return False
    return np.array_equal(some.dep[edges[0] : edges[-1]], others.dep[rest[0] : rest[-1]])


def joined(programs: Sequence[Program]) -> Programs:
    """The table of *programs*."""
    if isinstance(programs, Programs):
        return programs
    collector = ProgramCollector()
    for program in programs:
        collector.add(*_table_of(program), [partial(_given, program.name)])
    return collector.collected()


def _given(names: Sequence[str], _: Ids) -> Sequence[str]:
    return names


def _table_of(program: Program) -> tuple[Bodies, Transfers]:
    kind = np.asarray(program.kind, np.int8)
    fixed = fixed_nodes(kind, program.comm_kind, program.peer)
    bodies = Bodies(
        first=np.array([0, kind.size]),
        node_id=np.asarray(program.node_id, np.uint64),
        kind=kind,
        code=node_codes(kind, on_cpu=program.on_cpu, skipped=program.skipped, fixed=fixed),
        duration_ns=_whole(program.duration_ns),
        dep_start=_whole(program.dep_start),
        dep=np.ascontiguousarray(program.dep, np.int32),
    )
    at = np.flatnonzero(bodies.communicates)
    columns = {name: _whole(getattr(program, name)[at]) for name in COLUMNS[3:]}
    transfers = Transfers(
        first=np.array([0, at.size]),
        at=at.astype(np.int32),
        kind=kind[at],
        comm_kind=np.asarray(program.comm_kind[at], np.int8),
        **columns,
    )
    return bodies, transfers


def _whole(values: NDArray[Any]) -> Ints:
    return np.ascontiguousarray(values, np.int64)
