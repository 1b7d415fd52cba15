"""Single values of a table by path, as expressions name them."""

from dse.space.parameters import Value


def scalars_of(table: object, path: str = "") -> dict[str, Value]:
    """Single values of *table*, which stands at *path*."""
    if isinstance(table, bool | int | float | str):
        return {path: table}
    result: dict[str, Value] = {}
    if isinstance(table, dict):
        for key, value in table.items():
            result |= scalars_of(value, f"{path}.{key}" if path else str(key))
    if isinstance(table, list):
        for index, value in enumerate(table):
            result |= scalars_of(value, f"{path}[{index}]")
    return result
