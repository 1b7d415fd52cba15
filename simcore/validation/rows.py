"""Tables of measured runs, one row at a time; an empty cell is None."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO
from math import isfinite, nan
from pathlib import Path
from typing import Self

from simcore.errors import ConfigError, SimcoreError
from simcore.files.input_file import read_text


class UnsupportedRow(SimcoreError):
    """The row asks for something that is not modelled, or leaves out what no rule can fill in."""


@dataclass(frozen=True, slots=True)
class MeasuredRow:
    """One line of a table, its cells by column name.

    Attributes:
        cells: Text of each cell, without spaces around it.
        at: File and line, for errors.
    """

    cells: dict[str, str]
    at: str

    @property
    def id(self) -> str:
        return self.cells["id"]

    def text(self, column: str) -> str:
        """The cell's text; empty where it was not published or the table has no such column."""
        return self.cells.get(column, "")

    def number(self, column: str) -> float | None:
        """The cell's number.

        Raises:
            ConfigError: The cell holds something else.
        """
        text = self.text(column)
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = nan
        if not isfinite(value):
            raise ConfigError(f"{self.at}: {column}", "must be a number", got=text)
        return value

    def count(self, column: str) -> int | None:
        """The cell's whole number, above 0.

        Raises:
            ConfigError: The cell holds something else.
        """
        value = self.number(column)
        if value is None:
            return None
        if value < 1 or value != int(value):
            raise ConfigError(f"{self.at}: {column}", "must be a whole number above 0", got=value)
        return int(value)

    @classmethod
    def all_of(cls, path: Path) -> Iterator[Self]:
        """The rows of the CSV file *path*, read one by one.

        Raises:
            ConfigError: No such file, or its first line has no ``id``.
        """
        reader = csv.DictReader(StringIO(read_text(path)))
        try:
            if "id" not in (reader.fieldnames or []):
                rule = "must begin with a line of column names, id among them"
                raise ConfigError(str(path), rule, got=reader.fieldnames)
            for cells in reader:
                clean = {name: (text or "").strip() for name, text in cells.items() if name}
                yield cls(clean, f"{path}:{reader.line_num}")
        except csv.Error as error:  # a cell of more than 131,072 characters
            place = f"{path}:{reader.line_num}"
            raise ConfigError(place, "must be a line of CSV", got=str(error)) from None
