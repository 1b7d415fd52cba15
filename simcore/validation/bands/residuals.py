"""Tables of residuals: how far measured times were from predicted ones, class by class."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from math import log2
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import read_text

_THOUSANDTHS = 1000
_REST = ("source", "model", "parameters", "npus", "residuals")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Levels of alikeness of one kind of prediction.

    Attributes:
        name: Of the kind, and of its constants.
        file: Table of residuals, below ``configs/validation``.
        levels: Names of the levels, from coarse to fine.
        coarse: How many levels, the first ones, differ so much that few sources say little.
        cluster: The level that makes, with the model, the pairs that are left out together.
        networks: Table of the networks of its runs, beside *file*; empty: there is none.
    """

    name: str
    file: str
    levels: tuple[str, ...]
    coarse: int = 2
    cluster: str = "npu"
    networks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Measured runs that a prediction's class, model and machine size do not tell apart.

    Attributes:
        levels: Its value of each level of the chain.
        source: Publication; never used to predict, only to leave out and to count.
        parameters: Of the model.
        residuals: Of each run, ln(measured / predicted).
    """

    levels: tuple[str, ...]
    source: str
    model: str
    parameters: int
    npus: int
    residuals: tuple[float, ...]

    @property
    def place(self) -> tuple[float, float]:
        """Doublings of parameters and of NPUs, from 1."""
        return log2(self.parameters), log2(self.npus)

    def pair(self, chain: Chain) -> tuple[str, str]:
        """Accelerator and model."""
        return self.levels[chain.levels.index(chain.cluster)], self.model


def grouped(rows: Iterable[Group]) -> list[Group]:
    """Groups that agree in everything but their residuals as one, in a fixed order."""
    found: dict[tuple[object, ...], list[float]] = defaultdict(list)
    first: dict[tuple[object, ...], Group] = {}
    for row in rows:
        key = (*row.levels, row.source, row.model, row.npus, row.parameters)
        first.setdefault(key, row)
        found[key] += row.residuals
    return [
        Group(
            levels=first[key].levels,
            source=first[key].source,
            model=first[key].model,
            parameters=first[key].parameters,
            npus=first[key].npus,
            residuals=tuple(sorted(found[key])),
        )
        for key in sorted(found, key=lambda key: tuple(map(str, key)))
    ]


def read_groups(path: Path, chain: Chain) -> tuple[Group, ...]:
    """The groups of the table at *path*.

    Raises:
        ConfigError: A column is missing, or a cell holds no number where one is due.
    """
    columns = (*chain.levels, *_REST)
    return tuple(_group(cells, chain, at) for at, cells in read_rows(path, columns))


def _group(cells: dict[str, str], chain: Chain, at: str) -> Group:
    try:
        residuals = tuple(int(text) / _THOUSANDTHS for text in cells["residuals"].split())
        parameters, npus = int(cells["parameters"]), int(cells["npus"])
    except (TypeError, ValueError, AttributeError):
        raise ConfigError(at, "must hold whole numbers", got=cells["residuals"]) from None
    if min(parameters, npus, len(residuals)) < 1:
        raise ConfigError(at, "must hold a model, a machine and a residual", got=cells["residuals"])
    return Group(
        levels=tuple(cells[name] for name in chain.levels),
        source=cells["source"],
        model=cells["model"],
        parameters=parameters,
        npus=npus,
        residuals=residuals,
    )


def write_groups(path: Path, chain: Chain, groups: Sequence[Group]) -> None:
    """Write the table; residuals in thousandths, so that it stays small.

    Raises:
        ConfigError: *path* cannot be written.
    """
    rows = []
    for one in groups:
        told = " ".join(str(round(_THOUSANDTHS * value)) for value in one.residuals)
        rows.append((*one.levels, one.source, one.model, one.parameters, one.npus, told))
    write_rows(path, (*chain.levels, *_REST), rows)


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Place and cells of each row of the table at *path*.

    Raises:
        ConfigError: It cannot be read, or has other columns.
    """
    reader = csv.DictReader(StringIO(read_text(path)))
    if tuple(reader.fieldnames or ()) != tuple(columns):
        rule = f"its columns must be {', '.join(columns)}"
        raise ConfigError(str(path), rule, got=reader.fieldnames)
    for cells in reader:
        yield f"{path}:{reader.line_num}", cells


def write_rows(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table.

    Raises:
        ConfigError: *path* cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(rows)
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
