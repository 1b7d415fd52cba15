"""Pictures of network graphs as SVG."""

from html import escape
from math import pi

import numpy as np
from numpy.typing import NDArray

from simcore.errors import ConfigError
from simcore.graphs.graph import NetworkGraph

MOST_DRAWN = 4096
"""Nodes of a picture; more are a blot."""

Points = NDArray[np.float64]

_WIDTH, _MARGIN, _ROW, _LEGEND = 1200.0, 40.0, 150.0, 24.0
_CIRCLE, _LONGEST_TITLE = 110.0, 130
_SAG = 0.12
"""Depth of a cable between NPUs of a row below it, over its length."""
_NPU = "#3b5b92"
_TIERS = ("#3f7f4a", "#b3622d", "#7d4f9e", "#8a8a2a", "#2f8a8a", "#a63d57")
_KINDS = ("#9aa7bd", "#8fb99a", "#d6a883", "#b9a0cc", "#bdbd77", "#84bcbc")


def drawing(graph: NetworkGraph, title: str) -> str:
    """A picture of *graph* as SVG.

    Grids of two dimensions are drawn as such, other networks without switches on a circle. Where
    there are switches, NPUs are a row, tiers that join NPUs alone lie below, the others above;
    where switches of one tier are joined, these rows are circles, the highest innermost.

    Raises:
        ConfigError: There are more than ``MOST_DRAWN`` nodes.
    """
    if graph.nodes > MOST_DRAWN:
        rule = f"must have at most {MOST_DRAWN:,} NPUs and switches to be drawn"
        raise ConfigError("network", rule, got=graph.nodes)
    points, height = placed(graph)
    legend, more = _legend(graph, height + 55)
    title = title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 3]}..."
    whole = height + 70 + more
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {whole:.0f}" '
        'font-family="Helvetica, Arial, sans-serif" font-size="13">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="{_MARGIN}" y="26" font-size="17">{escape(title)}</text>',
        *_cables(graph, points + np.array([0.0, 40.0])),
        *_nodes(graph, points + np.array([0.0, 40.0])),
        *legend,
        "</svg>",
    ]
    return "\n".join([*lines, ""])


def placed(graph: NetworkGraph) -> tuple[Points, float]:
    """(nodes, 2) places in a picture, and the height that they take."""
    if graph.nodes > graph.npus:
        return _circles(graph) if _joins_alike(graph) else _rows(graph)
    sizes = [size for size in graph.dims if size > 1]
    if len(sizes) == 2 and max(sizes) > 2:
        return _grid(sizes[0], sizes[1])
    angle = 2 * pi * np.arange(graph.nodes) / max(graph.nodes, 1) - pi / 2
    radius = 320.0
    center = np.array([_WIDTH / 2, radius + _MARGIN])
    return center + radius * np.stack([np.cos(angle), np.sin(angle)], axis=1), 2 * (
        radius + _MARGIN
    )


