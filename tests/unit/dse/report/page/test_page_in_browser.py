"""The page in a browser: hover, brush, select, compare, print; nothing asked of a network."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dse
from dse.report.page.page import report_page

CHROMIUM = os.environ.get("CHROMIUM", shutil.which("chromium") or "")

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright (extra browser)")
pytestmark = [
    pytest.mark.skipif(not CHROMIUM, reason="needs Debian's chromium, or CHROMIUM=its path"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


@pytest.fixture(scope="module")
def result() -> dse.StudyResult:
    return dse.run_study("p5_vit22b_64.yaml", trials=120, executor="serial")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def page(
    result: dse.StudyResult, browser: Any, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(report_page(result), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.trouble = []
    opened.on("pageerror", lambda error: opened.trouble.append(str(error)))
    opened.on("console", lambda m: m.type == "error" and opened.trouble.append(m.text))
    opened.on("request", lambda r: r.url.startswith("http") and opened.trouble.append(r.url))
    opened.goto(file.as_uri())
    opened.wait_for_selector("body[data-drawn]", timeout=60_000, state="attached")
    yield opened
    assert opened.trouble == []


@pytest.fixture(autouse=True)
def _all_again(page: Any) -> None:
    page.evaluate("clearAll()")


def kept(page: Any) -> int:
    return int(page.evaluate("page.kept.filter(Boolean).length"))


def spot(page: Any, row: int) -> tuple[float, float]:
    """Where a design is drawn."""
    found = page.evaluate(
        """(row) => { const p = document.getElementById('cloud'), l = p._fullLayout;
        const box = p.getBoundingClientRect(), [x, y] = [page.axes[cloud.x], page.axes[cloud.y]];
        const at = (axis, own) => own._offset + own.d2p(axis.values[row]);
        return [box.x + at(x, l.xaxis), box.y + at(y, l.yaxis)]; }""",
        row,
    )
    return found[0], found[1]


def test_the_front_is_in_view_and_what_is_not_is_told(page: Any, result: dse.StudyResult) -> None:
    front = [result.rows[at].evaluation.objectives for at in result.front]
    for axis, name in (("xaxis", "iteration_time"), ("yaxis", list(front[0])[1])):
        ends = page.evaluate(f"document.getElementById('cloud')._fullLayout.{axis}.range")
        values = [own[name] for own in front]
        assert 10 ** ends[0] < min(values) <= max(values) < 10 ** ends[1]
    told = page.inner_text("#cloud-beyond")
    assert "beyond this view" in told or "All designs" in told


def test_a_design_under_the_pointer_tells_its_objectives(
    page: Any, result: dse.StudyResult
) -> None:
    page.locator("#cloud").scroll_into_view_if_needed()
    page.mouse.move(*spot(page, 0))
    page.wait_for_selector("#cloud .hoverlayer .hovertext")
    told = page.text_content("#cloud .hoverlayer")
    assert f"trial {result.rows[result.front[0]].number}" in told
    assert "iteration time" in told


def test_a_drag_along_an_axis_keeps_a_range_in_all_views(page: Any) -> None:
    canvas = page.locator("#parallel")
    canvas.scroll_into_view_if_needed()
    box, count = canvas.bounding_box(), page.evaluate("parallel.axes.length")
    x = box["x"] + page.evaluate(f"xOf(0, {box['width']})")
    page.mouse.move(x, box["y"] + box["height"] - 22)
    page.mouse.down()
    page.mouse.move(x, box["y"] + box["height"] * 0.6, steps=3)
    page.mouse.up()
    low, high = page.evaluate("page.filters[parallel.axes[0].name]")
    values = page.evaluate("parallel.axes[0].values")
    assert count > 2
    assert kept(page) == sum(low <= value <= high for value in values) < len(values)
    dimmed = page.evaluate(
        "document.getElementById('cloud').data.flatMap(t => t.marker.opacity).filter(o => o < 1)"
    )
    assert len(dimmed) == len(values) - kept(page)
    assert f"{kept(page)} of {len(values)}" in page.inner_text("#kept")


def test_fields_keep_a_range_without_a_pointer(page: Any) -> None:
    label = page.evaluate("parallel.axes[0].label")
    values = page.evaluate("parallel.axes[0].values")
    middle = sorted(values)[len(values) // 2]
    page.get_by_label(f"{label} to").fill(repr(middle))
    page.keyboard.press("Tab")
    assert kept(page) == sum(value <= middle for value in values)


def test_a_box_selects_designs_and_the_button_takes_that_back(page: Any) -> None:
    page.locator("#cloud").scroll_into_view_if_needed()
    x, y = spot(page, 0)
    page.mouse.move(x - 8, y - 8)
    page.mouse.down()
    page.mouse.move(x + 8, y + 8, steps=4)
    page.mouse.up()
    page.wait_for_function("page.lasso !== null")
    assert 0 < kept(page) < page.evaluate("page.kept.length")
    page.click("#clear")
    assert kept(page) == page.evaluate("page.kept.length")


def test_two_designs_stand_side_by_side(page: Any, result: dse.StudyResult) -> None:
    last = len(result.front) - 1
    numbers = [result.rows[result.front[at]].number for at in (0, last)]
    page.select_option("#compare-first", "0")
    page.select_option("#compare-second", str(last))
    head = page.inner_text("#compare thead")
    assert all(f"trial {number}" in head for number in numbers)
    times = [
        result.rows[result.front[at]].evaluation.objectives["iteration_time"] for at in (0, last)
    ]
    row = page.locator("#compare tbody tr", has_text="iteration time").first.inner_text()
    assert f"{(times[1] / times[0] - 1) * 100:+.1f}%" in row


def test_arrow_keys_walk_along_the_front(page: Any, result: dse.StudyResult) -> None:
    page.focus("#cloud")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    number = result.rows[result.front[1]].number
    assert page.inner_text("#said").startswith(f"trial {number} is first")


def test_on_paper_and_on_a_narrow_screen_nothing_is_cut(page: Any) -> None:
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    page.set_viewport_size({"width": 720, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= 720
    wide = page.evaluate(
        "[...document.querySelectorAll('.wide')]"
        ".filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    )
    assert wide == 0
    page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    page.emulate_media(media="screen")
    page.set_viewport_size({"width": 400, "height": 800})
    # pictures follow the window a moment later
    page.wait_for_function("document.documentElement.scrollWidth <= 400", timeout=10_000)
    page.set_viewport_size({"width": 1200, "height": 900})


def test_pictures_below_the_view_are_drawn_once_they_come_near_and_all_of_them_on_paper(
    result: dse.StudyResult, browser: Any, tmp_path: Path
) -> None:
    file = tmp_path / "report.html"
    file.write_text(report_page(result), encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1200, "height": 600}, color_scheme="dark")
    opened.goto(file.as_uri())
    opened.wait_for_selector("body[data-drawn]", timeout=60_000, state="attached")
    drawn = "[...document.querySelectorAll('.plot.low')].map((one) => Boolean(one.data))"
    before = opened.evaluate(drawn)
    assert len(before) > 3
    assert not all(before)
    height = opened.evaluate("document.documentElement.scrollHeight")
    opened.locator(".plot.low").last.scroll_into_view_if_needed()
    opened.wait_for_function("[...document.querySelectorAll('.plot.low')].at(-1).data")
    assert opened.evaluate("document.documentElement.scrollHeight") == height  # nothing moves
    ink = "document.getElementById('cloud').layout.font.color"
    on_screen = opened.evaluate(ink)
    opened.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert all(opened.evaluate(drawn))
    on_paper = opened.evaluate(ink)
    opened.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert on_paper != on_screen == opened.evaluate(ink)  # paper is light, this screen is dark
    opened.close()


def test_three_axes_are_drawn_in_space(page: Any) -> None:
    names = page.evaluate("[...document.querySelectorAll('#cloud-z option')].map(o => o.value)")
    assert len(names) > 3
    kinds = page.evaluate(
        "(() => { const own = page.data.axes.slice(0, 3); cloud.z = own[2].name;"
        "const found = traces(own, null).map((one) => one.type); cloud.z = ''; return found; })()"
    )
    assert set(kinds) == {"scatter3d"}


def test_no_serious_fault_of_accessibility(page: Any) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="needs axe (extra browser)"
    )
    found = axe.Axe().run(page).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [n["html"][:90] for n in one["nodes"][:3]]) for one in grave] == []


def test_the_page_of_the_whole_study_is_small(result: dse.StudyResult, tmp_path: Path) -> None:
    assert len(report_page(result).encode()) < 8e6


def test_links_lead_to_sections_that_hold_something_and_best_designs_bear_their_number(
    page: Any, result: dse.StudyResult
) -> None:
    shown = page.evaluate("[...document.querySelectorAll('nav a')].filter((a) => !a.hidden).length")
    assert shown == page.evaluate("document.querySelectorAll('nav a').length") > 5
    assert page.evaluate(
        "(() => { const place = document.getElementById('counts'), kept = place.innerHTML;"
        "place.innerHTML = ''; linkSections(); const found = document.querySelector("
        "'nav a[href=\"#counts-head\"]').hidden; place.innerHTML = kept; linkSections();"
        "return found; })()"
    )
    front = next(
        trace
        for trace in page.evaluate(
            "document.getElementById('cloud').data.map((t) => ({name: t.name, text: t.text}))"
        )
        if trace["name"] == "Pareto front"
    )
    told = {text for text in front["text"] if text}
    assert told == {str(one.trial) for one in result.recommended}
