"""Head to head with the agents of COSMIC on its own problems, evaluated by our simulator.

    python benchmarks/search/cosmic.py [--folder runs/cosmic] [--page docs/search.md]
        [--images docs/images] [--proof-seconds 60]

Tables and pictures of the runs that ``cosmic_runs.py`` made. Less is better. All settings of an
agent count alike: its runs are those of the seeds that every setting has. The floor is the best
value known, of any run or of the proof, which also says what no design goes below.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from cosmic_runs import FOLDER, OURS, SEARCHERS, TRACKS, Run, stored

from dse.proof.close import Effort, close_gap
from dse.study.compile import load_study_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from chart import Panel, Points, svg
from page import markdown_table, write_table

STUDIES = {"1024": "p1_cosmic_1024", "mem": "p1_cosmic_1024_mem", "2048": "p1_cosmic_2048"}
OBJECTIVES = {"cost": "time_network_cost", "bandwidth": "time_bandwidth"}
ROOM = 0.10
"""By how much ours is to be better, where the floor is as far below."""

SAME = 1e-9
"""Values closer than this, relatively, are one."""

HEADER = ["problem", "searcher", "settings", "runs", "median", "lower quartile", "upper quartile"]
HEADER += ["floor below median", "ours below median", "best setting", "its median by ours", "held"]
FLOORS = ["problem", "proven bound", "floor", "bound below floor", "floor found by"]
FLOORS += ["runs of ours at the floor", "median of ours above floor"]


@dataclass(frozen=True, kw_only=True)
class Runs:
    """All runs of one searcher on one problem."""

    by_setting: Mapping[str, Sequence[Run]]

    @property
    def seeds(self) -> int:
        """How many every setting has."""
        return min(len(runs) for runs in self.by_setting.values())

    @cached_property
    def even(self) -> list[float]:
        """What the runs with the seeds of every setting found."""
        return [
            run.best
            for runs in self.by_setting.values()
            for run in sorted(runs, key=lambda run: run.seed)[: self.seeds]
        ]

    @cached_property
    def best_setting(self) -> tuple[str, float]:
        """The setting with the least median, and that median."""
        medians = {
            setting: float(np.median([run.best for run in runs]))
            for setting, runs in self.by_setting.items()
        }
        return min(medians.items(), key=lambda pair: pair[1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """How good a design can be: the best value known, whose it is, what is proven to be below."""

    best: float
    found_by: str
    bound: float


def runs_of(folder: Path, problem: str) -> dict[str, Runs]:
    """By searcher; those that have none are left out."""
    found: dict[str, dict[str, list[Run]]] = {name: {} for name in SEARCHERS}
    for run in stored(folder, problem):
        setting = ", ".join(f"{name} {value:g}" for name, value in run.setting.items())
        found[run.searcher].setdefault(setting, []).append(run)
    return {name: Runs(by_setting=by) for name, by in found.items() if by}


def floor_of(folder: Path, problem: str, runs: Mapping[str, Runs], seconds: float) -> Floor:
    """From the runs, and from a proof that is made once and kept."""
    file = folder / problem / "proof.json"
    if not file.exists():
        _, size, track = problem.split("_")
        study = load_study_file(f"{STUDIES[size]}.yaml", {})
        proof = close_gap(study, (OBJECTIVES[track],), gap=0.0, effort=Effort(seconds=seconds))
        values = {"bound": proof.lower_bounds[0], "best": float(proof.values.min())}
        file.write_text(json.dumps(values), encoding="utf-8")
    known = json.loads(file.read_text(encoding="utf-8"))
    finds = {"the proof": known["best"]} | {
        name: min(run.best for each in every.by_setting.values() for run in each)
        for name, every in runs.items()
    }
    best = min(finds.values())
    finders = [name for name, value in finds.items() if value <= best * (1 + SAME)]
    return Floor(best=best, found_by="; ".join(finders), bound=known["bound"])


def held(agent: Runs, ours: float, floor: Floor) -> str:
    """Whether ours keeps what is asked of it against an agent."""
    middle = float(np.median(agent.even))
    if agent.best_setting[1] < ours * (1 - SAME):
        return f"no: best setting {100 * (1 - agent.best_setting[1] / ours):.2g} % better"
    if floor.best > middle * (1 - ROOM):
        return "yes, no room"
    return "yes" if ours <= middle * (1 - ROOM) else "no: by less than 10 %"


def compared(problem: str, runs: Mapping[str, Runs], floor: Floor) -> Iterator[list[object]]:
    """Rows of the table for one problem: ours, then every agent."""
    ours = float(np.median(runs[OURS].even))
    for name, every in runs.items():
        low, middle, high = np.quantile(every.even, (0.25, 0.5, 0.75))
        row: list[object] = [problem, name, len(every.by_setting), len(every.even)]
        row += [f"{value:.4g}" for value in (middle, low, high)]
        row.append(f"{1 - floor.best / middle:.1%}")
        if name == OURS:
            yield [*row, "", "", "", ""]
            continue
        setting, best = every.best_setting
        row += [f"{1 - ours / middle:.1%}", setting, f"{best / ours:.5f}"]
        yield [*row, held(every, ours, floor)]


def floor_row(problem: str, ours: Runs, floor: Floor) -> list[object]:
    """How near ours comes to the best that is known, and that to what is proven."""
    hits = sum(value <= floor.best * (1 + SAME) for value in ours.even)
    return [
        problem,
        f"{floor.bound:.5g}",
        f"{floor.best:.5g}",
        f"{1 - floor.bound / floor.best:.1%}",
        floor.found_by,
        f"{hits} of {len(ours.even)}",
        f"{100 * (float(np.median(ours.even)) / floor.best - 1):.2g} %",
    ]


def panel(problem: str, runs: Mapping[str, Runs], floor: Floor) -> Panel:
    """Best value by the floor, over proposals: quartiles of the best setting of each searcher.

    Lines begin where every run has found something. Agents that COSMIC did not run are left out.
    """
    lines: dict[str, Points] = {}
    bands: dict[str, tuple[Points, Points]] = {}
    for name, every in runs.items():
        if name != OURS and not SEARCHERS[name].is_published:
            continue
        found = np.array([run.found for run in every.by_setting[every.best_setting[0]]])
        found = found[:, np.isfinite(found[:, :, 1]).all(axis=0)] / [1.0, floor.best]
        edges = np.quantile(found, (0.25, 0.5, 0.75), axis=0).tolist()
        low, lines[name], high = ([(mark, value) for mark, value in edge] for edge in edges)
        bands[name] = (low, high)
    texts = {"title": problem, "x_label": "proposals", "y_label": "best value by the floor"}
    return Panel(**texts, lines=lines, bands=bands)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--images", type=Path)
    parser.add_argument("--proof-seconds", type=float, default=60.0)
    given = parser.parse_args()
    rows: list[list[object]] = []
    floors: list[list[object]] = []
    panels: dict[str, Panel] = {}
    for problem in TRACKS:
        runs = runs_of(given.folder, problem)
        floor = floor_of(given.folder, problem, runs, given.proof_seconds)
        rows += compared(problem, runs, floor)
        floors.append(floor_row(problem, runs[OURS], floor))
        panels[problem] = panel(problem, runs, floor)
    tables = {"cosmic": (HEADER, rows), "cosmic_floor": (FLOORS, floors)}
    for name, (header, cells) in tables.items():
        table = markdown_table(header, cells)
        print(table, flush=True)
        if given.page:
            write_table(given.page, name, table)
    for track in OBJECTIVES if given.images else ():
        drawn = svg([panels[name] for name in TRACKS if name.endswith(track)])
        (given.images / f"search_cosmic_{track}.svg").write_text(drawn, encoding="utf-8")


if __name__ == "__main__":
    main()
