"""Kernel tables of one accelerator, read when they are asked for."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from io import StringIO
from pathlib import Path

import numpy as np

from simcore.compute.tables.kinds import TABLE_KINDS, Floats
from simcore.compute.tables.surface import Surface
from simcore.errors import ConfigError
from simcore.files.input_file import is_there, read_text
from simcore.files.resources import shipped_folder
from simcore.files.yaml_file import read_table
from simcore.machine import Npu, load_npu
from simcore.terms import FORMATS

Key = tuple[str, str]
"""Engine and number format."""


class MeasuredKernel:
    """Times of one kind of kernel, of one engine and format."""

    def __init__(self, kind: str, format_: str, points: dict[str, Floats], us: Floats) -> None:
        self.kind, self.format = TABLE_KINDS[kind], format_
        shape = np.stack([points[name] for name in self.kind.shape], axis=1)
        self.surface = Surface(shape, us / self.kind.bound_us(format_, points))

    def times_us(self, at: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Times at Q shapes, and how far each lies beyond what was measured, in factors of 2."""
        return fastest_us([self], np.stack([at[name] for name in self.kind.shape], axis=1))


def fastest_us(tables: Sequence[MeasuredKernel], shapes: Floats) -> tuple[Floats, Floats]:
    """Least time of several *tables* of one kind and format at Q *shapes*, (Q, D).

    Returns:
        The times in us, and how far each lies beyond what its table holds, in factors of 2.
    """
    kind, places = tables[0].kind, np.log2(np.maximum(shapes, 1e-9))
    bound_us = kind.bound_us(tables[0].format, dict(zip(kind.shape, shapes.T, strict=True)))
    if len(tables) == 1:
        share, beyond = tables[0].surface.at_places(places)
        return share * bound_us, beyond
    found = [table.surface.at_places(places) for table in tables]
    times = np.array([share for share, _ in found]) * bound_us
    fastest = times.argmin(axis=0)[None]
    beyond = np.take_along_axis(np.array([far for _, far in found]), fastest, axis=0)[0]
    return np.take_along_axis(times, fastest, axis=0)[0], beyond


class KernelTables:
    """Measured kernels of one accelerator.

    Args:
        folder: Holds ``source.yaml``, which names the accelerator, and a CSV file per kind of
            ``TABLE_KINDS``, some of which may be missing.

    Attributes:
        npu: The accelerator on which the kernels ran.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.npu: Npu = load_npu(read_table(folder / "source.yaml")["npu"])
        self._kinds: dict[str, dict[Key, MeasuredKernel]] = {}

    def find(self, kind: str, engine: str, format_: str) -> MeasuredKernel | None:
        """The table of this kind, engine and format; None: none was measured."""
        if kind not in self._kinds:
            self._kinds[kind] = _read(self._folder / f"{kind}.csv", kind)
        return self._kinds[kind].get((engine, format_))


def _read(path: Path, kind: str) -> dict[Key, MeasuredKernel]:
    if not is_there(path):
        return {}
    rows: dict[Key, list[list[float]]] = defaultdict(list)
    shape = TABLE_KINDS[kind].shape
    for number, row in enumerate(csv.DictReader(StringIO(read_text(path))), 2):
        try:
            values = [float(row[name]) for name in (*shape, "us")]
            if min(values) <= 0 or row["format"] not in FORMATS:
                raise ValueError
        except (KeyError, TypeError, ValueError):
            rule = f"must have engine, format, {', '.join(shape)} and us, numbers above 0"
            got = ",".join(str(value) for value in row.values())
            raise ConfigError(f"{path}:{number}", rule, got=got) from None
        rows[row["engine"], row["format"]].append(values)
    found = {}
    for key, lines in rows.items():
        *points, us = np.array(lines).T
        found[key] = MeasuredKernel(kind, key[1], dict(zip(shape, points, strict=True)), us)
    return found


@cache
def shipped_tables(name: str) -> KernelTables:
    """The shipped tables of the accelerator *name*.

    Raises:
        ConfigError: There are none; lists those there are.
    """
    folders = {path.parent.name: path.parent for path in _shipped().glob("*/source.yaml")}
    if name not in folders:
        rule = f"must be one of {', '.join(sorted(folders))}"
        raise ConfigError("platform.npu.kernels.tables", rule, got=name)
    return KernelTables(folders[name])


def _shipped() -> Path:
    return shipped_folder("configs") / "kernels"
