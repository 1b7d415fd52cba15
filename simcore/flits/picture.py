"""Latency against load, and how much each link is used: figures, and a picture of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError, SimcoreError
from simcore.flits.case import Case, read_case
from simcore.flits.simulate import link_use
from simcore.kernels.flits.network import NOWHERE

Floats = NDArray[np.float64]

MOST_MAPS = 4
"""Networks of which links are drawn: the first."""
_GRIDS = ("mesh", "torus")
_KINDS = (".svg", ".png", ".pdf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Latency of a network by what is offered.

    Attributes:
        offered: Flits per node and cycle, rising.
        latency: Mean cycles of a packet at each; NaN: there is no steady state.
    """

    name: str
    offered: tuple[float, ...]
    latency: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkMap:
    """Flits per cycle between routers.

    Attributes:
        name: Of the network, and what was offered.
        use: (R, R) float64, from each router to each other one; NaN: no link leads there.
        side: Routers along each of the two dimensions of a grid; 0: it is none.
    """

    name: str
    use: Floats
    side: int


def curves(
    results: Mapping[str, Mapping[str, Any]], cases: Sequence[Mapping[str, Any]]
) -> list[Curve]:
    """Curves of all networks that have a point with a load."""
    found = []
    for entry in cases:
        result, asked = results[str(entry["id"])], entry.get("points") or []
        pairs = sorted(
            (float(point["offered"]), _latency(told))
            for point, told in zip(asked, result["points"], strict=False)
            if "offered" in point and point.get("kind") != "saturation"
        )
        if pairs:
            offered, latency = zip(*pairs, strict=True)
            found.append(Curve(name=str(entry["id"]), offered=offered, latency=latency))
    return found


def _latency(told: Mapping[str, Any]) -> float:
    mean = told.get("packet_latency", {}).get("mean", np.nan)
    return float(mean) if told.get("unstable", 0) == 0 else float("nan")


def link_map(
    entry: Mapping[str, Any], tables: Mapping[str, Sequence[int]], folder: Path
) -> LinkMap:
    """Use of the links of a case at the highest load that is asked for, or by its batch.

    Raises:
        ConfigError: A parameter breaks its rule.
    """
    config = entry["config"]
    case = read_case(config, folder)
    loads = [float(point["offered"]) for point in entry["points"] if "offered" in point]
    rate = 0.0 if case.batch else max(loads)
    flits = link_use(case, tables, 1, rate)
    told = "a batch" if case.batch else f"{rate:g} offered"
    grid = str(config.get("topology")) in _GRIDS and int(config.get("n", 0)) == 2
    return LinkMap(
        name=f"{entry['id']}, {told}",
        use=_between(case, flits),
        side=int(config["k"]) if grid else 0,
    )


def _between(case: Case, flits: Floats) -> Floats:
    to = np.asarray(case.links.router)
    use = np.full((len(to), len(to)), np.nan)
    for router, port in zip(*np.nonzero((to >= 0) & (to != NOWHERE)), strict=True):
        place = router, to[router, port]
        use[place] = max(flits[router, port], 0.0 if np.isnan(use[place]) else use[place])
    return use


def check_plot(path: Path) -> None:
    """Check, before anything is simulated, that a picture can be written to *path*.

    Raises:
        ConfigError: matplotlib is not installed, or the suffix is of no kind of picture.
    """
    if path.suffix not in _KINDS:
        raise ConfigError("--plot", "must end in .svg, .png or .pdf", got=path.name)
    if find_spec("matplotlib") is None:
        rule = "needs matplotlib: install simcore-dse[report]"
        raise ConfigError("--plot", rule, got="no matplotlib")


