"""Names of nodes, which few runs ask for."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from simcore.formats.chakra.stream import name_of


class NodeNames(Sequence[str]):
    """Names by position; read from the file when an error asks for one, as few ever do."""

    def __init__(self, path: Path, ids: Sequence[int]) -> None:
        self._path, self._ids = path, ids

    def __len__(self) -> int:
        return len(self._ids)

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        if isinstance(position, slice):
            return tuple(self[i] for i in range(*position.indices(len(self))))
        return name_of(self._path, int(self._ids[position]))
