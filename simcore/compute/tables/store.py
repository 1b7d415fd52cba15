"""Kernel tables of one accelerator: those that are shipped, and those of users."""

from collections.abc import Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path

import numpy as np

from simcore.compute.tables.kinds import TABLE_KINDS, Floats
from simcore.compute.tables.lines import Lines
from simcore.compute.tables.read import Key, read_points
from simcore.compute.tables.surface import Surface
from simcore.errors import ConfigError
from simcore.files.input_file import is_there, read_text
from simcore.files.resources import shipped_folder, shipped_names
from simcore.files.yaml_file import FILE_VERSION, parse_yaml, read_table
from simcore.machine import Npu, load_npu
from simcore.machine.kernel_folder import SOURCE, KernelFolder, find_folder, is_path
from simcore.machine.npu import MeasuredBy

ENGINES = ("tensorrt_llm", "sglang", "vllm")
"""Engines of the shipped tables."""

_PLACE = "platform.npu.kernels.tables"
_PARTS = 5
"""Parts of the points that are left out in turn."""


class MeasuredKernel:
    """Times of one kind of kernel, of one engine and format.

    Args:
        kind: One of ``TABLE_KINDS``.
        format_: One of ``TABLE_FORMATS``.
        points: Coordinates of P points by column.
        us: (P,), their times.
        rises: Join the times themselves where the points form a grid, so that they rise between
            the points wherever they rise from point to point; otherwise what is joined is their
            share of a bound, which is nearer where the points are few.
    """

    def __init__(
        self, kind: str, format_: str, points: dict[str, Floats], us: Floats, *, rises: bool = False
    ) -> None:
        self.kind, self.format = TABLE_KINDS[kind], format_
        self._name, self._points = kind, (points, us, rises)
        shape = np.stack([points[name] for name in self.kind.shape], axis=1)
        plain = Surface(shape, us) if rises else None
        self._joins_times = plain is not None and plain.is_grid
        self._surface = (
            plain if plain and plain.is_grid else Surface(shape, us / self._bound_us(shape))
        )
        self._lines = (
            Lines(np.log2(shape), np.log(us / self._bound_us(shape)))
            if self.kind.has_lines and not self._joins_times
            else None
        )

    def times_us(self, at: dict[str, Floats]) -> tuple[Floats, Floats]:
        """Times at Q shapes, and how far each lies beyond what was measured, in factors of 2."""
        return fastest_us([self], np.stack([at[name] for name in self.kind.shape], axis=1))

    def found_us(self, places: Floats, bound_us: Floats) -> tuple[Floats, Floats]:
        """``times_us`` at *places*, logarithms to base 2 of shapes with these bounds."""
        found, beyond = self._surface.at_places(places)
        if self._lines is not None:
            along = self._lines.at(self._surface.inside(places))
            found = np.where(np.isnan(along), found, np.exp(along))
        if not self._joins_times:
            return found * bound_us, beyond
        if not beyond.any():
            return found, beyond
        # less than the least that was measured takes as long: scaled down, it could outlast more
        border_us, grown_us = (
            self._bound_us(np.exp2(edge(places)))
            for edge in (self._surface.inside, self._surface.not_below)
        )
        return found * (grown_us / border_us), beyond

    @cached_property
    def spread(self) -> float:
        """Relative error that four of five of its points stay below where they are left out."""
        (points, us, rises), errors = self._points, []
        shape = np.stack([points[name] for name in self.kind.shape], axis=1)
        order = np.random.default_rng(0).permutation(us.size)
        for part in np.array_split(order, _PARTS) if us.size >= _PARTS else ():
            rest = np.setdiff1d(order, part)
            kept = {name: column[rest] for name, column in points.items()}
            table = MeasuredKernel(self._name, self.format, kept, us[rest], rises=rises)
            found, beyond = fastest_us([table], shape[part])
            inside = beyond == 0
            errors.append(np.abs(found / us[part] - 1)[inside])
        left_out = np.concatenate(errors) if errors else np.array([])
        return float(np.quantile(left_out, 0.8)) if left_out.size else 1.0

    def _bound_us(self, shape: Floats) -> Floats:
        return bound_us_of(self, shape)


def bound_us_of(table: MeasuredKernel, shapes: Floats) -> Floats:
    """Bound that the times of *table* follow at Q *shapes*, (Q, D)."""
    columns = dict(zip(table.kind.shape, shapes.T, strict=True))
    return table.kind.bound_us(table.format, columns)


