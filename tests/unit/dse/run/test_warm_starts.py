"""Searches that know lessons of earlier studies find what they find without them, and more."""

import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from dse import StudyResult, run_study
from dse.cli.commands import main
from dse.evaluate import Evaluation
from dse.rank.hypervolume import hypervolume
from dse.results.result import load_study
from dse.run.learned import MOST, learned_designs
from dse.run.lessons.beside import LOOKED_AT, UNTOLD, Beside
from dse.run.runner import Runner
from dse.run.terms import Budget, Lessons, Slot
from dse.study.compile import find_study, load_study_file
from dse.study.trials import Trial

sys.path.append(str(Path(__file__).resolve().parents[3] / "support"))

from small_study import STUDY as SMALL
from stopping import Stopping

STUDY = "p5_vit22b_64.yaml"
LARGER = {
    "space.products.0.equals": 256,
    "space.products.1.equals": 256,
    "run.platform.dimensions.1.npus": 32,
    "run.plan.dp": 32,
}
EARLIER: Mapping[str, Mapping[str, Any]] = {
    "well": {},
    "badly": {"objectives.capital_cost": "maximise"},  # one aim in common: it does teach
    "larger": LARGER,
}


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Folders of earlier studies."""
    folder = tmp_path_factory.mktemp("earlier")
    for name, changes in EARLIER.items():
        data = yaml.safe_load(find_study(STUDY).read_text(encoding="utf-8"))
        data.pop("reference_point", None)
        for path, value in changes.items():
            *parts, last = path.split(".")
            place = data
            for part in parts:
                place = place[int(part) if isinstance(place, list) else part]
            place[last] = value
        file = folder / f"{name}.yaml"
        file.write_text(yaml.safe_dump(data), encoding="utf-8")
        run_study(file, trials=100, seed=100, executor="serial", out=folder / name)
    return {name: str(folder / name) for name in EARLIER}


@cache
def searched(
    trials: int, seed: int = 0, learn_from: Sequence[str] = (), **more: Any
) -> StudyResult:
    more = {"executor": "serial", **more}
    return run_study(STUDY, trials=trials, seed=seed, learn_from=list(learn_from), **more)


def told(result: StudyResult) -> list[Any]:
    return [
        (row.number, row.state, row.design, dict(row.evaluation.objectives), row.repeats)
        for row in result.rows
    ]


def lessons_of(learn_from: Sequence[str]) -> Sequence[Mapping[str, Any]]:
    return learned_designs(load_study_file(STUDY, {"search.learn_from": [*learn_from]})).designs


def volume(result: StudyResult, reference: np.ndarray) -> float:
    points = [list(row.evaluation.objectives.values()) for row in result.rows if row.is_feasible]
    return hypervolume(np.log(points), reference)


@pytest.mark.parametrize("names", [("well",), ("badly",), ("larger",), tuple(EARLIER)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_after_200_trials_a_search_with_lessons_is_never_worse_than_without(
    earlier: Mapping[str, str], names: Sequence[str], seed: int
) -> None:
    folders = tuple(earlier[name] for name in names)
    cold, warm = searched(UNTOLD, seed), searched(UNTOLD, seed, folders)
    lessons = lessons_of(folders)
    assert 0 < len(lessons) <= MOST
    assert told(warm)[:UNTOLD] == told(cold)  # all that is found without them, and
    assert len(warm.rows) == UNTOLD + len(lessons)
    assert all(any(row.design == one for row in warm.rows) for one in lessons)
    points = [list(row.evaluation.objectives.values()) for row in cold.rows if row.is_feasible]
    reference = np.log(1.1 * np.max(points, axis=0))
    assert volume(warm, reference) >= volume(cold, reference)
    best = [min(one[at] for one in points) for at in range(2)]
    for at, name in enumerate(warm.study.goals.objectives):
        found = min(row.evaluation.objectives[name] for row in warm.rows if row.is_feasible)
        assert found <= best[at]


@pytest.mark.parametrize("sampler", ["design", "tpe", "random", "exhaustive", "local"])
def test_a_search_of_any_sampler_goes_the_way_that_it_goes_without_lessons(
    earlier: Mapping[str, str], sampler: str
) -> None:
    folders = (earlier["well"],)
    cold, warm = searched(40, 0, sampler=sampler), searched(40, 0, folders, sampler=sampler)
    assert told(warm)[:40] == told(cold)
    assert [row.design for row in warm.rows[40:]] == list(lessons_of(folders))


def test_lessons_are_evaluated_first_and_the_sampler_hears_of_them_after_200_trials(
    earlier: Mapping[str, str],
) -> None:
    folders = (earlier["well"],)
    lessons = list(lessons_of(folders))
    begun = searched(260, 0, folders, watcher=Stopping(5))
    assert [row.design for row in begun.rows[-len(lessons) :]] == lessons
    cold, warm = searched(260), searched(260, 0, folders)
    assert told(warm)[:UNTOLD] == told(cold)[:UNTOLD]
    assert [row.design for row in warm.rows[UNTOLD:][: len(lessons)]] == lessons
    assert [row.design for row in warm.rows[-20:]] != [row.design for row in cold.rows[-20:]]


@pytest.mark.parametrize(
    ("sampler", "trials", "stops"),
    [("design", 260, (3, 30, 203)), ("design", 210, (185, 205)), ("tpe", 50, (3, 30))],
)
def test_a_study_that_goes_on_has_the_rows_of_one_that_never_stopped(
    tmp_path: Path, earlier: Mapping[str, str], sampler: str, trials: int, stops: Sequence[int]
) -> None:
    folders = (earlier["well"], earlier["badly"])
    whole = told(searched(trials, 0, folders, sampler=sampler))
    for count in stops:
        how: dict[str, Any] = {"trials": trials, "seed": 0, "sampler": sampler}
        how |= {"executor": "serial", "learn_from": folders, "out": tmp_path / str(count)}
        run_study(STUDY, watcher=Stopping(count), **how)
        assert told(run_study(STUDY, resume=True, **how)) == whole
        assert told(load_study(tmp_path / str(count))) == whole


def test_a_study_that_goes_on_with_more_trials_is_as_if_it_had_had_them_at_once(
    tmp_path: Path, earlier: Mapping[str, str]
) -> None:
    how: dict[str, Any] = {"seed": 0, "executor": "serial", "learn_from": (earlier["well"],)}
    run_study(STUDY, trials=100, out=tmp_path / "more", **how)
    found = run_study(STUDY, trials=260, out=tmp_path / "more", resume=True, **how)
    assert told(found) == told(searched(260, 0, (earlier["well"],)))


def test_the_rows_are_the_same_on_any_number_of_workers(earlier: Mapping[str, str]) -> None:
    folders = (earlier["well"], earlier["larger"])
    many = searched(210, 1, folders, executor="local", workers=3)
    assert told(many) == told(searched(210, 1, folders))


@pytest.mark.parametrize("trials", [60, 400])
def test_islands_propose_lessons_after_200_trials_or_after_all(
    earlier: Mapping[str, str], trials: int
) -> None:
    folders, alike = (earlier["well"],), min(trials, UNTOLD)
    cold, warm = searched(trials, 0, islands=2), searched(trials, 0, folders, islands=2)
    assert told(warm)[:alike] == told(cold)[:alike]
    designs = [row.design for row in warm.rows]
    assert all(one in designs for one in lessons_of(folders))


def test_a_check_tells_how_many_designs_come_on_top_of_the_trials(
    tmp_path: Path, earlier: Mapping[str, str]
) -> None:
    data = yaml.safe_load(find_study(STUDY).read_text(encoding="utf-8"))
    data["search"] = {"trials": 200, "learn_from": [earlier["well"]]}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data), encoding="utf-8")
    ran = CliRunner().invoke(main, ["check", str(file)], catch_exceptions=False)
    (line,) = [line for line in ran.output.splitlines() if line.startswith("learned")]
    count = len(lessons_of((earlier["well"],)))
    assert line.endswith(f"{count} designs of earlier studies, evaluated on top of the trials")


def row(number: int, *values: float) -> Trial:
    """A feasible trial, or one without values."""
    objectives = dict(zip(("time", "power"), values, strict=False))
    evaluation = Evaluation(state="complete" if values else "infeasible", objectives=objectives)
    return Trial(number=number, design={"a": number}, evaluation=evaluation, worker="here")


@pytest.mark.parametrize(
    ("found", "taught", "is_told"),
    [
        ([(10.0,), (12.0,)], [(5.0,), (20.0,)], True),  # twice as good
        ([(10.0,), (12.0,)], [(6.0,)], False),
        ([(10.0, 3.0)], [(9.0, 2.9)], False),
        ([(100.0, 30.0)], [(10.0, 2.0)], True),
        ([(100.0, 30.0), (10.0, 2.1)], [(10.0, 2.0)], False),
        ([], [(10.0, 2.0)], True),  # nothing was feasible
        ([(10.0,)], [()], False),  # the lesson is not
        ([], [()], False),
    ],
)
def test_lessons_that_are_far_ahead_of_the_first_trials_are_told_at_once(
    found: Sequence[Sequence[float]], taught: Sequence[Sequence[float]], is_told: bool
) -> None:
    width = max(len(values) for values in (*found, *taught, (0.0,)))
    signs = dict(list({"time": 1, "power": 1}.items())[:width])
    beside = Beside(Budget(trials=300, window=32, lessons=Lessons(signs=signs)))
    slots = [Slot.of({"a": -1 - at}, key=at + 1) for at in range(len(taught))]
    assert beside.take(slots, 0, {}) == slots
    for slot, values in zip(slots, taught, strict=True):
        slot.trial = row(slot.number, *values)
    assert [asked for asked in range(300) if beside.is_fork(asked)][:2] == [LOOKED_AT, UNTOLD]
    assert beside.tell(LOOKED_AT, [row(at, *own) for at, own in enumerate(found)]) is is_told
    assert next(number for number, _ in beside.left(0)) == (LOOKED_AT if is_told else UNTOLD)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A space of few designs, and the folder of an earlier study of it."""
    folder = tmp_path_factory.mktemp("few")
    space = {**SMALL["space"], "axes": dict(SMALL["space"]["axes"])}
    for dimension in (0, 1):
        space["axes"].pop(f"platform.dimensions[{dimension}].bandwidth")
    file = folder / "few.yaml"
    file.write_text(yaml.safe_dump({**SMALL, "space": space}, sort_keys=False))
    run_study(file, trials=40, seed=5, sampler="design", executor="serial", out=folder / "before")
    return file, str(folder / "before")


