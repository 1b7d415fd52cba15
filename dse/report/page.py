"""The report of a study: one page that opens without a network."""

import html
import importlib.util
from dataclasses import dataclass
from typing import Any

from dse.fidelity.told import fidelity_lines
from dse.objectives import OBJECTIVES
from dse.proof.told import gap_lines
from dse.provenance import changed_since, provenance_lines
from dse.report.amounts import short_names, show_amount, show_objective, show_value
from dse.report.front_table import FrontTable, front_table
from dse.report.measured import front_accelerators, front_bands
from dse.report.prices import price_sensitivity, told
from dse.results.failures import failure_lines
from dse.results.notes import note_lines
from dse.results.regret import regret_lines
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import files_kept

_STYLE = """
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
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{html.escape(title)}</h1>",
        _summary(result),
        "<h2>Pareto front</h2>",
        _picture(result),
        _table(front_table(result)),
        *(f"<p>Measured against: {html.escape(band)}.</p>" for band in front_bands(result)),
        *(f"<p>Accelerator {html.escape(told)}.</p>" for told in front_accelerators(result)),
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


MAX_POINTS = 5000
"""Most dominated points in a picture; the newest are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Points of one kind.

    Attributes:
        name: For the legend.
        x: First objective.
        y: Second objective, or the number of the trial if there is only one.
        color: Third objective, or None.
        hover: One text per point.
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    color: tuple[float, ...] | None
    hover: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontData:
    """Data of the picture of a front.

    Attributes:
        x_label: With its unit.
        y_label: With its unit.
        y_axis: ``log``, or ``linear`` for the number of the trial.
        color_label: With its unit, or empty.
        dominated: Feasible designs off the front.
        front: The front, by the first objective.
    """

    x_label: str
    y_label: str
    y_axis: str
    color_label: str
    dominated: Cloud
    front: Cloud


def front_data(result: StudyResult) -> FrontData:
    """The data of the picture of a study's front."""
    names = list(result.study.goals.objectives)
    front = [result.rows[index] for index in result.front]
    on_front = {row.number for row in front}
    others = [row for row in result.compared if row.number not in on_front]
    return FrontData(
        x_label=_label(names[0]),
        y_label=_label(names[1]) if len(names) > 1 else "trial",
        y_axis="log" if len(names) > 1 else "linear",
        color_label=_label(names[2]) if len(names) > 2 else "",
        dominated=_cloud("feasible", others[-MAX_POINTS:], result, names),
        front=_cloud("Pareto front", front, result, names),
    )


def draw_front(data: FrontData) -> Any:
    """The picture, as a plotly figure."""
    from plotly.graph_objects import Figure

    figure = Figure()
    for cloud, size, shape in ((data.dominated, 6, "circle"), (data.front, 11, "diamond")):
        is_front = cloud is data.front
        marker: dict[str, Any] = {"size": size, "symbol": shape}
        if cloud.color is None:
            marker["color"] = "#c8102e" if is_front else "#9db4c0"
        else:
            marker |= {"color": list(cloud.color), "coloraxis": "coloraxis"}
        figure.add_scatter(
            x=list(cloud.x),
            y=list(cloud.y),
            mode="lines+markers" if is_front and cloud.color is None else "markers",
            line={"shape": "hv", "width": 1, "color": "#c8102e"},
            name=cloud.name,
            marker=marker,
            hovertext=list(cloud.hover),
            hoverinfo="text",
        )
    figure.update_layout(
        template="plotly_white",
        xaxis={"title": data.x_label, "type": "log"},
        yaxis={"title": data.y_label, "type": data.y_axis},
        coloraxis={"colorbar": {"title": data.color_label}, "colorscale": "Viridis"},
        legend={"orientation": "h"},
        hoverlabel={"align": "left"},
        height=560,
        margin={"t": 30},
    )
    return figure


def _label(name: str) -> str:
    objective = OBJECTIVES[name]
    return f"{objective.label} ({objective.unit})" if objective.unit else objective.label


def _cloud(name: str, trials: list[Trial], result: StudyResult, names: list[str]) -> Cloud:
    def values(index: int) -> tuple[float, ...]:
        return tuple(trial.evaluation.objectives[names[index]] for trial in trials)

    return Cloud(
        name=name,
        x=values(0),
        y=values(1) if len(names) > 1 else tuple(float(trial.number) for trial in trials),
        color=values(2) if len(names) > 2 else None,
        hover=tuple(_hover(trial, result) for trial in trials),
    )


def _hover(trial: Trial, result: StudyResult) -> str:
    parameters = result.study.space.parameters
    short = short_names(list(parameters))
    lines = [f"<b>trial {trial.number}</b>"]
    for name, value in trial.evaluation.objectives.items():
        lines.append(f"{OBJECTIVES[name].label}: {show_objective(name, value)}")
    for name, knob in trial.design.items():
        lines.append(f"{short[name]}: {show_value(parameters[name], knob)}")
    return "<br>".join(lines)
