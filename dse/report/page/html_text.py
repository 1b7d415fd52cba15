"""Pieces of HTML."""

import html
from collections.abc import Iterable, Sequence

from dse.report.front_table import FrontTable


def told(text: str, kind: str = "") -> str:
    """A paragraph."""
    return f"<p{_class(kind)}>{html.escape(text)}</p>"


def listed(texts: Iterable[str]) -> str:
    """A list; empty without entries."""
    items = "".join(f"<li>{html.escape(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def pairs(rows: Sequence[tuple[str, str]]) -> str:
    """A table of names and values; empty without rows."""
    if not rows:
        return ""
    lines = "".join(
        f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<div class='wide' tabindex='0'><table><tbody>{lines}</tbody></table></div>"


def table(found: FrontTable, name: str = "") -> str:
    """A table with its headings, and what is the same in all of its rows."""
    head = "".join(f"<th scope='col'>{html.escape(text)}</th>" for text in found.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
        for row in found.rows
    )
    common = ", ".join(f"{knob} {value}" for knob, value in found.common)
    note = told(f"The same all along: {common}.", "quiet") if common else ""
    own = f" id='{name}'" if name else ""
    # a region that scrolls has to be reached by keys too
    start = f"<div class='wide' tabindex='0'><table{own}><thead><tr>{head}</tr></thead>"
    return f"{start}<tbody>{rows}</tbody></table></div>{note}"


def _class(kind: str) -> str:
    return f" class='{kind}'" if kind else ""
