"""Draws lines over logarithmic axes as SVG."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

STYLE = {"svg.fonttype": "none", "svg.hashsalt": "benchmarks", "font.size": 9}
"""Text stays text, and the same picture is the same file."""

_PANEL_INCHES = (5.6, 3.2)

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One chart.

    Attributes:
        title: Above it.
        x_label: With the unit.
        y_label: With the unit.
        lines: Points by name, x and y above 0.
        bands: Areas by the name of their line: their lower edge, then their upper edge.
        linear: Whether y begins at 0 and grows evenly.
    """

    title: str
    x_label: str
    y_label: str
    lines: Mapping[str, Points]
    bands: Mapping[str, tuple[Points, Points]] = field(default_factory=dict)
    linear: bool = False


def svg(panels: Sequence[Panel]) -> str:
    """The panels beside each other."""
    width, height = _PANEL_INCHES
    with rc_context(STYLE):
        figure = Figure(figsize=(width * len(panels), height), layout="constrained")
        for axes, panel in zip(
            figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
        ):
            _draw(axes, panel)
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()


def _draw(axes: Axes, panel: Panel) -> None:
    for name, line in panel.lines.items():
        (drawn,) = axes.plot(*zip(*line, strict=True), marker="o", markersize=4, label=name)
        if name in panel.bands:
            low, high = panel.bands[name]
            x, lower = zip(*low, strict=True)
            upper = [value for _, value in high]
            axes.fill_between(x, lower, upper, color=drawn.get_color(), alpha=0.15, linewidth=0)
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    below_one = any(x < 1 for line in panel.lines.values() for x, _ in line)
    axes.set_xscale("log", base=10 if below_one else 2)
    axes.xaxis.set_major_formatter(FuncFormatter(_number))
    if panel.linear:
        axes.set_ylim(bottom=0)
    else:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_major_formatter(FuncFormatter(_number))
    axes.grid(axis="y", color="#dddddd")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _number(value: float, _: object = None) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
