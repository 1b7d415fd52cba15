"""The end of a search: trims, extension of a study, and ending by itself."""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import dse
from dse.evaluate import build_evaluator
from dse.evaluate.base import Evaluation, evaluate
from dse.fidelity.promote import minimised
from dse.proof.machines import machine_prices
from dse.rank.bargain import beaten_at_a_bargain
from dse.rank.progress import latest_gain
from dse.reasons.steps import one_step
from dse.run.ending import EVERY, LEAST, Ending
from dse.samplers.base import ProposerInput
from dse.samplers.registry import build_proposer
from dse.space import Design
from dse.study.compile import load_study_file
from dse.study.trials import Trial
from simcore import ConfigError, shipped_folder

sys.path.append(str(Path(__file__).resolve().parents[4] / "benchmarks"))

STUDY, SMALL = "llm_gpt.yaml", "gpt3_13b_64_congestion.yaml"
WIDE = "gpt3_175b_1024_networks.yaml"
KEPT = ("number", "state", "params.", "objectives.", "constraints.", "reason")


def table(result: dse.StudyResult) -> pd.DataFrame:
    """What the same seed gives again; rows of the first level."""
    rows = result.trials
    rows = rows[[name for name in rows if str(name).startswith(KEPT)]]
    return rows[: result.summary["proposals"]]


def one_level(tmp_path: Path, name: str = STUDY, **search: object) -> Path:
    """A shipped study that is judged at one level."""
    data = yaml.safe_load((shipped_folder("studies") / name).read_text())
    data["search"] = {"sampler": "design", **search}
    file = tmp_path / name
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.fixture(scope="module")
def by_itself(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dse.StudyResult]:
    """A study that ended by itself: its file, its folder and its result."""
    folder = tmp_path_factory.mktemp("by_itself")
    file, out = one_level(folder, SMALL), folder / "auto"
    return file, out, dse.run_study(file, trials="auto", executor="serial", out=out)


@pytest.fixture(scope="module")
def of_sixty(tmp_path_factory: pytest.TempPathFactory) -> dse.StudyResult:
    file = one_level(tmp_path_factory.mktemp("of_sixty"), SMALL)
    return dse.run_study(file, trials=60, executor="serial")


def test_no_step_down_from_the_front_is_a_bargain(tmp_path: Path) -> None:
    bargains = import_module("bargains").bargains

    result = dse.run_study(one_level(tmp_path), trials=200, seed=0, executor="serial")
    left = [one for one in bargains(result) if one is not None and one.in_cost]
    assert left == []


