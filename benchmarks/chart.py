"""Draws lines over logarithmic axes as SVG, with nothing but text."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

COLORS = ("#2f6fb0", "#c8553d", "#4f8a4b", "#8a63a6", "#b08a2f", "#5f6b7a")
_LEFT, _TOP, _WIDTH, _HEIGHT, _BELOW, _LEGEND = 62, 34, 340, 240, 46, 200

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


@dataclass(frozen=True, slots=True)
class _Axis:
    """An axis from its first tick to its last, logarithmic unless *linear*."""

    ticks: Sequence[float]
    length: float
    linear: bool = False

    def at(self, value: float) -> float:
        """Pixels from the start of the axis."""
        low, high = self.ticks[0], self.ticks[-1]
        if self.linear:
            return self.length * (value - low) / (high - low)
        return self.length * math.log(value / low) / math.log(high / low)


def _powers_of_two(values: Sequence[float]) -> list[float]:
    first, last = math.floor(math.log2(min(values))), math.ceil(math.log2(max(values)))
    return [2.0**power for power in range(first, max(last, first + 1) + 1)]


def _round_numbers(values: Sequence[float]) -> list[float]:
    """1, 2, 5, 10, ...: from the last one below all values to the first one above."""
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = [digit * 10.0**power for power in range(first, last + 1) for digit in (1, 2, 5)]
    low = max(step for step in steps if step <= min(values))
    high = min(step for step in steps if step >= max(values) and step > low)
    return [step for step in steps if low <= step <= high]


def _even_steps(values: Sequence[float]) -> list[float]:
    """From 0 by 1, 2 or 5 times a power of ten, in at most 6 steps, to above all values."""
    top = max(values) or 1.0
    power = 10.0 ** (math.floor(math.log10(top)) - 1)
    step = next(step * power for step in (1, 2, 5, 10, 20, 50) if 6 * step * power >= top)
    return [step * index for index in range(math.ceil(top / step - 1e-9) + 1)]


def svg(panels: Sequence[Panel]) -> str:
    """The panels beside each other."""
    step = _LEFT + _WIDTH + _LEGEND
    width, height = step * len(panels), _TOP + _HEIGHT + _BELOW
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for index, panel in enumerate(panels):
        parts += [f'<g transform="translate({index * step + _LEFT},{_TOP})">', *_panel(panel)]
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel) -> list[str]:
    edges = [edge for band in panel.bands.values() for edge in band]
    points = [point for line in [*panel.lines.values(), *edges] for point in line]
    x = _Axis(_powers_of_two([point[0] for point in points]), _WIDTH)
    ticks = _even_steps if panel.linear else _round_numbers
    y = _Axis(ticks([point[1] for point in points]), _HEIGHT, panel.linear)
    parts = [_text(_WIDTH / 2, -14, panel.title, "middle", bold=True)]
    for value in y.ticks:
        at = _HEIGHT - y.at(value)
        parts.append(f'<path d="M0 {at:.1f}H{_WIDTH}" stroke="#dddddd"/>')
        parts.append(_text(-6, at + 4, f"{value:g}", "end"))
    for value in x.ticks[:: -(-len(x.ticks) // 7)]:
        parts.append(_text(x.at(value), _HEIGHT + 16, _number(value), "middle"))
        parts.append(f'<path d="M{x.at(value):.1f} {_HEIGHT}v4" stroke="#444444"/>')
    parts.append(f'<path d="M0 0V{_HEIGHT}H{_WIDTH}" fill="none" stroke="#444444"/>')
    parts.append(_text(_WIDTH / 2, _HEIGHT + 36, panel.x_label, "middle"))
    parts.append(
        f'<g transform="translate(-44,{_HEIGHT / 2}) rotate(-90)">'
        f"{_text(0, 0, panel.y_label, 'middle')}</g>"
    )
    for index, (name, line) in enumerate(panel.lines.items()):
        color = COLORS[index % len(COLORS)]
        if name in panel.bands:
            low, high = panel.bands[name]
            path = "L".join(
                f"{x.at(px):.1f} {_HEIGHT - y.at(py):.1f}" for px, py in [*low, *reversed(high)]
            )
            parts.append(f'<path d="M{path}Z" fill="{color}" fill-opacity="0.15"/>')
        path = "L".join(f"{x.at(px):.1f} {_HEIGHT - y.at(py):.1f}" for px, py in line)
        parts.append(f'<path d="M{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x.at(px):.1f}" cy="{_HEIGHT - y.at(py):.1f}" r="3" fill="{color}"/>'
            for px, py in line
        ]
        parts.append(
            f'<rect x="{_WIDTH + 14}" y="{index * 20 + 2}" width="12" height="4" fill="{color}"/>'
        )
        parts.append(_text(_WIDTH + 32, index * 20 + 8, name, "start"))
    return parts


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1 else f"{value:.2g}"


def _text(x: float, y: float, text: str, anchor: str, *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
