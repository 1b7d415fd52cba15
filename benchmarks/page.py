"""Writes tables of benchmarks into a page of the documentation, between two marks.

The marks are ``<!-- table: NAME -->`` and ``<!-- end of table: NAME -->``.
"""

from collections.abc import Sequence
from pathlib import Path


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table in Markdown; the first column is text, the others are numbers."""
    lines = [list(header), ["---", *["---:"] * (len(header) - 1)]]
    lines += [[_shown(cell) for cell in row] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_table(page: Path, name: str, table: str) -> None:
    """Replace the table *name* of *page*."""
    begin, end = f"<!-- table: {name} -->", f"<!-- end of table: {name} -->"
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, mark, after = rest.partition(end)
    if not mark:
        raise SystemExit(f"{page} has no table {name}: {begin} ... {end}")
    page.write_text(f"{before}{begin}\n{table}\n{end}{after}", encoding="utf-8")


def _shown(cell: object) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.3g}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
