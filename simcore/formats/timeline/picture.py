"""Picture of a timeline as SVG: a row for each pipeline stage, and one for the critical path."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import pairwise
from math import floor, log10

import numpy as np
from numpy.typing import NDArray

from simcore.engines.attribution import Cause
from simcore.engines.classes.run import NodeTimes
from simcore.engines.critical_path import CriticalPath
from simcore.engines.events.input import Ints
from simcore.terms import NodeKind
from simcore.units import format_quantity
from simcore.workload.graph import PassPhase, TrainingGraph

COLUMNS = 1600
"""Columns of a picture. Each shows what most of its time went to, so that a picture of a million
nodes is no larger than one of a hundred."""

COLOURS: Mapping[str, tuple[str, str]] = {
    PassPhase.FORWARD: ("#3a6fb0", "#6ea3e0"),
    PassPhase.RECOMPUTE: ("#9dbfe3", "#3d5f85"),
    PassPhase.BACKWARD: ("#c8702a", "#e89a57"),
    PassPhase.GRADIENTS: ("#8a5a1f", "#c9a36a"),
    PassPhase.OPTIMIZER: ("#3f7f4a", "#74b57f"),
    "collectives": ("#8250a0", "#b58ad0"),
    "messages": ("#1f8a8a", "#5cc4c4"),
    "waiting": ("#c9c9c9", "#5a5a5a"),
}
"""Colours of what a stage does, on light and on dark ground."""

_NAMES = tuple(COLOURS)
_LEFT, _WIDTH, _TOP, _GAP, _AXIS = 84.0, 1000.0, 84.0, 3.0, 44.0
_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns"))


def picture_svg(nodes: NodeTimes, path: CriticalPath, title: str) -> str:
    """SVG of an executed iteration; light or dark as its reader's screen is.

    Of each row the upper part is what the NPU computes, the lower part what it sends and receives.

    Args:
        nodes: The executed iteration.
        path: Its critical path, the last row.
        title: Heading, and name for screen readers.
    """
    time_ns, stages = int(nodes.execution.end_ns.max()), len(nodes.graph.stages)
    height = 24.0 if stages <= 16 else 12.0 if stages <= 64 else 6.0
    rows = [*_stage_rows(nodes, time_ns), [_path_columns(path, time_ns)]]
    bottom = _TOP + len(rows) * (height + _GAP) + 6
    told = (
        f"One iteration of {format_quantity(time_ns * 1e-9, 's')} on {stages} pipeline "
        f"stage{'s' if stages > 1 else ''}: in each row computing above, communication below"
    )
    used = np.unique(np.concatenate([lane for row in rows for lane in row]))
    lines = [
        *_head(title, told, bottom + _AXIS),
        *_legend([_NAMES[at] for at in used.tolist() if at >= 0]),
        *_labels(stages, height),
        *_drawn(rows, height),
        *_axis(time_ns, bottom),
        "</svg>",
    ]
    return "\n".join([*lines, ""])


def _stage_rows(nodes: NodeTimes, time_ns: int) -> Iterator[list[Ints]]:
    """Columns of what each stage computes, and of what it communicates."""
    first = 0
    for stage in nodes.graph.stages:
        own = slice(first, first + stage.nodes)
        what = _what(nodes.graph, stage.kind, stage.item)
        start_ns, end_ns = nodes.execution.start_ns[own], nodes.execution.end_ns[own]
        computes = stage.kind == NodeKind.COMPUTE
        sends = (stage.kind == NodeKind.COLLECTIVE) | (stage.kind == NodeKind.SEND)
        yield [
            _columns(what[chosen], start_ns[chosen], end_ns[chosen], time_ns)
            for chosen in (computes, sends)
        ]
        first += stage.nodes


def _what(graph: TrainingGraph, kind: NDArray[np.int8], item: NDArray[np.int32]) -> Ints:
    """(N,) int64, position in ``COLOURS`` of what each node is."""
    phases = np.array([_NAMES.index(one.phase) for one in graph.operators] or [0], np.int64)
    found = np.full(kind.size, _NAMES.index("messages"), np.int64)
    found[kind == NodeKind.COLLECTIVE] = _NAMES.index("collectives")
    computes = kind == NodeKind.COMPUTE
    found[computes] = phases[item[computes]]
    return found


def _path_columns(path: CriticalPath, time_ns: int) -> Ints:
    of_cause = {Cause.COLLECTIVE: "collectives", Cause.MESSAGE: "messages"}
    what = [
        _NAMES.index(
            part.reason.phase
            if part.reason.cause is Cause.COMPUTE
            else of_cause.get(part.reason.cause, "waiting")
        )
        for part in path.parts
    ]
    start = np.array([part.start_ns for part in path.parts], np.int64)
    end = np.array([part.end_ns for part in path.parts], np.int64)
    return _columns(np.array(what, np.int64), start, end, time_ns)


def _columns(what: Ints, start_ns: Ints, end_ns: Ints, time_ns: int) -> Ints:
    """(COLUMNS,) int64: what each column shows, -1: nothing, as most of its time is idle."""
    spent = np.zeros((len(_NAMES), COLUMNS))
    scale = COLUMNS / max(time_ns, 1)
    for name in np.unique(what).tolist():
        chosen = what == name
        ends = np.concatenate([start_ns[chosen], end_ns[chosen]]) * scale
        signs = np.repeat([1.0, -1.0], int(chosen.sum()))
        at = np.minimum(ends.astype(np.int64), COLUMNS - 1)
        # what begins at x fills the rest of its column, and all later ones until it ends
        part, whole = np.zeros(COLUMNS), np.zeros(COLUMNS + 1)
        np.add.at(part, at, signs * (at + 1 - ends))
        np.add.at(whole, at + 1, signs)
        spent[name] = part + np.cumsum(whole)[:COLUMNS]
    found: Ints = np.where(spent.sum(axis=0) < 0.5, -1, spent.argmax(axis=0))
    return found


def _drawn(rows: Sequence[Sequence[Ints]], height: float) -> Iterator[str]:
    """One path for each colour."""
    parts: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        top = _TOP + number * (height + _GAP) + (8 if number == len(rows) - 1 else 0)
        heights = [height] if len(row) == 1 else [height * 0.6, height * 0.35]
        for lane, (columns, tall) in enumerate(zip(row, heights, strict=True)):
            y = top + lane * height * 0.65
            edges = [0, *(np.flatnonzero(np.diff(columns)) + 1).tolist(), COLUMNS]
            for begin, end in pairwise(edges):
                if (what := int(columns[begin])) >= 0:
                    x, wide = (_LEFT + _x(begin), _x(end - begin))
                    box = f"M{x:g} {y:g}h{wide:g}v{tall:g}h{-wide:g}z"
                    parts.setdefault(what, []).append(box)
    for what in sorted(parts):
        yield f'<path class="c{what}" d="{"".join(parts[what])}"/>'


def _x(columns: int) -> float:
    return columns * _WIDTH / COLUMNS


def _head(title: str, told: str, height: float) -> Iterator[str]:
    width = _LEFT + _WIDTH + 24
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'role="img" class="timeline" aria-label="{escape(title)}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="12">'
    )
    yield f"<title>{escape(title)}</title>"
    yield f"<desc>{escape(told)}</desc>"
    yield "<style>"
    yield from _colours("#ffffff", "#202020", "#d0d0d0", 0)
    yield "@media screen and (prefers-color-scheme: dark) {"
    yield from _colours("#16181c", "#e4e4e4", "#44484f", 1)
    yield "}"
    yield "</style>"
    yield '<rect class="ground" width="100%" height="100%"/>'
    yield f'<text x="12" y="24" font-size="16">{escape(title)}</text>'
    yield f'<text x="12" y="44">{escape(told)}</text>'


def _colours(ground: str, ink: str, line: str, which: int) -> Iterator[str]:
    # of this picture alone, where it stands in a page
    yield f".timeline .ground{{fill:{ground}}} .timeline text{{fill:{ink}}}"
    yield f".timeline .axis{{stroke:{line}}}"
    yield " ".join(
        f".timeline .c{number}{{fill:{pair[which]}}}"
        for number, pair in enumerate(COLOURS.values())
    )


def _legend(names: Sequence[str]) -> Iterator[str]:
    x = _LEFT
    for name in names:
        yield f'<rect class="c{_NAMES.index(name)}" x="{x:g}" y="56" width="12" height="12"/>'
        yield f'<text x="{x + 17:g}" y="66">{escape(name)}</text>'
        x += 36 + 7 * len(name)


def _labels(stages: int, height: float) -> Iterator[str]:
    every = max(1, round(14 / (height + _GAP)))
    for number in range(stages + 1):
        y = _TOP + number * (height + _GAP) + height / 2 + 4
        if number == stages:
            yield f'<text x="{_LEFT - 8:g}" y="{y + 8:g}" text-anchor="end">critical path</text>'
        elif number % every == 0:
            yield f'<text x="{_LEFT - 8:g}" y="{y:g}" text-anchor="end">stage {number}</text>'


def _axis(time_ns: int, bottom: float) -> Iterator[str]:
    """The time axis: some ten ticks at round values of one unit."""
    size, unit = next(one for one in _UNITS if time_ns >= one[0] or one[0] == 1.0)
    whole = max(time_ns, 1) / size
    step = 10.0 ** floor(log10(whole / 5))
    step *= next(factor for factor in (1, 2, 5, 10) if whole / (step * factor) <= 10)
    yield f'<path class="axis" fill="none" d="M{_LEFT:g} {bottom:g}h{_WIDTH:g}"/>'
    for tick in range(int(whole / step) + 1):
        x = _LEFT + tick * step / whole * _WIDTH
        yield f'<path class="axis" d="M{x:.1f} {_TOP:g}V{bottom + 5:g}" stroke-width="0.5"/>'
        text = f"{tick * step:g}"
        yield f'<text x="{x:.1f}" y="{bottom + 19:g}" text-anchor="middle">{text}</text>'
    middle = _LEFT + _WIDTH / 2
    yield f'<text x="{middle:g}" y="{bottom + 36:g}" text-anchor="middle">time, {unit}</text>'
