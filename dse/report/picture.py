"""The picture of a front: data first, then the drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10
from typing import Any

import numpy as np

from dse.objectives import OBJECTIVES
from dse.report.amounts import said_unit, short_names, show_objective, show_value
from dse.results.result import StudyResult
from dse.study.memory_marks import memory_mark
from dse.study.trials import Trial

MAX_POINTS = 5000
"""Most dominated points in a picture; those in the view first, then the newest."""

MARGIN, BEYOND = 0.08, 0.5
"""Parts of a front's length that the view reaches before its best end and beyond its worst."""

LEAST_SPAN = 0.05
"""Decades that a view covers at least."""

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """Points of one kind.

    Attributes:
        name: For the legend.
        x: First objective.
        y: Second objective, or the number of the trial if there is only one.
        color: Third objective as the part of the front that is better, 0 to 1; or None.
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
        color_ticks: Values of the third objective at quantiles of the front, in words.
        dominated: Feasible designs off the front.
        front: The front, by the first objective.
        baseline: The design that there is already; none or one.
        view: Ends of both axes, x then y; None: all that there is.
        beyond: Dominated designs outside of the view, in words; empty: there are none.
    """

    x_label: str
    y_label: str
    y_axis: str
    color_label: str
    color_ticks: tuple[str, ...]
    dominated: Cloud
    front: Cloud
    baseline: Cloud
    view: tuple[tuple[float, float], tuple[float, float]] | None
    beyond: str


def front_data(result: StudyResult) -> FrontData:
    """The data of the picture of a study's front; what is not near the front is out of view."""
    names = list(result.study.goals.objectives)
    front = [result.rows[index] for index in result.front]
    on_front = {row.number for row in front}
    others = [row for row in result.compared if row.number not in on_front]
    found = result.baseline
    baseline = [found] if found is not None and found.evaluation.objectives else []
    view = _view(names, front + baseline) if len(names) > 1 else None
    is_seen = [view is None or _is_inside(names, row, view) for row in others]
    seen = [row for row, inside in zip(others, is_seen, strict=True) if inside]
    hidden = [row for row, inside in zip(others, is_seen, strict=True) if not inside]
    shown = (hidden + seen)[-MAX_POINTS:]
    scale = _Colors(names, front)
    return FrontData(
        x_label=_label(names[0]),
        y_label=_label(names[1]) if len(names) > 1 else "trial",
        y_axis="log" if len(names) > 1 else "linear",
        color_label=_label(names[2]) if len(names) > 2 else "",
        color_ticks=scale.ticks,
        dominated=_cloud("feasible", shown, result, scale),
        front=_cloud("Pareto front", front, result, scale),
        baseline=_cloud("as it is", baseline, result, scale),
        view=view,
        beyond=_beyond(names, hidden),
    )


class _Colors:
    """Third objective as the part of the front that is no larger: outliers use up no colours."""

    def __init__(self, names: Sequence[str], front: Sequence[Trial]) -> None:
        self._name = names[2] if len(names) > 2 else ""
        values = [row.evaluation.objectives[self._name] for row in front] if self._name else []
        self._known = np.unique(np.array(values, np.float64))
        self.ticks: tuple[str, ...] = ()
        if values:
            marks = np.quantile(self._known, _QUANTILES).tolist()
            self.ticks = tuple(show_objective(self._name, value) for value in marks)

    def of(self, rows: Sequence[Trial]) -> tuple[float, ...] | None:
        if not self._name:
            return None
        values = [row.evaluation.objectives[self._name] for row in rows]
        known = self._known
        return tuple(np.interp(values, known, np.linspace(0.0, 1.0, known.size)).tolist())


def _view(
    names: Sequence[str], rows: Sequence[Trial]
) -> tuple[tuple[float, float], tuple[float, float]] | None:
    """Ends of both axes around *rows*; None where a logarithm does not exist."""
    ends = []
    for name in names[:2]:
        values = [row.evaluation.objectives[name] for row in rows]
        if not values or min(values) <= 0:
            return None
        low, high = log10(min(values)), log10(max(values))
        span = max(high - low, LEAST_SPAN)
        near, far = MARGIN * span, BEYOND * span
        if OBJECTIVES[name].sense == "maximise":
            near, far = far, near
        factor = said_unit(OBJECTIVES[name].unit)[0]
        ends.append((factor * 10 ** (low - near), factor * 10 ** (high + far)))
    return ends[0], ends[1]


def _is_inside(
    names: Sequence[str], row: Trial, view: tuple[tuple[float, float], tuple[float, float]]
) -> bool:
    found = (_said(name, row) for name in names[:2])
    return all(low <= value <= high for value, (low, high) in zip(found, view, strict=True))


