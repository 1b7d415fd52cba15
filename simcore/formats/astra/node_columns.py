"""The two columns in which the programs of alike NPUs differ: groups and names."""

from collections.abc import Mapping, Sequence
from typing import overload

import numpy as np

from simcore.errors import ConfigError
from simcore.formats.astra.groups_file import Groups
from simcore.formats.chakra.stream import name_at
from simcore.formats.chakra.trace import OFFSET, Ints, Trace
from simcore.terms import NodeKind


class NodeNames(Sequence[str]):
    """Names by position; read from the file when an error asks for one, as few ever do."""

    def __init__(self, trace: Trace, *, rows: Ints) -> None:
        self._path, self._offset = trace.path, trace.table[rows, OFFSET]

    def __len__(self) -> int:
        return int(self._offset.size)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        if isinstance(position, slice):
            return tuple(self[i] for i in range(*position.indices(len(self))))
        return name_at(self._path, int(self._offset[position]))


def group_keys(trace: Trace, rows: Ints, keys: Mapping[int, int], groups: Groups) -> Ints:
    """(T,) int64, the engine's key of the group of each collective; 0 for all NPUs.

    Args:
        trace: The file.
        rows: (T,) int64, its row of each position.
        keys: Group id in the file -> key of the engine, where they differ.
        groups: Known groups by id in the file.

    Raises:
        ConfigError: A collective names an unknown group.
    """
    collective = trace.types[rows] == NodeKind.COLLECTIVE
    group = np.where(collective, trace.attribute("pg_name")[rows], 0)
    named = sorted(set(group.tolist()) - {0})
    for number in named:
        if number not in groups:
            known = ", ".join(str(key) for key in sorted(groups)[:20]) or "none is defined"
            rule = f"pg_name must be the id of a communicator group ({known})"
            first = int(rows[np.argmax(group == number)])
            raise ConfigError(trace.place(first), rule, got=number)
    if any(keys.get(number, number) != number for number in named):
        group = np.array([keys.get(number, number) for number in group.tolist()], np.int64)
    return group