def test_lessons_that_a_search_of_all_designs_has_found_are_no_rows(
    few: tuple[Path, str], tmp_path: Path
) -> None:
    file, before = few
    options: dict[str, Any] = {"sampler": "tpe", "executor": "serial", "learn_from": [before]}
    for trials, resume in ((146, False), (206, True)):
        warm = run_study(file, trials=trials, out=tmp_path / "out", resume=resume, **options)
        assert [row.number for row in warm.rows] == list(range(144))
        assert told(load_study(tmp_path / "out")) == told(warm)


@pytest.mark.parametrize("sampler", ["random", "tpe", "design"])
def test_islands_evaluate_lessons_whatever_proposes(few: tuple[Path, str], sampler: str) -> None:
    file, before = few
    options: dict[str, Any] = {"sampler": sampler, "islands": 2, "trials": 40}
    options["executor"] = "serial"
    cold = run_study(file, **options)
    warm = run_study(file, learn_from=[before], **options)
    lessons = learned_designs(load_study_file(file, {"search.learn_from": [before]})).designs
    assert lessons
    assert told(warm)[:40] == told(cold)
    designs = [row.design for row in warm.rows]
    assert all(design in designs for design in lessons)


def test_the_front_of_a_stopped_search_is_whole_with_its_lessons(
    earlier: Mapping[str, str],
) -> None:
    study = load_study_file(STUDY, {"search.learn_from": [earlier["well"]], "search.trials": 260})
    cut = Runner(study, out=None, resume=False, watcher=Stopping(30)).search(None)
    numbers = [row.number for row in cut.rows]
    assert numbers[-1] - numbers[0] >= len(numbers)  # lessons wait behind a hole
    assert cut.summary["convergence"]["hypervolume"][-1] == pytest.approx(1.0)
