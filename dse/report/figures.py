"""Pictures in two steps: data that tests can check, then drawing."""

from dataclasses import dataclass
from typing import Any

from dse.objectives import OBJECTIVES
from dse.report.amounts import short_names, show_objective, show_value
from dse.results.result import StudyResult
from dse.study.trials import Trial

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
