"""Draws the designs of a study, their Pareto front and the run that it starts from: time and cost.

python -m dse study llm_gpt.yaml --trials 1000 --out front
python benchmarks/front_picture.py front --svg docs/images/llm_gpt_front.svg
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
from chart import STYLE
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

TIME_S, COST_USD = "objectives.iteration_time", "objectives.capital_cost"
DOTS, FRONT = "#b8c4d6", "#c2410c"
APART = 0.13
"""Labels stand at points that differ by this share in time or in cost."""


def picture(trials: pd.DataFrame, front: pd.DataFrame, run: Mapping[str, float] | None) -> Figure:
    """All complete designs as dots, the front as steps with plans beside it, the run as a cross."""
    front = front.sort_values(TIME_S)
    figure = Figure(figsize=(9.2, 5.4), layout="constrained")
    axes = figure.subplots()
    axes.set_rasterization_zorder(1)  # thousands of dots as text would be a large file
    axes.plot(
        trials[TIME_S],
        trials[COST_USD] / 1e6,
        ".",
        color=DOTS,
        zorder=0.5,
        label="simulated designs",
    )
    steps = front[TIME_S], front[COST_USD] / 1e6
    axes.step(*steps, where="post", color=FRONT, linewidth=1.2, zorder=3)
    axes.plot(*steps, "o", color=FRONT, markersize=5, zorder=3, label="Pareto front")
    if run is not None:
        at = run["iteration_time"], run["capital_cost"] / 1e6
        axes.plot(*at, "x", color="#222", markersize=8, zorder=4, label="run of the study as it is")
    for at, text in labels(front):
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.7, "pad": 1}
        place = {"xytext": (7, 6), "textcoords": "offset points"}
        axes.annotate(text, at, **place, fontsize=7.5, zorder=4, bbox=behind)
    frame(axes, trials, front)
    return figure


def labels(front: pd.DataFrame) -> Iterator[tuple[tuple[float, float], str]]:
    """Plan and first dimension of designs of the front that stand apart."""
    last: tuple[float, float] | None = None
    for row in front.to_dict("records"):
        here = row[TIME_S], row[COST_USD] / 1e6
        if last and all(
            abs(one / other - 1) < APART for one, other in zip(here, last, strict=True)
        ):
            continue
        last = here
        tp, pp, dp = (row[f"params.plan.{axis}"] for axis in ("tp", "pp", "dp"))
        npus = row["params.platform.dimensions[0].npus"]
        yield here, f"tp {tp:.0f} pp {pp:.0f} dp {dp:.0f}, servers of {npus:.0f}"


def frame(axes: Axes, trials: pd.DataFrame, front: pd.DataFrame) -> None:
    """Logarithmic axes over the front and most of the designs."""
    axes.set(xscale="log", yscale="log")
    axes.set(xlabel="iteration time, s", ylabel="capital cost, million USD")
    axes.set_xlim(front[TIME_S].min() * 0.97, trials[TIME_S].quantile(0.97))
    dearest_usd = max(front[COST_USD].max(), trials[COST_USD].quantile(0.9))
    axes.set_ylim(front[COST_USD].min() / 1e6 * 0.97, dearest_usd / 1e6 * 1.05)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.tick_params(which="both", labelsize=8)
    axes.grid(alpha=0.25, which="both")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="upper right")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", type=Path, help="folder of a study")
    parser.add_argument("--svg", type=Path, required=True)
    given = parser.parse_args()
    trials = pd.read_parquet(given.study / "trials.parquet")
    front = pd.read_csv(given.study / "pareto.csv")
    summary = json.loads((given.study / "summary.json").read_text(encoding="utf-8"))
    run = summary.get("baseline", {}).get("objectives") or None
    with rc_context(STYLE):
        figure = picture(trials[trials["state"] == "complete"], front, run)
        figure.savefig(given.svg, dpi=150, metadata={"Date": None})


if __name__ == "__main__":
    main()