def _grid(columns: int, rows: int) -> tuple[Points, float]:
    step = min(110.0, (_WIDTH - 4 * _MARGIN) / columns)
    number = np.arange(columns * rows)
    left = (_WIDTH - step * (columns - 1)) / 2
    x, y = left + step * (number % columns), 2 * _MARGIN + step * (number // columns)
    return np.stack([x, y], axis=1), step * (rows - 1) + 4 * _MARGIN


def _rows(graph: NetworkGraph) -> tuple[Points, float]:
    """NPUs as a row, and a row for each tier; its switches above the middle of what they join."""
    heights = _tier_heights(graph)
    lowest, highest = min(0, *heights), max(heights)
    points = np.zeros((graph.nodes, 2))
    rows = [(0, np.arange(graph.npus))]
    for tier, height in enumerate(heights):
        rows.append((height, graph.npus + np.flatnonzero(graph.tier_of == tier)))
    for height, members in rows:
        count = len(members)
        room = (_WIDTH - 2 * _MARGIN) / max(count, 1)
        points[members, 0] = _MARGIN + room * (np.arange(count) + 0.5)
        points[members, 1] = _MARGIN + _ROW * (highest - height)
    a, b = graph.cable_ends()
    inner = (a < graph.npus) & (b < graph.npus)
    sag = _SAG * float(np.abs(points[a[inner], 0] - points[b[inner], 0]).max(initial=0.0))
    return points, 2 * _MARGIN + _ROW * (highest - lowest) + sag


def _joins_alike(graph: NetworkGraph) -> bool:
    """True if there are cables between switches of one tier, which would lie along its row."""
    a, b = graph.cable_ends()
    inner = (a >= graph.npus) & (b >= graph.npus)
    tiers = graph.tier_of[a[inner] - graph.npus], graph.tier_of[b[inner] - graph.npus]
    return bool((tiers[0] == tiers[1]).any())


def _circles(graph: NetworkGraph) -> tuple[Points, float]:
    """NPUs on a circle, and one for each tier: the rows of ``_rows``, the highest innermost."""
    heights = _tier_heights(graph)
    outermost = (_WIDTH - 2 * _MARGIN) / 2
    points = np.zeros((graph.nodes, 2))
    rows = [(0, np.arange(graph.npus))]
    for tier, height in enumerate(heights):
        rows.append((height, graph.npus + np.flatnonzero(graph.tier_of == tier)))
    gap = min(_CIRCLE, 0.7 * outermost / max(1, max(heights) - min(0, *heights)))
    for height, members in rows:
        radius = outermost - gap * (height - min(0, *heights))
        angle = 2 * pi * (np.arange(len(members)) + 0.5) / max(len(members), 1) - pi / 2
        points[members, 0] = _WIDTH / 2 + radius * np.cos(angle)
        points[members, 1] = _MARGIN + outermost + radius * np.sin(angle)
    return points, 2 * (_MARGIN + outermost)


def _tier_heights(graph: NetworkGraph) -> list[int]:
    """Row of each tier: above the NPUs from 1 on, or below from -1 on."""
    a, b = graph.cable_ends()
    is_inner = (a >= graph.npus) & (b >= graph.npus)
    joined = set(graph.tier_of[np.concatenate([a[is_inner], b[is_inner]]) - graph.npus].tolist())
    above, below, heights = 0, 0, []
    for tier in range(len(graph.tiers)):
        if joined and tier not in joined:
            below -= 1
            heights.append(below)
        else:
            above += 1
            heights.append(above)
    return heights


def _cables(graph: NetworkGraph, points: Points) -> list[str]:
    a, b = graph.cable_ends()
    width = 1.6 if graph.cables <= 400 else 0.8 if graph.cables <= 3000 else 0.4
    seen: dict[tuple[int, int], int] = {}
    lines = []
    ends = zip(a.tolist(), b.tolist(), graph.kind_of.tolist(), strict=True)
    for one, other, kind in ends:
        pair = (min(one, other), max(one, other))
        bend = seen.get(pair, 0)
        seen[pair] = bend + 1
        (x, y), (u, v) = points[one], points[other]
        color = _KINDS[kind % len(_KINDS)]
        swing = 9.0 * bend
        if _passes_nodes(graph, one, other):
            swing += -_SAG * (u - x) if graph.nodes > graph.npus else 22.0
        middle_x, middle_y = _beside(x, y, u, v, swing)
        lines.append(
            f'<path d="M{x:.1f} {y:.1f}Q{middle_x:.1f} {middle_y:.1f} {u:.1f} {v:.1f}" '
            f'fill="none" stroke="{color}" stroke-width="{width}"/>'
        )
    return lines


def _passes_nodes(graph: NetworkGraph, one: int, other: int) -> bool:
    """True if a straight line between two NPUs of a grid, or of a row, would run over others."""
    if max(one, other) >= graph.npus:
        return False
    if graph.nodes > graph.npus:
        return abs(one - other) > 1
    sizes = [size for size in graph.dims if size > 1]
    if len(sizes) != 2:
        return False
    columns = sizes[0]
    return max(abs(one % columns - other % columns), abs(one // columns - other // columns)) > 1


def _beside(x: float, y: float, u: float, v: float, swing: float) -> tuple[float, float]:
    """Point beside the middle of a line, *swing* away from it twice over."""
    length = max(((u - x) ** 2 + (v - y) ** 2) ** 0.5, 1e-9)
    return (x + u) / 2 + 2 * swing * (v - y) / length, (y + v) / 2 - 2 * swing * (u - x) / length


def _nodes(graph: NetworkGraph, points: Points) -> list[str]:
    counts = [graph.npus, *np.bincount(graph.tier_of, minlength=1).tolist()]
    room = (_WIDTH - 2 * _MARGIN) / max(counts)
    size = float(np.clip(room * 0.7, 2.0, 22.0))
    lines = []
    for node, (x, y) in enumerate(points.tolist()):
        if node < graph.npus:
            shape = (
                f'<rect x="{x - size / 2:.1f}" y="{y - size / 2:.1f}" width="{size:.1f}" '
                f'height="{size:.1f}" rx="{size / 6:.1f}" fill="{_NPU}"'
            )
        else:
            color = _TIERS[int(graph.tier_of[node - graph.npus]) % len(_TIERS)]
            shape = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size / 2 + 1:.1f}" fill="{color}"'
        lines.append(f"{shape}><title>{escape(graph.name(node))}</title>")
        lines.append("</rect>" if node < graph.npus else "</circle>")
        if size >= 18:
            lines.append(
                f'<text x="{x:.1f}" y="{y + 4:.1f}" fill="#fff" font-size="11" '
                f'text-anchor="middle">{node if node < graph.npus else ""}</text>'
            )
    return lines


def _legend(graph: NetworkGraph, y: float) -> tuple[list[str], float]:
    """The lines of the legend from *y* on, and the height of those below the first."""
    entries = [(f"{graph.npus} NPUs", _NPU)]
    for tier, name in enumerate(graph.tiers):
        count = int((graph.tier_of == tier).sum())
        entries.append((f"{count} {name}", _TIERS[tier % len(_TIERS)]))
    for kind, name in enumerate(graph.kinds):
        count = int((graph.kind_of == kind).sum())
        entries.append((f"{count} cables {name}", _KINDS[kind % len(_KINDS)]))
    lines, x, more = [], _MARGIN, 0.0
    for text, color in entries:
        if x + 18 + 7.0 * len(text) > _WIDTH - _MARGIN:
            x, y, more = _MARGIN, y + _LEGEND, more + _LEGEND
        lines.append(f'<rect x="{x:.0f}" y="{y - 10:.0f}" width="12" height="12" fill="{color}"/>')
        lines.append(f'<text x="{x + 18:.0f}" y="{y:.0f}">{escape(text)}</text>')
        x += _LEGEND + 18 + 7.0 * len(text)
    return lines, more
