"""The report of a study: one page that opens without a network."""

import html
import importlib.util
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from dse.evaluate import Evaluator, build_evaluator
from dse.fidelity.compare import front_fidelity
from dse.report.page.data import as_script, page_data
from dse.report.page.html_text import told
from dse.report.page.texts import text_sections
from dse.results.result import StudyResult
from dse.study.trials import Trial
from simcore import SimcoreError, files_kept, read_text, timeline_run

_ASSETS = Path(__file__).parent / "assets"
_SCRIPTS = ("state", "cloud", "parallel", "compare", "bars", "main")

NO_PLOTLY = (
    "The pictures need plotly: install simcore-dse[report] and run dse report on this folder again."
)

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; "
    "img-src data: blob:; connect-src 'self'"
)
"""The page asks for nothing but news of its own server; plotly draws in space by code it makes."""

_CLOUD = """
<div class='controls'>
<label>across <select id='cloud-x'></select></label><label>up <select id='cloud-y'></select></label>
<label>deep <select id='cloud-z'></select></label>
<label>colour <select id='cloud-colour'></select></label>
<label><input type='checkbox' id='cloud-bands'> bands</label>
<button type='button' id='clear'>show all again</button></div>
<p id='kept' class='quiet'></p>
<div id='cloud' class='plot' tabindex='0' role='application'
 aria-label='Designs by objectives. Arrow keys walk along the front, Enter compares.'></div>
<p id='cloud-beyond' class='quiet'></p>
<p class='quiet'>A drag keeps the designs in a box, a click puts one first in the comparison below,
a click with Shift second; the arrow keys walk along the front.</p>
<p id='told' class='quiet'></p>
<p id='said' role='status'></p>
"""

_COMPARE = """
<div class='controls'><label>first <select id='compare-first'></select></label>
<label>second <select id='compare-second'></select></label></div>
<div class='wide' tabindex='0'><table id='compare'></table></div>
"""

_PARALLEL = """
<p class='quiet'>One line per design; a drag along an axis keeps a range of it, in all pictures, a
click there takes it back. The fields below do the same by keys.</p>
<div class='controls'><label><input type='checkbox' id='parallel-all'> all knobs</label></div>
<canvas id='parallel' class='parallel' role='img'
 aria-label='Parallel coordinates of the designs; the fields below hold the same ranges.'></canvas>
<div id='filters' class='filters'></div>
"""

_IMPORTANCE = (
    "Share of each knob in what sets the best tenth of the designs apart from all (PED-ANOVA); it "
    "tells where the search has been too, not only what a knob does."
)


@cache
def _asset(name: str) -> str:
    return read_text(_ASSETS / name)


def style() -> str:
    """The style sheet of all pages."""
    with files_kept({}):
        return _asset("page.css")


def report_page(result: StudyResult, *, live: str = "", version: str = "") -> str:
    """The report as HTML; without plotly it has words and tables only, and says so.

    Args:
        result: The study.
        live: Address that a page of a running study asks for news; empty: it is as it is.
        version: State of the study that the page shows, for these questions.
    """
    parts, question = page_parts(result), html.escape(result.study.file.question or "Study")
    attributes = f" data-live='{html.escape(live)}' data-version='{version}'" if live else ""
    lines = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>{question}</title><style>{style()}</style></head><body{attributes}>",
        f"<main><h1>{question}</h1>",
        *_body(parts, has_pictures=bool(live) or bool(result.front), live=bool(live)),
        "</main>",
        *_scripts(parts["data"]),
        "</body></html>",
    ]
    return "\n".join(lines)


def page_parts(result: StudyResult) -> dict[str, Any]:
    """Sections of the page as HTML by the name of their place, and the data of its pictures."""
    with files_kept(result.study.files):
        evaluator = _judging(result)
        sections = dict(text_sections(result))
        sections["pipeline"] = _pipeline(result, evaluator)
        return {"sections": sections, "data": page_data(result, evaluator)}


