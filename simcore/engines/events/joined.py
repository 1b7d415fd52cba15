"""Puts programs together into one table; nodes that several share are held once."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.engines.events.programs import (
    COLUMNS,
    Bodies,
    Ints,
    Names,
    Program,
    Programs,
    Transfers,
    fixed_nodes,
    node_codes,
    ported_nodes,
)

Ids = NDArray[np.uint64]

_BODY_COLUMNS: dict[str, type] = {
    "node_id": np.uint64,
    "kind": np.int8,
    "code": np.uint8,
    "duration_ns": np.int64,
    "dep_start": np.int64,
    "dep": np.int32,
}
_TRANSFER_COLUMNS: dict[str, type] = dict.fromkeys(COLUMNS, np.int64) | {
    "at": np.int32,
    "kind": np.int8,
    "comm_kind": np.int8,
}
_MOST_SPARE = 1 << 18  # entries, by which long columns grow


class ProgramCollector:
    """Takes programs batch by batch, and holds each body once, in columns that grow in place."""

    def __init__(self) -> None:
        self._names: list[Names] = []
        self._body_of: list[int] = []
        self._known: dict[int, list[int]] = {}  # bodies by their marks
        self._first, self._rows_first = [0], [0]
        self._bodies = {name: _Column(dtype) for name, dtype in _BODY_COLUMNS.items()}
        self._bodies["dep_start"].append(np.zeros(1, np.int64))
        self._transfers = {name: _Column(dtype) for name, dtype in _TRANSFER_COLUMNS.items()}

    def add(self, bodies: Bodies, transfers: Transfers, names: Sequence[Names]) -> None:
        """Add a program for each of *bodies*, which communicates what *transfers* say."""
        kept: list[int] = []
        before = len(self._first) - 1
        alike: dict[int, list[int]] = {}  # new ones by their marks: their places in the batch
        for index, mark in enumerate(bodies.marks().tolist()):
            number = self._known_as(mark, bodies, index)
            for place in alike.get(mark, ()) if number < 0 else ():
                if _equal(_parts(bodies, index), _parts(bodies, kept[place])):
                    number = before + place
            if number < 0:
                number = before + len(kept)
                alike.setdefault(mark, []).append(len(kept))
                kept.append(index)
            self._body_of.append(number)
        for mark, places in alike.items():
            self._known.setdefault(mark, []).extend(before + place for place in places)
        if kept:
            whole = len(kept) == bodies.first.size - 1
            self._append(bodies if whole else bodies.take(np.array(kept, np.int64)))
        for name, column in self._transfers.items():
            column.append(getattr(transfers, name))
        self._rows_first += (self._rows_first[-1] + transfers.first[1:]).tolist()
        self._names.extend(names)

    def _append(self, bodies: Bodies) -> None:
        edges = self._bodies["dep"].size
        for name in ("node_id", "kind", "code", "duration_ns", "dep"):
            self._bodies[name].append(getattr(bodies, name))
        self._bodies["dep_start"].append(bodies.dep_start[1:] + edges)
        self._first += (self._first[-1] + bodies.first[1:]).tolist()

    def _known_as(self, mark: int, bodies: Bodies, index: int) -> int:
        """The body that equals body *index* of *bodies*, or -1."""
        if mark in self._known:
            held, mine = self._held(), _parts(bodies, index)
            for number in self._known[mark]:
                if _equal(mine, _parts(held, number)):
                    return number
        return -1

    def _held(self) -> Bodies:
        columns = {name: column.values for name, column in self._bodies.items()}
        return Bodies(first=np.array(self._first, np.int64), **columns)

    def collected(self) -> Programs:
        """All programs; the collector is of no further use."""
        for column in (*self._bodies.values(), *self._transfers.values()):
            column.cut()
        rows = {name: column.values for name, column in self._transfers.items()}
        return Programs(
            bodies=self._held(),
            body_of=np.array(self._body_of, np.int64),
            transfers=Transfers(first=np.array(self._rows_first, np.int64), **rows),
            names=self._names,
        )


class _Column:
    """An array that grows in place, so that it never exists twice.

    Attributes:
        size: Entries so far.
    """

    def __init__(self, dtype: type) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self.size = 0

    @property
    def values(self) -> NDArray[Any]:
        """The entries so far; not to be held while more are added."""
        return self._array[: self.size]

    def append(self, values: NDArray[Any]) -> None:
        end = self.size + values.size
        if end > self._array.size:
            self._array.resize(end + min(end >> 1, _MOST_SPARE), refcheck=False)
        self._array[self.size : end] = values
        self.size = end

    def cut(self) -> None:
        """Give back what is not used."""
        self._array.resize(self.size, refcheck=False)


def _parts(bodies: Bodies, index: int) -> tuple[NDArray[Any], ...]:
    """Parts of one body."""
    nodes = slice(*bodies.first[index : index + 2].tolist())
    edges = bodies.dep_start[nodes.start : nodes.stop + 1]
    return (
        bodies.node_id[nodes],
        bodies.kind[nodes],
        bodies.code[nodes],
        bodies.duration_ns[nodes],
        edges - edges[0],
        bodies.dep[edges[0] : edges[-1]],
    )


def _equal(some: tuple[NDArray[Any], ...], others: tuple[NDArray[Any], ...]) -> bool:
    return all(np.array_equal(one, other) for one, other in zip(some, others, strict=True))


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
    ported = ported_nodes(kind, program.peer)
    code = node_codes(
        kind, on_cpu=program.on_cpu, skipped=program.skipped, fixed=fixed, ported=ported
    )
    bodies = Bodies(
        first=np.array([0, kind.size]),
        node_id=np.asarray(program.node_id, np.uint64),
        kind=kind,
        code=code,
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
