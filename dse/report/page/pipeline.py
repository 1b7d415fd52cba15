"""Picture of one iteration of a design: a row for each pipeline stage, and its critical path."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any

import numpy as np

from simcore import Cause, Run, SimcoreError, Simulator, explain_run, format_quantity

COLUMNS = 1000
"""Columns of the picture: each shows what most of its time went to, so that the picture of a
million nodes is as small as that of a hundred."""

MOST_STAGES = 64
"""Stages that are drawn; of more, every so manieth."""

_COLOURS = {
    "forward": "#4477aa",
    "recompute": "#66ccee",
    "backward": "#cc6633",
    "gradients": "#aa7744",
    "optimizer": "#228833",
    "communication": "#8855aa",
    "waiting": "#aaaaaa",
}
_NAMES = tuple(_COLOURS)
_OTHER = _NAMES.index("forward")
_COMPUTES, _SENDS = 4, (5, 7)
"""Kinds of nodes, as Chakra's ``NodeType`` numbers them: compute, send and collective."""

_LEFT, _TOP, _BELOW = 80, 24, 22


def pipeline_svg(run: Run, title: str) -> str:
    """SVG of an iteration of *run*; empty where its nodes cannot be followed one by one.

    Args:
        run: What is simulated again, node by node.
        title: Name for screen readers.
    """
    try:
        nodes = Simulator().run(run, every_node=True)[1].nodes
        path = None if nodes is None else explain_run(run)
    except SimcoreError:  # it has been told already
        return ""
    if nodes is None or path is None:
        return ""
    time_ns = int(nodes.execution.end_ns.max())
    rows = _drawn_rows(list(_stages(nodes, time_ns)))
    rows.append(("critical path", _path(path, time_ns)))
    return "".join(_svg(rows, time_ns, title))


def _drawn_rows(rows: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    return rows[:: -(-len(rows) // MOST_STAGES)]


def _stages(nodes: Any, time_ns: int) -> Iterator[tuple[str, Any]]:
    """Name of each stage, and the position in ``_NAMES`` of what fills each column; -1: nothing."""
    first, kinds = 0, [_position(one.phase) for one in nodes.graph.operators]
    for stage in nodes.graph.stages:
        own = slice(first, first + stage.nodes)
        first += stage.nodes
        start, end = nodes.execution.start_ns[own], nodes.execution.end_ns[own]
        computes, sends = stage.kind == _COMPUTES, np.isin(stage.kind, _SENDS)
        what = np.array(kinds or [_OTHER], np.int64)[np.where(computes, stage.item, 0)]
        found = _columns(what[computes], start[computes], end[computes], time_ns)
        talk = np.full(int(sends.sum()), _NAMES.index("communication"), np.int64)
        beside = _columns(talk, start[sends], end[sends], time_ns)
        yield f"stage {stage.stage}", np.where(found >= 0, found, beside)


def _position(phase: object) -> int:
    return _NAMES.index(str(phase)) if str(phase) in _NAMES else _OTHER


def _path(path: Any, time_ns: int) -> Any:
    talks = (Cause.COLLECTIVE, Cause.MESSAGE)
    what = [
        _position(part.reason.phase)
        if part.reason.cause is Cause.COMPUTE
        else _NAMES.index("communication" if part.reason.cause in talks else "waiting")
        for part in path.parts
    ]
    start = np.array([part.start_ns for part in path.parts], np.int64)
    end = np.array([part.end_ns for part in path.parts], np.int64)
    return _columns(np.array(what, np.int64), start, end, time_ns)


def _columns(what: Any, start_ns: Any, end_ns: Any, time_ns: int) -> Any:
    """(COLUMNS,) int64: what each column shows; -1: it is idle for most of its time."""
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
    return np.where(spent.sum(axis=0) < 0.5, -1, spent.argmax(axis=0))


def _svg(rows: Sequence[tuple[str, Any]], time_ns: int, title: str) -> Iterator[str]:
    tall = 20 if len(rows) <= 20 else 10
    bottom = _TOP + len(rows) * tall
    yield (
        f"<svg class='pipeline' viewBox='0 0 {_LEFT + COLUMNS + 20} {bottom + _BELOW}' role='img' "
        f"aria-label='{escape(title, quote=True)}'>"
    )
    x = _LEFT
    for at in sorted({int(value) for _, row in rows for value in np.unique(row) if value >= 0}):
        name = _NAMES[at]
        yield f"<rect x='{x}' y='4' width='12' height='12' fill='{_COLOURS[name]}'/>"
        yield f"<text x='{x + 16}' y='14'>{name}</text>"
        x += 34 + 7 * len(name)
    for number, (name, row) in enumerate(rows):
        y = _TOP + number * tall
        if tall > 10 or number % 2 == 0 or number == len(rows) - 1:
            yield f"<text x='{_LEFT - 6}' y='{y + tall / 2 + 4:g}' text-anchor='end'>{name}</text>"
        yield from _boxes(row, y, tall - 3)
    for tick in range(6):
        text = format_quantity(time_ns * tick / 5 * 1e-9, "s") if tick else "0"
        anchor = "end" if tick == 5 else "middle"
        x = _LEFT + COLUMNS * tick // 5
        yield f"<text x='{x}' y='{bottom + 16}' text-anchor='{anchor}'>{text}</text>"
    yield "</svg>"


def _boxes(row: Any, y: float, tall: float) -> Iterator[str]:
    """One path for each colour of a row."""
    paths: dict[int, list[str]] = {}
    edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), COLUMNS]
    for begin, end in pairwise(edges):
        if (what := int(row[begin])) >= 0:
            box = f"M{_LEFT + begin} {y:g}h{end - begin}v{tall:g}h{begin - end}z"
            paths.setdefault(what, []).append(box)
    for what, boxes in sorted(paths.items()):
        yield f"<path fill='{_COLOURS[_NAMES[what]]}' d='{''.join(boxes)}'/>"