def fastest_us(tables: Sequence[MeasuredKernel], shapes: Floats) -> tuple[Floats, Floats]:
    """Least time of several *tables* of one kind and format at Q *shapes*, (Q, D).

    Returns:
        The times in us, and how far each lies beyond what its table holds, in factors of 2.
    """
    places, bound_us = np.log2(np.maximum(shapes, 1e-9)), bound_us_of(tables[0], shapes)
    if len(tables) == 1:
        return tables[0].found_us(places, bound_us)
    found = [table.found_us(places, bound_us) for table in tables]
    times = np.array([us for us, _ in found])
    place = times.argmin(axis=0), np.arange(len(shapes))
    return times[place], np.array([far for _, far in found])[place]


class KernelTables:
    """Measured kernels of one accelerator.

    Args:
        folder: Holds ``source.yaml``, which names the accelerator, and a CSV file per kind of
            ``TABLE_KINDS``, some of which may be missing.
        texts: Texts of the files, of a folder of the user's own; None: they are read when asked
            for. There ``source.yaml`` may be missing, or name no accelerator.

    Attributes:
        npu: The accelerator on which the kernels ran; None: that which names the tables.
        engines: Whose kernels they are.

    Raises:
        ConfigError: A file of the user's own is not valid.
    """

    def __init__(self, folder: Path, texts: dict[str, str] | None = None) -> None:
        self._folder, self._texts = folder, texts
        self._kinds: dict[str, dict[Key, MeasuredKernel]] = {}
        self.npu: Npu | None = None
        self.engines: tuple[str, ...] = ENGINES
        if texts is None:
            self.npu = load_npu(read_table(folder / SOURCE)["npu"])
            return
        self.npu = _npu_of(folder / SOURCE, texts.get(SOURCE))
        keys = [key for kind in TABLE_KINDS for key in self._of_kind(kind)]
        self.engines = tuple(dict.fromkeys(engine for engine, _ in keys))

    def find(self, kind: str, engine: str, format_: str) -> MeasuredKernel | None:
        """The table of this kind, engine and format; None: none was measured."""
        return self._of_kind(kind).get((engine, format_))

    def _of_kind(self, kind: str) -> dict[Key, MeasuredKernel]:
        if kind not in self._kinds:
            path, own = self._folder / f"{kind}.csv", self._texts is not None
            text = self._text(path)
            points = {} if text is None else read_points(text, path, kind, own=own)
            self._kinds[kind] = {
                key: MeasuredKernel(kind, key[1], *found, rises=own)
                for key, found in points.items()
            }
        return self._kinds[kind]

    def _text(self, path: Path) -> str | None:
        if self._texts is not None:
            return self._texts.get(path.name)
        return read_text(path) if is_there(path) else None


def _npu_of(path: Path, text: str | None) -> Npu | None:
    """Accelerator that the ``source.yaml`` of a user names, if it names one."""
    if text is None:
        return None
    table = parse_yaml(text, str(path))
    if not isinstance(table, dict) or table.get("version") != FILE_VERSION:
        rule = f"must be a table of keys and values with version: {FILE_VERSION}"
        raise ConfigError(str(path), rule, got=table)
    named = table.get("npu")
    if isinstance(named, str) and named not in shipped_names("npus"):
        known = ", ".join(shipped_names("npus"))  # a file would be no part of the folder's digest
        raise ConfigError(f"{path}: npu", f"must be a table, or one of {known}", got=named)
    try:
        return None if named is None else load_npu(named, beside=path.parent)
    except ConfigError as error:
        raise error.in_file(path) from None


def tables_of(named: MeasuredBy) -> KernelTables:
    """The tables that an accelerator names.

    Raises:
        ConfigError: There are none of that name, or their folder is not valid.
    """
    tables = named.tables
    if isinstance(tables, str) and is_path(tables):
        tables = find_folder(tables, at=_PLACE)
    return shipped_tables(tables) if isinstance(tables, str) else _own_tables(tables)


@lru_cache(32)
def _own_tables(folder: KernelFolder) -> KernelTables:
    return KernelTables(folder.place, folder.texts())


@cache
def shipped_tables(name: str) -> KernelTables:
    """The shipped tables of the accelerator *name*.

    Raises:
        ConfigError: There are none; lists those there are.
    """
    folders = {path.parent.name: path.parent for path in _shipped().glob("*/source.yaml")}
    if name not in folders:
        rule = f"must be one of {', '.join(sorted(folders))}, or the path of a folder (./{name})"
        raise ConfigError(_PLACE, rule, got=name)
    return KernelTables(folders[name])


def _shipped() -> Path:
    return shipped_folder("configs") / "kernels"
