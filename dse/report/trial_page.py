"""The page of one trial: its explanation, which opens without a network."""

import html
from collections.abc import Sequence

from dse.report.page.page import style
from dse.report.sections import ReportSection


def trial_page(question: str, sections: Sequence[ReportSection]) -> str:
    """The explanation of a trial as HTML.

    Args:
        question: Of the study.
        sections: As of ``explain_trial``.
    """
    first, *rest = sections
    title = html.escape(f"{question or 'Study'}: {first.title}")
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{title}</title><style>{style()}</style></head><body>",
        f"<h1>{html.escape(question or 'Study')}</h1>",
        *(_section(section) for section in (first, *rest)),
        "</body></html>",
    ]
    return "\n".join(parts)


def _section(section: ReportSection) -> str:
    head = f"<h2>{html.escape(section.title)}</h2>"
    if section.is_told:
        return head + "".join(f"<p>{html.escape(line)}</p>" for line, *_ in section.lines)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>"
        for line in section.lines
    )
    return f"{head}<div class='wide'><table>{rows}</table></div>"
