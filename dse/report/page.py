"""The report of a study: one page that opens without a network."""

import html
import importlib.util

from dse.fidelity.told import fidelity_lines
from dse.proof.told import gap_lines
from dse.provenance import changed_since, provenance_lines
from dse.report.amounts import show_amount
from dse.report.baseline import baseline_lines
from dse.report.choice import choice_lines, short_list
from dse.report.front_table import FrontTable, front_table
from dse.report.measured import front_accelerators, front_bands
from dse.report.picture import draw_course, draw_front, front_data
from dse.report.prices import price_sensitivity, told
from dse.results.failures import failure_lines
from dse.results.notes import note_lines
from dse.results.regret import regret_lines
from dse.results.result import StudyResult
from simcore import files_kept

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; }
body { margin: 2rem auto; max-width: 76rem; padding: 0 1.5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #ddd; text-align: left; }
th { background: #f4f6f8; position: sticky; top: 0; }
.wide { overflow-x: auto; }
.quiet { color: #666; }
"""


def report_page(result: StudyResult) -> str:
    """The report as HTML; without plotly it has the tables only, and says so."""
    with files_kept(result.study.files):
        return _page(result)


def _page(result: StudyResult) -> str:
    study = result.study
    title = study.file.question or "Study"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        _summary(result),
        _choice(result),
        "<h2>Pareto front</h2>",
        _picture(result),
        _table(front_table(result)),
        *(f"<p>Measured against: {html.escape(band)}.</p>" for band in front_bands(result)),
        *(f"<p>Accelerator {html.escape(told)}.</p>" for told in front_accelerators(result)),
        _course(result),
        _prices(result),
        "</body></html>",
    ]
    return "\n".join(parts)


def _summary(result: StudyResult) -> str:
    summary = result.summary
    cells = []
    for key in (
        "proposals",
        "evaluated",
        "infeasible",
        "pruned",
        "failed",
        "duplicates",
        "front_size",
    ):
        cells.append((key.replace("_", " "), str(summary.get(key, "-"))))
    if summary.get("hypervolume") is not None:
        axes = summary.get("hypervolume_axes")
        cells.append(("hypervolume", f"{summary['hypervolume']:.6g} ({axes} axes)"))
        units = summary.get("units", {})
        corner = ", ".join(
            f"{name} {show_amount(value, units.get(name, ''))}"
            for name, value in summary["reference_point"].items()
        )
        cells.append(("reference point", f"{corner}; {summary['reference_point_rule']}"))
    changed = changed_since(result.provenances[-1:])
    cells += [("baseline", line) for line in baseline_lines(result)]
    cells += [("mixed", line) for line in provenance_lines(summary)]
    cells += [("changed", line) for line in changed]
    cells += [("failures", line) for line in failure_lines(summary)]
    cells += [("fidelity", line) for line in fidelity_lines(summary)]
    cells += [("regret", line) for line in regret_lines(summary)]
    cells += [("proven", line) for line in gap_lines(summary)]
    cells += [("note", line) for line in note_lines(summary)]
    cells.append(("sampler", f"{summary.get('sampler')}, seed {summary.get('seed')}"))
    cells.append(("evaluator", str(summary.get("evaluator"))))
    if summary.get("wall_s"):
        rate = summary.get("evaluations_per_s") or 0.0
        cells.append(("time", f"{summary['wall_s']:.1f} s, {rate:.1f} evaluations per second"))
    rows = "".join(
        f"<tr><th>{html.escape(key)}</th><td>{html.escape(value)}</td></tr>" for key, value in cells
    )
    return f"<table>{rows}</table>"


def _picture(result: StudyResult) -> str:
    if not result.front:
        return "<p>No feasible design was found.</p>"
    if importlib.util.find_spec("plotly") is None:
        return (
            "<p class='quiet'>The picture needs plotly: install simcore-dse[report] and run "
            "<code>dse report</code> on this folder again.</p>"
        )
    figure = draw_front(front_data(result))
    return str(figure.to_html(full_html=False, include_plotlyjs=True))


def _choice(result: StudyResult) -> str:
    """The short list, and what to know before choosing; nothing without a feasible design."""
    if not result.front:
        return ""
    items = "".join(f"<li>{html.escape(line)}</li>" for line in choice_lines(result))
    return f"<h2>Recommended</h2>{_table(short_list(result))}<ul>{items}</ul>"


def _course(result: StudyResult) -> str:
    """Hypervolume over proposals; nothing without plotly, or without a feasible design."""
    found = result.summary.get("convergence")
    if not found or importlib.util.find_spec("plotly") is None:
        return ""
    figure = draw_course(found["proposals"], found["hypervolume"])
    return f"<h2>Progress</h2>{figure.to_html(full_html=False, include_plotlyjs=False)}"


def _table(table: FrontTable) -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in table.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>"
        for row in table.rows
    )
    common = ", ".join(f"{name} {value}" for name, value in table.common)
    note = f"<p class='quiet'>The same all along: {html.escape(common)}.</p>" if common else ""
    return f"<div class='wide'><table><tr>{head}</tr>{rows}</table></div>{note}"


def _prices(result: StudyResult) -> str:
    """Prices that decide who wins; nothing where the study has no costs."""
    found = price_sensitivity(result)
    if not found:
        return ""
    parts = ["<h2>Prices that decide</h2>"]
    for entry in found:
        first, *moves = (html.escape(line) for line in told(entry))
        items = "".join(f"<li>{move}</li>" for move in moves)
        lines = html.escape(", ".join(entry.lines))
        parts.append(f"<p>{first}</p><ul>{items}</ul><p class='quiet'>It depends on {lines}.</p>")
    return "".join(parts)
