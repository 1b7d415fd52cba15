"""Draw the layers of both packages from the tables of architecture.md.

    python docs/draw_layers.py

writes ``docs/images/layers.svg``. The highest layer is on top; a part imports only from bands below
its own.
"""

import re
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE, PICTURE = HERE / "architecture.md", HERE / "images" / "layers.svg"
FILLS = {"simcore": ("#eef3fb", "#3b5b92"), "dse": ("#eef8ef", "#3f7f4a")}
WIDTH, BAND, GAP, TOP, LETTER = 630, 34, 6, 46, 7.4


def layers(page: str, package: str) -> list[list[str]]:
    """Parts of *package*, layer by layer from the lowest, as the table on *page* has them."""
    _, _, rest = page.partition(f"## {package}, layer by layer")
    rows = re.findall(r"^\| \d+ \| (.+?) \|", rest.partition("\n## ")[0], re.MULTILINE)
    return [re.findall(r"`(\w+)`", row) for row in rows]


def drawing(page: str) -> str:
    """Both packages side by side as SVG."""
    columns = {package: layers(page, package) for package in FILLS}
    most = max(map(len, columns.values()))
    height = TOP + most * (BAND + GAP) + 14
    width = len(columns) * (WIDTH + 20) + 20
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for at, (package, rows) in enumerate(columns.items()):
        lines += _column(package, rows, 20 + at * (WIDTH + 20), TOP + (most - len(rows)) * 40)
    return "\n".join([*lines, "</svg>", ""])


def _column(package: str, rows: list[list[str]], left: int, top: int) -> list[str]:
    fill, stroke = FILLS[package]
    lines = [f'<text x="{left}" y="{top - 16}" font-size="15" font-weight="600">{package}</text>']
    for down, (layer, parts) in enumerate(reversed(list(enumerate(rows)))):
        y = top + down * (BAND + GAP)
        lines.append(
            f'<rect x="{left}" y="{y}" width="{WIDTH}" height="{BAND}" rx="6" fill="{fill}" '
            f'stroke="{stroke}"/>'
        )
        lines.append(
            f'<text x="{left + 10}" y="{y + 22}" font-size="12" fill="#888">{layer}</text>'
        )
        x = left + 38.0
        for part in parts:
            lines.append(f'<text x="{x:.0f}" y="{y + 22}" font-size="13">{part}</text>')
            x += LETTER * len(part) + 14
    return lines


def _text(x: float, y: float, text: str, size: int, fill: str = "#000") -> str:
    return f'<text x="{x:.0f}" y="{y}" font-size="{size}" fill="{fill}">{text}</text>'


def main() -> None:
    """Write the picture."""
    PICTURE.write_text(drawing(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
