"""Kernel times from SCALE-Sim: cycles of the layers that its ``COMPUTE_REPORT.csv`` lists.

Source: A. Samajdar et al., "A Systematic Methodology for Characterizing Scalability of DNN
Accelerators using SCALE-Sim", ISPASS 2020; files as in SCALE-Sim v2 and v3.
"""

import csv
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

from simcore.errors import ConfigError
from simcore.files.input_file import read_text
from simcore.profiling.folder import KernelTime

_CYCLES = "total cycles"
_CONVOLUTION = 8
"""Columns of a convolution: name, height and width of the input and of the filter, channels,
filters, stride; SCALE-Sim v3 may add a second stride and more."""
_PRODUCT = 4
"""Columns of a product: name, M, N, K."""


def read_scale_sim(
    report: Path, topology: Path, *, clock_hz: float, format_: str
) -> list[KernelTime]:
    """Times of the layers in *report*, whose shapes *topology* gives, both by SCALE-Sim.

    A convolution is the product that a systolic array makes of it: as many rows as the output has
    places, as many columns as there are filters.

    Args:
        report: ``COMPUTE_REPORT.csv``; cycles with stalls count.
        topology: The layers that were simulated, convolutions or products.
        clock_hz: Of the array.
        format_: Number format of the operands.

    Raises:
        ConfigError: A file is not one of SCALE-Sim, or the two do not belong together.
    """
    cycles = list(_cycles(report))
    shapes = list(_shapes(topology))
    if len(cycles) != len(shapes):
        rule = f"must list the {len(shapes)} layers of {topology}"
        raise ConfigError(str(report), rule, got=len(cycles))
    return [
        KernelTime("product", format_, shape, 1e6 * count / clock_hz)
        for shape, count in zip(shapes, cycles, strict=True)
    ]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that hold something, with their numbers; cells without blanks, no empty last one."""
    reader = csv.reader(StringIO(read_text(path)), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            while cells and not cells[-1]:
                cells.pop()
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ConfigError(f"{path}:{reader.line_num}", "must be CSV", got=str(error)) from None


def _cycles(path: Path) -> Iterator[float]:
    rows = _rows(path)
    _, head = next(rows, (0, []))
    names = [name.lower() for name in head]
    if _CYCLES not in names:
        rule = "must be a COMPUTE_REPORT.csv of SCALE-Sim, with a column 'Total Cycles'"
        raise ConfigError(str(path), rule, got=", ".join(head) or "nothing")
    column = names.index(_CYCLES)
    for line, cells in rows:
        yield _number(cells, column, f"{path}:{line}")


def _shapes(path: Path) -> Iterator[tuple[float, float, float]]:
    rows = _rows(path)
    next(rows, None)  # names of the columns
    for line, cells in rows:
        place = f"{path}:{line}"
        if len(cells) >= _CONVOLUTION:
            yield _product_of(cells, place)
        elif len(cells) == _PRODUCT:
            m, n, k = (_number(cells, column, place) for column in (1, 2, 3))
            yield m, n, k
        else:
            rule = "must be a convolution or a product of SCALE-Sim: 8 columns, or name, M, N, K"
            raise ConfigError(place, rule, got=",".join(cells))


def _product_of(cells: Sequence[str], place: str) -> tuple[float, float, float]:
    """Rows, columns and depth of the product that a convolution becomes."""
    height, width, filter_height, filter_width, channels, filters, stride = (
        _number(cells, column, place) for column in range(1, _CONVOLUTION)
    )
    across = stride
    if len(cells) > _CONVOLUTION and cells[_CONVOLUTION].isdigit():
        across = _number(cells, _CONVOLUTION, place)
    rows = -(-(height - filter_height + stride) // stride)
    columns = -(-(width - filter_width + across) // across)
    if rows < 1 or columns < 1:
        rule = "must have a filter that is no larger than the input"
        raise ConfigError(place, rule, got=",".join(cells))
    return rows * columns, filters, filter_height * filter_width * channels


def _number(cells: Sequence[str], column: int, place: str) -> float:
    text = cells[column] if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value < 1e15:
        raise ConfigError(place, f"column {column + 1} must be a number from 1 on", got=text)
    return value