def draw(
    path: Path,
    tables: Mapping[str, Sequence[int]],
    cases: Sequence[Mapping[str, Any]],
    results: Mapping[str, Mapping[str, Any]],
    folder: Path,
) -> None:
    """Write a picture: latency against load of all networks, and the links of the first ones.

    Args:
        path: File to write; its kind is that of its suffix.
        tables: Permutations by name.
        cases: Of the manifest.
        results: Of all of them, by id.
        folder: Where files of networks are looked for.

    Raises:
        ConfigError: matplotlib is not installed, or the file cannot be written.
    """
    check_plot(path)
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    fine = [entry for entry in cases if results[str(entry["id"])]["status"] == "ok"]
    maps = list[LinkMap]()
    for entry in fine[:MOST_MAPS]:
        try:
            maps.append(link_map(entry, tables, folder))
        except (SimcoreError, ValueError):  # nothing is offered, or it comes to a standstill
            continue
    lines, panels = curves(results, fine), len(maps)
    columns = min(panels + bool(lines), 3) or 1
    rows = -(-(panels + bool(lines)) // columns) or 1
    figure = Figure(figsize=(5.2 * columns, 4.4 * rows), layout="constrained")
    axes = list(np.ravel(figure.subplots(rows, columns, squeeze=False)))
    if lines:
        _draw_curves(axes.pop(0), lines)
    for one in maps:
        _draw_map(axes.pop(0), one)
    for unused in axes:
        unused.set_axis_off()
    try:
        with rc_context({"svg.hashsalt": "simcore"}):
            figure.savefig(path, metadata=None if path.suffix == ".png" else _undated(path))
    except OSError as error:
        raise ConfigError(str(path), "must be writable", got=error.strerror) from None


def _undated(path: Path) -> dict[str, None]:
    return {"CreationDate" if path.suffix == ".pdf" else "Date": None}


def _draw_curves(panel: Any, lines: Sequence[Curve]) -> None:
    for line in lines:
        (drawn,) = panel.plot(line.offered, line.latency, "o-", label=line.name, markersize=4)
        lost = [x for x, y in zip(line.offered, line.latency, strict=True) if np.isnan(y)]
        for x in lost[:1]:
            panel.axvline(x, color=drawn.get_color(), linestyle=":", linewidth=1)
    panel.set_title("latency against load (dotted: no steady state)")
    panel.set_xlabel("offered, flits per node and cycle")
    panel.set_ylabel("latency of a packet, cycles")
    panel.set_xlim(left=0)
    panel.set_ylim(bottom=0)
    panel.legend(fontsize="small")


def _draw_map(panel: Any, one: LinkMap) -> None:
    if one.side:
        shown = _draw_grid(panel, one)
    else:
        shown = panel.imshow(one.use, cmap="inferno_r", vmin=0, vmax=1, interpolation="nearest")
        panel.set_xlabel("to router")
        panel.set_ylabel("from router")
    panel.set_title(one.name)
    panel.figure.colorbar(shown, ax=panel, label="flits per cycle", shrink=0.85)


def _draw_grid(panel: Any, one: LinkMap) -> Any:
    """Links as lines between routers, one beside the other for the two directions."""
    from matplotlib.collections import LineCollection

    side, lines, values = one.side, list[list[tuple[float, float]]](), list[float]()
    for router, other in zip(*np.nonzero(~np.isnan(one.use)), strict=True):
        (y, x), (b, a) = divmod(int(router), side), divmod(int(other), side)
        across, up = a - x, b - y
        if abs(across) > 1 or abs(up) > 1:  # a wrap: a stub out of either end
            across, up = -0.4 * np.sign(across), -0.4 * np.sign(up)
        dx, dy = 0.11 * np.sign(up), -0.11 * np.sign(across)
        ends = [(x + dx, y + dy), (x + dx + across, y + dy + up)]
        lines.append([(float(p), float(q)) for p, q in ends])
        values.append(float(one.use[router, other]))
    shown = LineCollection(lines, cmap="inferno_r", linewidths=min(5.0, 36 / side))
    shown.set_array(np.array(values))
    shown.set_clim(0, max(1.0, max(values, default=1.0)))
    panel.add_collection(shown)
    rows, columns = np.divmod(np.arange(side * side), side)
    panel.plot(columns, rows, "s", color="0.75", markersize=min(5.0, 36 / side), zorder=0)
    panel.set_xlim(-0.7, side - 0.3)
    panel.set_ylim(-0.7, side - 0.3)
    panel.set_aspect("equal")
    panel.set_xlabel("router along dimension 0")
    panel.set_ylabel("router along dimension 1")
    return shown
