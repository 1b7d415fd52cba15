"""A picture of a run: queues, rates, pauses, and how long flows took."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from simcore.errors import ConfigError
from simcore.packets.run import Outcome
from simcore.packets.views.series import Series

MOST_LINES = 8
"""Queues, and flows, that are drawn: the fullest, and the first."""


def draw(path: Path, outcome: Outcome, series: Series) -> None:
    """Write a picture of a run; its kind is that of the suffix of *path*.

    Args:
        path: File to write.
        outcome: Result of the run.
        series: Its samples.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    if find_spec("matplotlib") is None:
        rule = "needs matplotlib: install simcore-dse[report]"
        raise ConfigError("--plot", rule, got="no matplotlib")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    _draw_queues(panels[0, 0], series)
    _draw_rates(panels[0, 1], series)
    times, pauses = series.pauses()
    panels[1, 0].step(times / 1000, pauses, where="post")
    _name(panels[1, 0], "pauses received so far", "time, us", "frames")
    taken = sorted(row[3] for row in outcome.flows if row[3] is not None)
    shares = [(number + 1) / len(outcome.flows) for number in range(len(taken))]
    panels[1, 1].step([time_ns / 1000 for time_ns in taken], shares, where="post")
    _name(panels[1, 1], "flows that take at most so long", "time of a flow, us", "share of all")
    panels[1, 1].set_ylim(0, 1.02)
    try:
        with rc_context({"svg.hashsalt": "simcore"}):
            figure.savefig(path, metadata=None if path.suffix == ".png" else {"Date": None})
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None
    except ValueError:  # a suffix that is no kind of picture
        raise ConfigError("--plot", "must end in .svg, .png or .pdf", got=path.name) from None


def _draw_queues(panel: Any, series: Series) -> None:
    queues = series.queues()
    fullest = sorted(queues, key=lambda key: (-int(queues[key][1].max()), key))[:MOST_LINES]
    for node, to in sorted(fullest):
        times, depths = queues[node, to]
        panel.plot(times / 1000, depths / 1000, ".", label=f"{node} to {to}", markersize=2)
    _name(panel, "fullest queues", "time, us", "kB")


def _draw_rates(panel: Any, series: Series) -> None:
    for flow, (times, rates) in list(series.rates().items())[:MOST_LINES]:
        panel.step(times / 1000, rates / 1e9, label=f"{flow}", where="post", linewidth=0.8)
    _name(panel, "rates of flows", "time, us", "Gb/s")


def _name(panel: Any, title: str, across: str, up: str) -> None:
    panel.set_title(title)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    panel.set_ylim(bottom=0)
    if panel.get_legend_handles_labels()[1]:
        panel.legend(fontsize="small")
