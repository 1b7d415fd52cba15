"""The front of a study as a figure for notebooks."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from dse.objectives import OBJECTIVES
from dse.study.trials import Trial
from simcore import ConfigError

MOST_SHOWN = 5_000
"""Feasible designs off the front that are drawn; the newest."""


def plot_front(senses: Mapping[str, str], rows: Sequence[Trial], front: Sequence[Trial]) -> Any:
    """Figure of plotly: the first two objectives, or one over the number of the trial.

    Args:
        senses: Objectives with their senses.
        rows: Feasible trials that were compared.
        front: Of these, the ones that none dominates.

    Raises:
        ConfigError: There is no feasible design, or plotly is not installed.
    """
    if not front:
        raise ConfigError("study", "must have a feasible design to be plotted", got="none")
    if find_spec("plotly") is None:
        rule = "needs plotly: pip install 'simcore-dse[report]'"
        raise ConfigError("plot", rule, got="no plotly")
    from plotly.graph_objects import Figure

    names = list(senses)[:2]
    on_front = {row.number for row in front}
    others = [row for row in rows if row.number not in on_front][-MOST_SHOWN:]
    figure = Figure()
    for name, chosen, look in (
        ("feasible", others, {"color": "#9aa7bd", "size": 5}),
        ("Pareto front", front, {"color": "#c8702a", "size": 9}),
    ):
        figure.add_scatter(
            name=name,
            x=[row.evaluation.objectives[names[0]] for row in chosen],
            y=[_second(row, names) for row in chosen],
            text=[_told(row) for row in chosen],
            mode="markers",
            marker=look,
        )
    titles = [_title(name, senses) for name in names]
    kind = "log" if len(names) > 1 else "linear"
    figure.update_layout(
        template="plotly_white",
        xaxis={"title": titles[0], "type": kind},
        yaxis={"title": titles[1] if len(titles) > 1 else "trial", "type": kind},
    )
    return figure


def _second(row: Trial, names: Sequence[str]) -> float:
    return row.evaluation.objectives[names[1]] if len(names) > 1 else float(row.number)


def _title(name: str, senses: Mapping[str, str]) -> str:
    objective = OBJECTIVES[name]
    unit = f" ({objective.unit})" if objective.unit else ""
    return f"{objective.label}{unit}, {senses[name]}d"


def _told(row: Trial) -> str:
    knobs = "<br>".join(f"{name}: {value}" for name, value in row.design.items())
    return f"trial {row.number}<br>{knobs}"
