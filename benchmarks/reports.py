"""Cost of the page of a large study: to build, to hold and to open in a browser.

    python benchmarks/reports.py RUN_DIR [--trials 10000 100000]

Builds the page of the study in RUN_DIR as it is, and as if it had so many trials: its own, again
and again, with objectives that are worse by chance. Opening, errors, requests and accessibility are
measured if the extra ``browser`` and a chromium (``CHROMIUM``, or the one on the path) are there.
"""

import argparse
import os
import random
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import dse
from dse.report.page.page import report_page
from dse.results.result import load_study
from dse.results.summary import study_front

LIMITS = "must hold at 10,000: 20 CPU s, 8 MB, 3 s to open, no error, no request, no serious fault"


def enlarged(result: dse.StudyResult, trials: int) -> dse.StudyResult:
    """The study with so many trials: its own, then copies of them with worse objectives."""
    chance = random.Random(0)
    good = [row for row in result.rows if row.is_feasible]
    rows = list(result.rows[:trials])
    for number in range(len(rows), trials):
        row = chance.choice(good)
        worse = {
            name: value * (1 + 0.8 * chance.random())
            for name, value in row.evaluation.objectives.items()
        }
        evaluation = replace(row.evaluation, objectives=worse)
        rows.append(replace(row, number=number, evaluation=evaluation))
    return replace(result, rows=rows, front=study_front(result.study, rows).front)


def opened(file: Path) -> str:
    """Seconds to open the page, and what is wrong with it, as a line."""
    try:
        from axe_playwright_python.sync_playwright import Axe
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "not opened: needs the extra browser"
    trouble: list[str] = []
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.on("pageerror", lambda error: trouble.append(str(error)))
        page.on("console", lambda m: trouble.append(m.text) if m.type == "error" else None)
        page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else None)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})  # CPU, not wall
        start = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("body[data-drawn]", state="attached", timeout=60_000)
        wall = time.perf_counter() - start
        metrics = {
            one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]
        }
        grave = [
            one["id"]
            for one in Axe().run(page).response["violations"]
            if one["impact"] in ("serious", "critical")
        ]
        browser.close()
    return (
        f"opened in {wall:.2f} s ({metrics['TaskDuration']:.2f} CPU s of its thread), "
        f"{len(trouble)} errors or requests, serious faults of accessibility: {grave or 'none'}"
    )


def main() -> None:
    """Print a line for each number of trials."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="RUN_DIR")
    parser.add_argument("--trials", type=int, nargs="*", default=[10_000, 100_000])
    options = parser.parse_args()
    result = load_study(options.folder)
    print(LIMITS)
    for trials in (len(result.rows), *options.trials):
        large = result if trials == len(result.rows) else enlarged(result, trials)
        start = time.process_time()
        text = report_page(large).encode()
        spent = time.process_time() - start
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "report.html"
            file.write_bytes(text)
            told = opened(file)
        print(
            f"{trials:,} trials, {len(large.front)} on the front: built in {spent:.1f} CPU s, "
            f"{len(text) / 1e6:.2f} MB; {told}"
        )


if __name__ == "__main__":
    main()
