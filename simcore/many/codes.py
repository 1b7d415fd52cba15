"""Programs of many designs as rows of the kernels' tables, each once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcore.engines.stages.code import CodeParts
from simcore.engines.stages.piece_code import PHASES, SharedCollective
from simcore.engines.stages.run import CodeSizes, layout_fields
from simcore.kernels.many import programs
from simcore.kernels.many import stage_rows as k
from simcore.kernels.npu.layout import as_records
from simcore.kernels.stages.stage_layout import Layout

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Codes:
    """P programs; those with the same nodes come after one another.

    Attributes:
        parts: What each is put together of.
        rows: (P,) PROGRAM.
        categories: Names of all times by category.
        columns: (P, C) int64, numbers among these.
        names: Names of the times of each program, in the order of a single run.
    """

    parts: Sequence[CodeParts]
    rows: NDArray[np.void]
    categories: Sequence[str]
    columns: Ints
    names: Sequence[tuple[str, ...]]

    @classmethod
    def of(cls, every: Sequence[CodeParts | None]) -> tuple["Codes", Ints]:
        """Programs of *every* plan, and the number of each one's; -1: it has none."""
        pieces: dict[int, int] = {}
        tables: dict[int, int] = {}
        keys = np.full((len(every), 2), -1, np.int64)
        for at, one in enumerate(every):
            if one is not None:
                keys[at, 0] = pieces.setdefault(id(one.own), len(pieces))
                keys[at, 1] = tables.setdefault(id(one.table), len(tables))
        single = keys[:, 0] * (len(tables) + 1) + keys[:, 1]
        single[keys[:, 0] < 0] = -1
        distinct, first, which = np.unique(single, return_index=True, return_inverse=True)
        none = int(distinct.size > 0 and distinct[0] < 0)
        chosen = [every[at] for at in first[none:].tolist()]
        parts = [one for one in chosen if one is not None]
        columns: dict[str, int] = {}
        width = max([len(one.own.categories) for one in parts], default=0)
        of_program, names = np.zeros((len(parts), width), np.int64), list[tuple[str, ...]]()
        known: dict[tuple[str, ...], tuple[tuple[str, ...], list[int]]] = {}
        for at, one in enumerate(parts):
            own = one.own.categories
            if own not in known:
                named = [f"{'compute' if c in PHASES else 'exposed'}_{c}_s" for c in own]
                numbers = [columns.setdefault(name, len(columns)) for name in named]
                # as in a single run, those of computing come first
                known[own] = tuple(sorted(named, key=lambda n: n[0])), numbers
            names.append(known[own][0])
            of_program[at, : len(own)] = known[own][1]
        rows = np.array([one.row for one in parts], programs.PROGRAM)
        codes = cls(
            parts=parts, rows=rows, categories=list(columns), columns=of_program, names=names
        )
        return codes, which.ravel() - none

    @property
    def longest(self) -> int:
        """Words of the longest program."""
        return int(self.rows["size"].max())

    @property
    def joint(self) -> Ints:
        """(P,) int64, collectives between stages."""
        return self.rows["joint"]

    @property
    def shared(self) -> Sequence[tuple[SharedCollective, ...]]:
        """Collectives between stages of each program."""
        return [one.own.shared for one in self.parts]

    def tables(
        self, code: Ints, compute_slots: Ints, streams: Ints, instant: Ints
    ) -> tuple[k.Codes, int]:
        """Tables of the kernels for N designs, and the memory that their runs take.

        Args:
            code: (N,) int64, number of the program of each; those of a program side by side.
            compute_slots: (N,) int64, of an NPU.
            streams: (N,) int64, of its communication.
            instant: (N,) int64, 1 where some collective takes no time.
        """
        changes = np.diff(np.stack([code, compute_slots, streams, instant]), prepend=-1)
        first = np.flatnonzero((changes != 0).any(axis=0))
        groups = np.zeros(first.size, k.GROUP)
        groups["program"], groups["first"] = code[first], first
        groups["behind"] = np.append(first[1:], code.size)
        sizes = CodeSizes(*[column[code[first]] for column in self._sizes()])
        fields = layout_fields(sizes, compute_slots[first], streams[first], instant[first])
        layouts = as_records(Layout, first.size, fields)
        tables = k.Codes(programs=self.rows, columns=self.columns, groups=groups, layouts=layouts)
        return tables, int(layouts["pool_end"].max())

    def _sizes(self) -> CodeSizes:
        """Arrays of P each."""
        rows = self.rows
        own = [one.own for one in self.parts]
        about = [(one.items, one.sections, one.ports, one.shift) for one in own]
        items, sections, ports, shift = np.array(about, np.int64).T
        phases = [sum([name in PHASES for name in one.categories]) for one in own]
        return CodeSizes(
            stages=rows["stages"],
            categories=rows["categories"],
            phases=np.array(phases, np.int64),
            collectives=rows["joint"],
            messages=rows["message_count"],
            items=items,
            sections=sections,
            ports=ports,
            shift=shift,
            nodes=rows["head_size"],
            program=rows["program_at"],
            message=rows["message_at"],
            members=rows["members_at"],
            period=np.array([one.table.period for one in self.parts], np.int64),
        )