def test_without_the_end_bargains_are_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test above can fail."""
    bargains = import_module("bargains").bargains

    monkeypatch.setattr("dse.run.ending.MOST_RESERVED", 0)
    result = dse.run_study(one_level(tmp_path, WIDE), trials=150, seed=0, executor="serial")
    assert any(one is not None and one.in_cost for one in bargains(result))


def test_a_trim_that_is_known_already_makes_room_for_the_next_one(tmp_path: Path) -> None:
    study = load_study_file(one_level(tmp_path, WIDE))
    evaluator = build_evaluator(study.evaluator_input)
    made = ProposerInput(
        space=study.space,
        goals=study.goals,
        seed=0,
        population=8,
        checks=evaluator.checks(),
        prices=machine_prices(study),
    )
    proposer = build_proposer("design", made)
    for _ in range(30):
        asked = proposer.ask()
        assert asked is not None
        found = evaluate(evaluator, study.goals, asked.design)
        if found.state == "complete":
            proposer.tell(asked, found.objectives, 0.0)
    known: list[Design] = []
    for _ in range(3):
        trim = proposer.trim(lambda design: design not in known)
        assert trim is not None
        assert trim.design not in known
        known.append(trim.design)
        instead = proposer.vary(trim, lambda design: design not in known)  # takes it back
        assert instead is not None
        assert instead.design not in known
    assert proposer.trim(lambda design: False) is None


def test_the_end_is_the_same_with_workers_and_after_an_interruption(
    of_sixty: dse.StudyResult, tmp_path: Path
) -> None:
    file, whole = one_level(tmp_path, SMALL), of_sixty
    local = dse.run_study(file, trials=60, executor="local", workers=2)
    pd.testing.assert_frame_equal(table(local), table(whole))
    folder = tmp_path / "stopped"

    class Stopper:
        seen = 0

        def started(self, study: object, known: int, total: int) -> None: ...

        def folded(self, trial: object, duplicates: int) -> None:
            self.seen += 1

        def stopping(self) -> bool:
            return self.seen >= 45  # in the midst of the end

    dse.run_study(file, trials=60, executor="serial", out=folder, watcher=Stopper())
    rest = dse.run_study(file, trials=60, executor="serial", out=folder, resume=True)
    pd.testing.assert_frame_equal(table(rest), table(whole))


def test_a_study_with_more_trials_is_the_one_that_always_had_them(tmp_path: Path) -> None:
    file, folder = one_level(tmp_path, SMALL), tmp_path / "more"
    dse.run_study(file, trials=40, executor="serial", out=folder)
    more = dse.run_study(file, trials=70, executor="serial", out=folder, resume=True)
    pd.testing.assert_frame_equal(
        table(more), table(dse.run_study(file, trials=70, executor="serial"))
    )
    pd.testing.assert_frame_equal(table(dse.load_study(folder)), table(more))


def offers(result: dse.StudyResult) -> Iterator[tuple[int, str]]:
    """What ``dse explain`` would offer of the front as better at no loss."""
    study = result.study
    evaluator = build_evaluator(study.evaluator_input)
    for row in (result.rows[at] for at in result.front):
        here = minimised(study, [row])
        for name, design in one_step(study.space, row.design):
            found = None if design is None else evaluate(evaluator, study.goals, design)
            if design is not None and found is not None and found.state == "complete":
                there = minimised(study, [Trial(number=-1, design=design, evaluation=found)])
                if beaten_at_a_bargain(here, there)[0]:
                    yield row.number, name


def test_a_search_ends_by_itself_where_it_improves_no_more(
    by_itself: tuple[Path, Path, dse.StudyResult],
) -> None:
    file, out, found = by_itself
    again = dse.run_study(file, trials="auto", executor="local", workers=2)
    pd.testing.assert_frame_equal(table(again), table(found))
    assert LEAST < found.summary["proposals"] < 3_000
    assert not found.summary["convergence"]["improves"]
    assert list(offers(found)) == []
    rest = dse.run_study(file, trials="auto", executor="serial", out=out, resume=True)
    pd.testing.assert_frame_equal(table(rest), table(found))


def test_an_ending_begins_at_the_same_outcome_however_it_is_asked(
    by_itself: tuple[Path, Path, dse.StudyResult],
) -> None:
    """Asked after each outcome, or once for all, as a resumed study is."""
    result = by_itself[-1]
    rows = list(result.rows)
    signs = result.study.goals.signs_by_name
    live = Ending(trials=10_000, window=32, trims=True, signs=dict(signs))
    begun = next(
        (told for told in range(len(rows) + 1) if live.begins(rows[:told], told + 31)), None
    )
    asked = Ending(trials=10_000, window=32, trims=True, signs=dict(signs)).first_of(rows)
    assert begun is not None
    assert begun % EVERY == 0
    assert live.first == asked == begun + 31


def rows_of(seconds: Iterable[float]) -> list[Trial]:
    return [
        Trial(
            number=number,
            design={},
            evaluation=Evaluation(state="complete", objectives={"iteration_time": time_s}),
        )
        for number, time_s in enumerate(seconds)
    ]


def test_a_search_goes_on_after_trims_that_moved_its_front() -> None:
    """The figure that ends it is the one that a reader is told."""
    ending = Ending(trials=10_000, window=1, trims=True, signs={"iteration_time": 1})
    rows = rows_of([2.0] * 100 + [1.5] * (LEAST - 100))
    assert ending.begins(rows, LEAST)
    assert ending.is_over(rows)
    rows = rows_of([2.0] * 100 + [1.5] * (LEAST - 100) + [1.4] * 20)  # 7 % by trims
    assert not ending.is_over(rows)
    assert not ending.begins(rows, len(rows))
    assert ending.first == LEAST
    more = rows_of([2.0] * 100 + [1.5] * (LEAST - 100) + [1.4] * LEAST)
    assert ending.begins(more, len(more))
    assert ending.is_over(more)
    for end in (LEAST, len(rows), len(more)):
        points = np.array([[row.evaluation.objectives["iteration_time"]] for row in more[:end]])
        gain = latest_gain(points, range(end), end)
        assert gain.is_settled == ending.is_over(more[:end])
        assert gain.last == end // 3


def test_more_proposals_than_there_is_room_to_trim_are_not_open() -> None:
    ending = Ending(trials=100, window=32, trims=True)
    opened = [ending.may_open(asked, 4) for asked in range(100)]
    assert opened == sorted(opened, reverse=True)
    assert all(ending.may_open(asked, 0) for asked in range(100))


@pytest.mark.parametrize("trials", ["many", 0, "-3"])
def test_a_number_of_trials_is_one_or_the_word_auto(tmp_path: Path, trials: object) -> None:
    with pytest.raises(ConfigError, match=r"search\.trials"):
        load_study_file(one_level(tmp_path, trials=trials))


def test_convergence_counts_up_to_the_whole_front(of_sixty: dse.StudyResult) -> None:
    course = of_sixty.convergence
    assert course["proposals"].iloc[-1] == 60
    assert course["hypervolume"].iloc[-1] == pytest.approx(1.0)
    assert (np.diff(course["hypervolume"]) >= -1e-12).all()
