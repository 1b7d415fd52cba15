"""Scatter plots of predicted against measured times, as SVG text."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT, _LEFT, _TOP, _SIDE = 640, 440, 64, 24, 360
_COLOURS = ("#1f6fb4", "#d1691c", "#2b8a3e", "#a33aa0", "#8a6d00", "#c2255c", "#0b7285", "#5c5f66")


def scatter(series: Mapping[str, Sequence[tuple[float, float]]], title: str) -> str:
    """Points (measured, predicted) in seconds, both axes logarithmic, with the lines of ±20 %.

    The largest series have colours of their own, the others share the last one.
    """
    points = [value for pairs in series.values() for pair in pairs for value in pair if value > 0]
    low, high = floor(log10(min(points))), ceil(log10(max(points)))
    high = max(high, low + 1)

    def at(value: float) -> float:
        return _SIDE * (log10(value) - low) / (high - low)

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        f'<text x="{_LEFT}" y="15" font-size="13">{escape(title)}</text>',
    ]
    for power in range(low, high + 1):
        offset = _SIDE * (power - low) / (high - low)
        x, y, label = _LEFT + offset, _TOP + _SIDE - offset, f"{10.0**power:g}"
        lines += [
            f'<path d="M{x:.1f} {_TOP}V{_TOP + _SIDE}M{_LEFT} {y:.1f}H{_LEFT + _SIDE}" '
            'stroke="#ddd"/>',
            f'<text x="{x:.1f}" y="{_TOP + _SIDE + 15}" text-anchor="middle">{label}</text>',
            f'<text x="{_LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{label}</text>',
        ]
    for factor, dash in (
        (1.0, ""),
        (1.2, ' stroke-dasharray="4 3"'),
        (1 / 1.2, ' stroke-dasharray="4 3"'),
    ):
        shift = _SIDE * log10(factor) / (high - low)
        first, last = max(0.0, -shift), min(_SIDE, _SIDE - shift)
        lines.append(
            f'<path d="M{_LEFT + first:.1f} {_TOP + _SIDE - first - shift:.1f}'
            f'L{_LEFT + last:.1f} {_TOP + _SIDE - last - shift:.1f}" stroke="#888"{dash}/>'
        )
    ordered = sorted(series, key=lambda name: -len(series[name]))
    for number, name in reversed(list(enumerate(ordered))):
        colour = _COLOURS[min(number, len(_COLOURS) - 1)]
        dots = "".join(
            f"M{_LEFT + at(x):.1f} {_TOP + _SIDE - at(y):.1f}h0" for x, y in series[name]
        )
        lines.append(
            f'<path d="{dots}" stroke="{colour}" stroke-width="4" stroke-linecap="round" '
            'stroke-opacity="0.6"/>'
        )
    for number, name in enumerate(ordered[: len(_COLOURS) + 12]):
        y, x = _TOP + 12 + 15 * number, _LEFT + _SIDE + 16
        colour = _COLOURS[min(number, len(_COLOURS) - 1)]
        lines.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>')
        label = name if len(name) <= 26 else f"{name[:25]}…"
        lines.append(f'<text x="{x + 8}" y="{y}">{escape(label)}</text>')
    lines += [
        f'<text x="{_LEFT + _SIDE / 2}" y="{_HEIGHT - 20}" text-anchor="middle">measured, s</text>',
        f'<text transform="translate(14 {_TOP + _SIDE / 2}) rotate(-90)" '
        'text-anchor="middle">predicted, s</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
