"""Scatter plots of predicted against measured times, as SVG text."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from io import StringIO

from simcore.errors import ConfigError

_COLOURS = ("#1f6fb4", "#d1691c", "#2b8a3e", "#a33aa0", "#8a6d00", "#c2255c", "#0b7285")
_OTHERS = "#5c5f66"


def scatter(series: Mapping[str, Sequence[tuple[float, float]]], title: str) -> str:
    """Points (measured, predicted) in seconds, both axes logarithmic, with the lines of ±20 %.

    The largest series have colours of their own, the others share one.

    Raises:
        ConfigError: matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        rule = "the pictures need matplotlib: install simcore-dse[report]"
        raise ConfigError("validation report", rule, got="no matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    ordered = sorted(series, key=lambda name: -len(series[name]))
    others = len(ordered) - len(_COLOURS)
    colours = [*_COLOURS, *[_OTHERS] * others][: len(ordered)]
    legend = list(zip(ordered, _COLOURS, strict=False))
    if others > 0:
        legend.append((f"{others} others", _OTHERS))
    points = [
        (*point, colour)
        for name, colour in zip(ordered, colours, strict=True)
        for point in series[name]
    ]
    measured_s, predicted_s, drawn = zip(*points, strict=True)
    ends = min(*measured_s, *predicted_s) / 1.3, max(*measured_s, *predicted_s) * 1.3
    # text stays text, and the same picture is the same file
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "simcore", "font.size": 9}):
        figure = Figure(figsize=(10.0, 5.2), layout="constrained")
        axes = figure.subplots()
        for factor, style in ((1.0, "-"), (1.2, "--"), (1 / 1.2, "--")):
            axes.plot(ends, [factor * end for end in ends], style, color="#888888", linewidth=0.8)
        # thousands of points as text would be a large file
        axes.scatter(measured_s, predicted_s, s=9, c=drawn, alpha=0.6, zorder=2, rasterized=True)
        for name, colour in legend:
            axes.plot([], [], "o", color=colour, markersize=4, label=name)
        axes.set(title=title, xlabel="measured, s", ylabel="predicted, s", xlim=ends, ylim=ends)
        axes.set(xscale="log", yscale="log", aspect="equal")
        axes.grid(color="#dddddd")
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
        text = StringIO()
        figure.savefig(text, format="svg", dpi=150, metadata={"Date": None})
    return text.getvalue()
