"""Reads tables of kernel times: CSV with a row per shape."""

import csv
from collections import defaultdict
from io import StringIO
from pathlib import Path

import numpy as np

from simcore.compute.tables.kinds import TABLE_FORMATS, TABLE_KINDS, Floats
from simcore.errors import ConfigError

Key = tuple[str, str]
"""Engine and number format."""

Points = tuple[dict[str, Floats], Floats]
"""Coordinates by column, and times in us."""

_GREATEST = 1e18
"""No size and no time of a kernel is beyond it."""

_ALIKE = {"fp16": "bf16", "": "bf16"}
"""Formats that stand for others: both kinds of 16 bits have the same width and the same peak."""


def read_points(text: str, path: Path, kind: str, *, own: bool) -> dict[Key, Points]:
    """Points of the tables of *kind* in the *text* of the file *path*, by engine and format.

    Args:
        text: CSV: the columns of the shape, ``us`` and ``format``, and ``engine``.
        path: For errors.
        kind: One of ``TABLE_KINDS``.
        own: It is a user's, in which ``engine`` and of streaming kernels ``format`` may be missing.
            Of a shape that stands there several times the median counts.

    Raises:
        ConfigError: A line is not valid; says which.
    """
    rows: dict[Key, list[list[float]]] = defaultdict(list)
    shape = TABLE_KINDS[kind].shape
    reader = csv.DictReader(StringIO(text), strict=True)
    try:
        for row in reader:
            key = _key(row, kind, own=own)
            values = [float(row[name]) for name in (*shape, "us")]
            if not all(0 < value < _GREATEST for value in values):
                raise ValueError
            rows[key].append(values)
    except (AttributeError, KeyError, TypeError, ValueError, csv.Error):
        columns = ", ".join(("format", *shape) if own else ("engine", "format", *shape))
        rule = f"must have {columns} and us, numbers above 0, and one of the formats "
        line = text.split("\n")[max(reader.line_num - 1, 0)] if text else ""
        rule += ", ".join(TABLE_FORMATS)
        raise ConfigError(f"{path}:{reader.line_num}", rule, got=line) from None
    if own and not rows:
        raise ConfigError(str(path), "must hold at least one kernel", got="none")
    merged = _medians if own else _as_they_are
    return {key: merged(np.array(lines), shape) for key, lines in rows.items()}


def _key(row: dict[str, str], kind: str, *, own: bool) -> Key:
    if not own:
        engine, format_ = row["engine"], row["format"]
    else:
        streams = TABLE_KINDS[kind].shape == ("bytes",)
        engine = (row.get("engine") or "").strip()
        # streaming kernels are told apart by their bytes alone
        format_ = "" if streams else row["format"].strip()
        format_ = "bf16" if format_ in _ALIKE and (streams or format_) else format_
    if format_ not in TABLE_FORMATS:
        raise ValueError
    return engine, format_


def _as_they_are(lines: Floats, shape: tuple[str, ...]) -> Points:
    *points, us = lines.T
    return dict(zip(shape, points, strict=True)), us


def _medians(lines: Floats, shape: tuple[str, ...]) -> Points:
    """Each shape once, with the median of its times."""
    points, which = np.unique(lines[:, :-1], axis=0, return_inverse=True)
    by_shape = np.split(lines[np.argsort(which, kind="stable"), -1], np.bincount(which).cumsum())
    us = np.array([np.median(times) for times in by_shape[:-1]])
    return dict(zip(shape, points.T, strict=True)), us