def _judging(result: StudyResult) -> Evaluator:
    """The evaluator of the level that the front was judged at."""
    level, study = front_fidelity(result.study, result.rows), result.study
    return build_evaluator((study.judged_at(level) if level else study).evaluator_input)


def _pipeline(result: StudyResult, evaluator: Evaluator) -> str:
    """Iterations of the first recommended design, one per run that it is made of.

    While a study runs its winner changes all the time, so that only the end is drawn.
    """
    if not result.recommended or not result.summary.get("reasons"):
        return ""
    rows = {row.number: row for row in _front(result)}
    winner = rows[result.recommended[0].trial]
    drawn = []
    for name, run in evaluator.runs(winner.design).items():
        title = f"One iteration of trial {winner.number}" + (f", {name}" if name else "")
        with suppress(SimcoreError):  # its nodes cannot be followed one by one
            drawn.append(f"<div class='wide' tabindex='0'>{timeline_run(run).picture(title)}</div>")
    return "".join(drawn)


def _front(result: StudyResult) -> list[Trial]:
    return [result.rows[at] for at in result.front]


def _body(parts: dict[str, Any], *, has_pictures: bool, live: bool) -> Iterator[str]:
    """All sections in the order of the page, with a list of links to them.

    Empty ones are left out; of a *live* page, where they may fill, they are hidden by its style.
    """
    texts, has_plotly = parts["sections"], importlib.util.find_spec("plotly") is not None
    pictures = has_pictures and has_plotly
    found = (
        ("The front", "front", _CLOUD if pictures else ""),
        ("Recommended", "recommended", texts["recommended"]),
        ("Two designs side by side", "sides", _COMPARE if pictures else ""),
        ("All knobs", "knobs", _PARALLEL if pictures else ""),
        ("Designs of the front", "front-rows", texts["front-rows"]),
        ("What they are made of", "breakdowns", _plots("breakdowns", pictures)),
        ("What binds where", "bound", texts["bound"]),
        ("The winner's pipeline", "pipeline", texts["pipeline"]),
        (
            "Importance of knobs",
            "importance",
            _plots("importance", pictures and bool(parts["data"]["importance"]), _IMPORTANCE),
        ),
        ("Convergence", "course", _plots("course", pictures)),
        ("Scenarios and regret", "scenarios", texts["scenarios"]),
        ("How far to trust it", "measured", texts["measured"]),
        ("Prices that decide", "prices", texts["prices"]),
        ("What is not feasible, and the nearest misses", "infeasible", texts["infeasible"]),
        ("Counts", "counts", texts["counts"]),
        ("To have it again", "origin", texts["origin"]),
    )
    shown = [one for one in found if one[2] or live]
    yield f"<section id='answer' aria-label='answer'>{texts['answer']}</section>"
    if has_pictures and not has_plotly:
        yield told(NO_PLOTLY, "quiet")
    links = (f"<a href='#{name}-head'>{html.escape(title)}</a>" for title, name, _ in shown)
    yield f"<nav aria-label='sections'>{''.join(links)}</nav>"
    for title, name, text in shown:
        yield f"<div class='part'><h2 id='{name}-head'>{html.escape(title)}</h2>"
        yield f"<section aria-labelledby='{name}-head' id='{name}'>{text}</section></div>"


def _plots(name: str, pictures: bool, words: str = "") -> str:
    """Place that the scripts fill with pictures."""
    return (
        f"{told(words, 'quiet') if words else ''}<div id='{name}-plots'></div>" if pictures else ""
    )


def _scripts(data: dict[str, Any]) -> Iterator[str]:
    """The data, and what draws it; the library of plotly stands in the page."""
    yield f"<script type='application/json' id='data'>{as_script(data)}</script>"
    if importlib.util.find_spec("plotly") is None:
        return
    from plotly.offline import get_plotlyjs

    yield f"<script>{get_plotlyjs()}</script>"
    with files_kept({}):
        own = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    yield f"<script>{own}</script>"
