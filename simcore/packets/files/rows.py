"""Tables of rows, as files of cases hold them, and whole numbers in them."""

from collections.abc import Iterator, Sequence

from simcore.errors import ConfigError
from simcore.registry import did_you_mean


def table_rows(
    at: str, rows: object, columns: object, known: Sequence[str], others: Sequence[str] = ()
) -> Iterator[tuple[str, dict[str, object]]]:
    """Each row with its place, as values by column.

    Args:
        at: Place of the rows.
        rows: A list of lists.
        columns: Names of what stands in each of them, in this order.
        known: Columns that must be there.
        others: Columns that may be.

    Raises:
        ConfigError: Something else stands there.
    """
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        raise ConfigError(f"{at}_cols", "must be a list of names of columns", got=columns)
    for name in columns:
        if name not in known and name not in others:
            rule = f"unknown column; the columns are {', '.join(known)}{did_you_mean(name, known)}"
            raise ConfigError(f"{at}_cols", rule, got=name)
    for name in known:
        if columns.count(name) != 1:
            raise ConfigError(f"{at}_cols", f"must name the column {name} once", got=columns)
    if not isinstance(rows, list):
        raise ConfigError(at, "must be a list of rows", got=rows)
    for index, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != len(columns):
            rule = f"must be a list of {len(columns)} values ({', '.join(columns)})"
            raise ConfigError(f"{at}[{index}]", rule, got=row)
        yield f"{at}[{index}]", dict(zip(columns, row, strict=True))


def whole(value: object, least: int, most: int, *, at: str) -> int:
    """A whole number from *least* to *most*.

    Raises:
        ConfigError: *value* is none.
    """
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= most:
        raise ConfigError(at, f"must be a whole number from {least:,} to {most:,}", got=value)
    return number