def _beyond(names: Sequence[str], hidden: Sequence[Trial]) -> str:
    """Designs that the view leaves out, and how far they reach."""
    if not hidden:
        return ""
    worst = []
    for name in names[:2]:
        values = [row.evaluation.objectives[name] for row in hidden]
        pick = min(values) if OBJECTIVES[name].sense == "maximise" else max(values)
        worst.append(f"{OBJECTIVES[name].label} {show_objective(name, pick)}")
    return f"{len(hidden):,} dominated designs lie beyond this view, up to {' and '.join(worst)}"


def draw_front(data: FrontData) -> Any:
    """The picture, as a plotly figure; a double click shows all designs."""
    from plotly.graph_objects import Figure

    figure = Figure()
    kinds = ((data.dominated, 6, "circle"), (data.front, 11, "diamond"), (data.baseline, 14, "x"))
    for cloud, size, shape in kinds:
        if cloud is data.baseline and not cloud.x:
            continue
        is_front = cloud is data.front
        marker: dict[str, Any] = {"size": size, "symbol": shape}
        if cloud.color is None or cloud is data.baseline:
            marker["color"] = "#c8102e" if is_front else "#9db4c0"
            marker["color"] = "#222" if cloud is data.baseline else marker["color"]
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
    _lay_out(figure, data)
    return figure


def _lay_out(figure: Any, data: FrontData) -> None:
    """Axes, colours and what lies beyond the view."""
    axes: list[dict[str, Any]] = [
        {"title": data.x_label, "type": "log"},
        {"title": data.y_label, "type": data.y_axis},
    ]
    if data.view is not None:
        for axis, ends in zip(axes, data.view, strict=True):
            axis["range"] = [log10(end) for end in ends]
    bar = {"title": data.color_label, "tickvals": list(_QUANTILES), "ticktext": data.color_ticks}
    figure.update_layout(
        template="plotly_white",
        xaxis=axes[0],
        yaxis=axes[1],
        coloraxis={"colorbar": bar, "colorscale": "Viridis", "cmin": 0.0, "cmax": 1.0},
        legend={"orientation": "h"},
        hoverlabel={"align": "left"},
        height=560,
        margin={"t": 30},
    )
    if data.beyond:
        figure.add_annotation(
            text=f"{data.beyond} ▸",
            xref="paper",
            yref="paper",
            x=1.0,
            y=1.0,
            xanchor="right",
            yanchor="bottom",
            showarrow=False,
            font={"color": "#666"},
        )


def draw_course(proposals: Sequence[int], shares: Sequence[float]) -> Any:
    """Hypervolume over proposals, as a plotly figure."""
    from plotly.graph_objects import Figure

    figure = Figure()
    figure.add_scatter(x=list(proposals), y=[100 * share for share in shares], mode="lines+markers")
    figure.update_layout(
        template="plotly_white",
        xaxis={"title": "proposals", "rangemode": "tozero"},
        yaxis={"title": "hypervolume of the last front (%)", "rangemode": "tozero"},
        height=300,
        margin={"t": 20},
    )
    return figure


def _label(name: str) -> str:
    objective = OBJECTIVES[name]
    unit = said_unit(objective.unit)[1]
    return f"{objective.label} ({unit})" if unit else objective.label


def _said(name: str, row: Trial) -> float:
    """An objective in the unit that people say."""
    return row.evaluation.objectives[name] * said_unit(OBJECTIVES[name].unit)[0]


def _cloud(name: str, trials: Sequence[Trial], result: StudyResult, scale: _Colors) -> Cloud:
    names = list(result.study.goals.objectives)

    def values(index: int) -> tuple[float, ...]:
        return tuple(_said(names[index], trial) for trial in trials)

    return Cloud(
        name=name,
        x=values(0),
        y=values(1) if len(names) > 1 else tuple(float(trial.number) for trial in trials),
        color=scale.of(trials),
        hover=tuple(_hover(trial, result) for trial in trials),
    )


def _hover(trial: Trial, result: StudyResult) -> str:
    parameters = result.study.space.parameters
    short = short_names(list(parameters))
    lines = [f"<b>trial {trial.number}</b>"]
    for name, value in trial.evaluation.objectives.items():
        lines.append(f"{OBJECTIVES[name].label}: {show_objective(name, value)}")
    if mark := memory_mark(trial.evaluation.metrics):
        lines.append(f"<b>memory {mark}</b>")
    for name, knob in trial.design.items():
        lines.append(f"{short[name]}: {show_value(parameters[name], knob)}")
    return "<br>".join(lines)
