"""Traces as arrays: one row per node, dependencies as id lists."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.kernels.chakra.columns import (
    ATTRIBUTES,
    CPU_BIT,
    INVOLVED_SHIFT,
    NAME_NOT_NUMBER_BIT,
    WRONG_SHIFT,
)
from simcore.kernels.records import Records

if TYPE_CHECKING:
    from simcore.formats.chakra.messages import Metadata

Ints = NDArray[np.int64]
Ids = NDArray[np.uint64]
Flags = NDArray[np.bool_]

ATTRIBUTE_BITS = {name: bit for bit, name in enumerate(ATTRIBUTES)}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """The nodes of one file, in file order.

    Attributes:
        path: Where it was read from.
        first_message: GlobalMetadata as it stood on the wire; empty for schema 0.0.1.
        table: (R,) NODE of ``simcore.kernels.chakra.columns``.
        data_start: (R + 1,) int64; row r's data dependencies are
            ``data_deps[data_start[r]:data_start[r + 1]]``.
        data_deps: (D,) uint64 node ids.
        ctrl_start: (R + 1,) int64, likewise for control dependencies.
        ctrl_deps: (C,) uint64 node ids.
    """

    path: Path
    first_message: bytes
    table: Records
    data_start: Ints
    data_deps: Ids
    ctrl_start: Ints
    ctrl_deps: Ids

    @property
    def first(self) -> Ints:
        """(F + 1,) int64, first row of each file; here there is one."""
        return np.array([0, len(self)], np.int64)

    def path_of(self, _file: int) -> Path:
        """Path of a file, by its number."""
        return self.path

    def each(self) -> Iterator["Trace"]:
        """The files one by one."""
        yield self

    def __len__(self) -> int:
        return int(self.table.shape[0])

    @property
    def metadata(self) -> "Metadata":
        """Decoded first message."""
        from simcore.formats.chakra.messages import Metadata
        from simcore.formats.chakra.wire import decode_metadata

        if not self.first_message:
            return Metadata(version="0.0.1")
        return decode_metadata(self.first_message)

    @property
    def ids(self) -> Ids:
        """(R,) uint64 node ids."""
        return np.ascontiguousarray(self.table["id"]).view(np.uint64)

    @property
    def types(self) -> Ints:
        """(R,) int64 node types; values beyond ``NodeKind`` are those of newer schemas."""
        return self.table["type"]

    @property
    def duration_micros(self) -> Ids:
        """(R,) uint64 durations in microseconds."""
        return np.ascontiguousarray(self.table["duration"]).view(np.uint64)

    @property
    def on_cpu(self) -> Flags:
        """(R,) bool, the attribute is_cpu_op; False where absent."""
        return (self.table["flags"] >> CPU_BIT & 1).astype(np.bool_)

    @property
    def involved_flags(self) -> Ints:
        """(R,) int64, how many flags involved_dim has; 0 where absent."""
        return self.table["flags"] >> INVOLVED_SHIFT & 127

    def has(self, name: str, rows: Ints | slice = slice(None)) -> Flags:
        """(R,) bool, whether the nodes of these *rows* (of all) have the attribute *name*."""
        return (self.table["flags"][rows] >> ATTRIBUTE_BITS[name] & 1).astype(np.bool_)

    def unusable(self, name: str, rows: Ints | slice = slice(None)) -> Flags:
        """(R,) bool, whether the attribute *name* has a kind or value that cannot be used."""
        bit = WRONG_SHIFT + ATTRIBUTE_BITS[name]
        return (self.table["flags"][rows] >> bit & 1).astype(np.bool_)

    def attribute(self, name: str) -> Ints:
        """(R,) int64 values of a number attribute (pg_name as number); 0 where absent."""
        return self.table["numbers"][:, ATTRIBUTE_BITS[name] - 1]

    def place(self, row: int) -> str:
        """Place of row *row*, for error messages."""
        file = int(np.searchsorted(self.first, row, side="right")) - 1
        number = int(self.table["id"][row].astype(np.uint64))
        return f"{self.path_of(file)} node {number}"

    def require(self, name: str, rows: Ints, *, what: str) -> None:
        """Checks that the nodes of these *rows* have a usable attribute *name*.

        Raises:
            ConfigError: The first node that lacks it, or has it with a wrong kind.
        """
        bad = ~self.has(name, rows) | self.unusable(name, rows)
        if not bad.any():
            return
        row = int(rows[np.argmax(bad)])
        if not self.has(name)[row]:
            raise ConfigError(self.place(row), f"{what} needs the attribute {name}", got="none")
        if self.table["flags"][row] >> NAME_NOT_NUMBER_BIT & 1 and name == "pg_name":
            raise ConfigError(self.place(row), "pg_name must be a decimal number", got="other text")
        kind = {"pg_name": "a text", "involved_dim": "a bool list"}.get(
            name, "an integer from 0 to 2^63 - 1"
        )
        raise ConfigError(
            self.place(row), f"the attribute {name} must be {kind}", got="another kind of value"
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traces(Trace):
    """The nodes of several files, one file after another.

    Attributes:
        path: Of the first file.
        paths: Of all F files.
        bounds: (F + 1,) int64, first row of each file.
    """

    paths: tuple[Path, ...]
    bounds: Ints

    @property
    def first(self) -> Ints:
        """(F + 1,) int64, first row of each file."""
        return self.bounds

    def path_of(self, file: int) -> Path:
        """Path of a file, by its number."""
        return self.paths[file]

    def each(self) -> Iterator[Trace]:
        """The files one by one."""
        for file, path in enumerate(self.paths):
            first, end = self.bounds[file : file + 2].tolist()
            parts = []
            for start, deps in (
                (self.data_start, self.data_deps),
                (self.ctrl_start, self.ctrl_deps),
            ):
                mine = start[first : end + 1]
                parts += [mine - mine[0], deps[mine[0] : mine[-1]]]
            yield Trace(
                path=path,
                first_message=self.first_message,
                table=self.table[first:end],
                data_start=parts[0],
                data_deps=parts[1],
                ctrl_start=parts[2],
                ctrl_deps=parts[3],
            )
