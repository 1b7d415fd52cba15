"""Collectives between stages of many designs, as rows of the kernels' tables, each once."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.members import Subsystem
from simcore.engines.stages.piece_code import SharedCollective
from simcore.kernels.collectives.records import PHASE, PhaseRow
from simcore.kernels.collectives.records import Program as PhaseProgram
from simcore.many.plans import PlanRow

Ints = NDArray[np.int64]

_MOST_KNOWN = 2**16
"""Plans on systems whose collectives are kept; they are let go together."""

Rows = tuple[tuple[int, int, int, int], ...]
"""SHARED of each collective of a plan."""


@dataclass(slots=True, eq=False)
class Lists:
    """Phases of lists of members, and what is known of the plans that ask for them."""

    _rows: list[PhaseRow] = field(default_factory=list)
    _words: list[int] = field(default_factory=list)
    _numbers: dict[PhaseProgram, int] = field(default_factory=dict)
    _known: dict[Hashable, Rows] = field(default_factory=dict)
    _tables: tuple[NDArray[np.void], Ints] = field(
        default_factory=lambda: (np.zeros(0, PHASE), np.zeros(0, np.int64))
    )

    def find(
        self,
        key: Hashable,
        plan: PlanRow,
        shared: Sequence[SharedCollective],
        subsystem: Callable[[], Subsystem],
    ) -> Rows:
        """The collectives *shared* of *plan*.

        Args:
            key: All that they depend on; None: it is not known.
            plan: Whose program has them.
            shared: Which they are, and at which stages.
            subsystem: Gives the machine and system.
        """
        found = None if key is None else self._known.get(key)
        if found is None:
            machine = subsystem()
            found = tuple([self._row(plan, one, machine) for one in shared])
            if key is not None:
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[key] = found
        return found

    def tables(self) -> tuple[NDArray[np.void], Ints]:
        """(P,) PHASE of all phases so far, and the words of their step tables."""
        if self._tables[0].size != len(self._rows):
            self._tables = np.array(self._rows, PHASE), np.array(self._words, np.int64)
        return self._tables

    def _row(
        self, plan: PlanRow, one: SharedCollective, machine: Subsystem
    ) -> tuple[int, int, int, int]:
        operation = plan.known.program.collectives[one.item]
        members = np.array(one.stages, np.int64) * plan.stride
        phase = machine.phase_of_list(operation.kind, members)
        if phase is None:
            return (-1, 0, 0, 0)
        if phase not in self._numbers:
            self._numbers[phase] = len(self._rows)
            row, words = phase
            self._rows.append(row._replace(table=len(self._words)) if words else row)
            self._words += words
        rounds = machine.rounds_of_list(operation.kind, operation.size_bytes, members.size)
        return (self._numbers[phase], *rounds)


def side_by_side(arrays: Sequence[Ints]) -> tuple[Ints, Ints]:
    """All *arrays* in one, and where each begins; the last number is the length of all."""
    begins = np.cumsum([0, *[array.size for array in arrays]])
    return np.concatenate(arrays) if arrays else np.zeros(0, np.int64), begins
