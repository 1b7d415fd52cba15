"""Tables of layers on arrays, and of what they take, with the columns of SCALE-Sim's reports."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import astuple, fields
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.systolic.layer import Array, Dataflow, Layer
from simcore.systolic.report import Report, report

GEOMETRY = (
    *("ifmap_h", "ifmap_w", "filt_h", "filt_w"),
    *("channels", "num_filt", "stride_h", "stride_w"),
)
OUTPUTS = tuple(field.name for field in fields(Report))
_SIZES = {"ifmap_kb": "ifmap_words", "filter_kb": "filter_words", "ofmap_kb": "ofmap_words"}
_NEEDED = ("id", "dataflow", "rows", "cols", *_SIZES)
WORDS_PER_KB = 1024


class Case(NamedTuple):
    """A line of a table: its name, and the layer and array, or why there are none."""

    id: str
    layer: Layer | None
    array: Array | None
    message: str = ""


def read_cases(path: Path) -> list[Case]:
    """Lines of a table; what is wrong with one stands in it.

    A line gives the geometry of a convolution, or ``M``, ``N`` and ``K`` of a product, or both, and
    the array: ``dataflow``, ``rows``, ``cols``, ``ifmap_kb``, ``filter_kb``, ``ofmap_kb``, and
    with ``bw_mode`` ``USER`` also ``bw_words_per_cycle``.

    Raises:
        ConfigError: The file cannot be read, or lacks a column.
    """
    reader = csv.DictReader(StringIO(read_text(path)), strict=True)
    try:
        missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            rule = f"must have the columns {', '.join(_NEEDED)}"
            raise ConfigError(f"{path}:1", rule, got=f"none named {', '.join(missing)}")
        return [_case(row) for row in reader]
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num}", "must be CSV", got=str(error)) from None


def _case(row: Mapping[str, str | None]) -> Case:
    name = row["id"] or ""
    try:
        return Case(name, _layer(row), _array(row))
    except ConfigError as error:
        return Case(name, None, None, str(error))


def _layer(row: Mapping[str, str | None]) -> Layer:
    product = {name: row.get(name) or "" for name in ("M", "N", "K")}
    if not any(row.get(name) for name in GEOMETRY):
        return Layer.gemm(*(whole(text, name) for name, text in product.items()))
    layer = Layer(*(whole(row.get(name), name) for name in GEOMETRY))
    for (name, text), value in zip(product.items(), layer.product, strict=True):
        if text and whole(text, name) != value:
            raise ConfigError(name, f"must be {value}, as the geometry beside it says", got=text)
    return layer


def _array(row: Mapping[str, str | None]) -> Array:
    mode = (row.get("bw_mode") or "CALC").strip().upper()
    if mode not in ("CALC", "USER"):
        raise ConfigError("bw_mode", "must be CALC or USER", got=row.get("bw_mode"))
    name = "bw_words_per_cycle"
    return Array(
        rows=whole(row.get("rows"), "rows"),
        cols=whole(row.get("cols"), "cols"),
        dataflow=dataflow_of(row.get("dataflow") or "", "dataflow"),
        bandwidth=whole(row.get(name), name) if mode == "USER" else None,
        **{words: words_of(row.get(name), name) for name, words in _SIZES.items()},
    )


def dataflow_of(text: str, place: str) -> Dataflow:
    """Dataflow of that name.

    Raises:
        ConfigError: There is none.
    """
    try:
        return Dataflow(text.strip().lower())
    except ValueError:
        raise ConfigError(place, f"must be one of {', '.join(Dataflow)}", got=text) from None


def words_of(text: str | None, place: str) -> int:
    """Words of a buffer of so many kB.

    Raises:
        ConfigError: That is no whole number of kB.
    """
    return WORDS_PER_KB * whole(text, place)


def whole(text: str | None, place: str) -> int:
    """Whole number from 1 on.

    Raises:
        ConfigError: *text* is none.
    """
    try:
        value = float(text or "")
    except ValueError:
        value = 0.0
    if not (1 <= value < 1 << 53 and value == int(value)):
        raise ConfigError(place, "must be a whole number from 1 on", got=text)
    return int(value)


class Predictions(NamedTuple):
    """A table of what cases take: id, status, message, and the columns of ``Report``.

    Attributes:
        text: The table as CSV.
        errors: Lines whose status is ``error``.
    """

    text: str
    errors: int


def predict(cases: Iterable[Case]) -> Predictions:
    """Reports of *cases*, a line for each."""
    run = lru_cache(maxsize=1024)(report)  # a network repeats layers
    out, errors = StringIO(), 0
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["id", "status", "message", *OUTPUTS])
    for case in cases:
        message = case.message
        if case.layer is not None and case.array is not None:
            try:
                values = astuple(run(case.layer, case.array))
                writer.writerow([case.id, "ok", "", *values])
                continue
            except ConfigError as error:
                message = str(error)
        errors += 1
        writer.writerow([case.id, "error", message, *[""] * len(OUTPUTS)])
    return Predictions(out.getvalue(), errors)
