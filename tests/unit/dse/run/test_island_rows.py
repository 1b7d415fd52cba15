"""Trials of islands as columns: rows, repeats and counts are those of trials one by one."""

import random
import tracemalloc
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from packed_trials import packed

from dse.cli.running import Progress
from dse.evaluate import Evaluation
from dse.evaluate.workers.ray_meter import Meter
from dse.run.islands.archipelago import MOST_TOLD, _told
from dse.run.islands.rows import IslandRows
from dse.run.watcher import MeteredWatcher, Unwatched, Watcher, tell_all
from dse.study.counts import FailureStreak, Tally
from dse.study.stretch import FAILED, STATES, Stretch
from dse.study.trials import Trial
from simcore import SimulationError

SIGNS = {"a": 1, "b": -1}
COUNT = 2500


def outcome(luck: random.Random) -> Evaluation:
    """Any outcome that there may be."""
    state = luck.choice(STATES)
    goals = {"a": float(luck.randrange(9)), "b": float(luck.randrange(9))}
    if state == "failed":
        return Evaluation(state=state, failure="crash", reason=f"at {luck.randrange(99)}")
    if state == "pruned":
        return Evaluation(state=state, objectives=goals, fidelity="bound", reason="it is beaten")
    if state == "infeasible" and luck.random() < 0.5:
        return Evaluation(state=state, constraints={"memory": 1.0}, reason="memory")
    return Evaluation(state=state, objectives=goals, duration_s=luck.random())


def trials_of(count: int, designs: int) -> list[Trial]:
    """Trials of so many designs at most, each with an outcome of its own."""
    luck = random.Random(0)
    known = [outcome(luck) for _ in range(designs)]
    keys = [luck.randrange(designs) for _ in range(count)]
    return [
        Trial(
            number=number,
            design={"key": key, "rate": 1.0 + key},
            evaluation=known[key],
            worker=f"m{number % 3}.w{number % 7}",
        )
        for number, key in enumerate(keys)
    ]


def as_rows(trials: Sequence[Trial]) -> list[Trial]:
    """The trials, each repeat as it is told."""
    first, rows = dict[Any, int](), list[Trial]()
    for trial in trials:
        before = first.setdefault(trial.design["key"], trial.number)
        is_new = before == trial.number
        rows.append(trial if is_new else trials[before].repeated_as(trial.number))
    return rows


def add(rows: IslandRows, numbers: Sequence[int], trials: Sequence[Trial]) -> None:
    """Let *rows* have the trials with *numbers*."""
    some = [trials[number] for number in numbers]
    known = [n for trial in some for n in (int(trial.design["key"]) + 1, trial.number + 5)]
    made = packed(some, known)
    rows.add(numbers, made.trials, made.outcomes)


def stretches(trials: Sequence[Trial], size: int = 400) -> tuple[IslandRows, list[Stretch]]:
    """Trials that come island by island, some of them twice, and are folded as they may be."""
    rows, found = IslandRows(2), list[Stretch]()
    for first in range(0, len(trials), size):
        end = min(first + size, len(trials))
        for island in (3, 0, 2, 0, 1):
            add(rows, range(first + island, end, 4), trials)
            while (stretch := rows.fold(end)) is not None:
                found.append(stretch)
            if island == 2:
                add(rows, [first + 1, first + 2, first + 5, first + 6], trials)
    return rows, found


def test_rows_that_come_in_any_order_and_twice_are_those_of_trials_in_turn() -> None:
    trials = trials_of(COUNT, 1500)
    expected = as_rows(trials)
    rows, found = stretches(trials)
    assert list(rows) == rows[:] == expected
    assert rows[7::501] == expected[7::501]
    assert rows[-1] == expected[-1]
    assert sum(map(len, found)) == len(rows) == COUNT
    told = [pair for stretch in found for pair in stretch.each()]
    assert [trial for trial, _ in told] == expected
    counts = np.cumsum([row.repeats is not None for row in expected]).tolist()
    assert [duplicates for _, duplicates in told] == counts
    assert rows.duplicates == counts[-1] > 300, "so that it can fail"
    part = rows.stretch(1000, 1100)
    assert [pair[1] for pair in part.each()] == counts[1000:1100]
    assert part.outcomes["genome"].tolist() == list(range(1005, 1105))


def test_trials_behind_a_gap_are_there_but_no_rows() -> None:
    trials, rows = trials_of(40, 99), IslandRows(2)
    assert rows.fold(40) is None
    assert not rows.are_there(range(40)).any()
    add(rows, range(1, 40, 2), trials)
    assert rows.fold(40) is None
    add(rows, range(0, 20, 2), trials)
    there = [number % 2 == 1 or number < 20 for number in range(50)]
    assert rows.are_there(range(50)).tolist() == [*there[:40], *[False] * 10]
    assert rows.are_there([3, 20, 21, 39]).tolist() == [True, False, True, True]
    stretch = rows.fold(15)
    assert stretch is not None
    assert len(stretch) == len(rows) == 15
    assert rows.later(36) == [trials[number] for number in range(15, 36) if there[number]]
    assert rows.trial(39) == trials[39]
    assert len(list(rows)) == 15


def test_stored_rows_are_taken_up_as_they_are() -> None:
    expected = as_rows(trials_of(1200, 600))
    rows = IslandRows(2)
    for row in expected:
        rows.adopt(row)
    assert list(rows) == expected
    assert rows.duplicates == sum(row.repeats is not None for row in expected)


def test_a_trial_of_islands_takes_a_few_hundred_bytes() -> None:
    trials = trials_of(3000, 2900)
    stretches(trials[:400])
    tracemalloc.start()
    try:
        rows, _ = stretches(trials)
        assert tracemalloc.get_traced_memory()[0] < 500 * len(rows)
    finally:
        tracemalloc.stop()


def test_counts_of_many_rows_are_those_of_each() -> None:
    trials = trials_of(COUNT, 1500)
    _, found = stretches(trials)
    together, each = Tally(), Tally()
    for stretch in found:
        together.add_all(stretch, SIGNS)
        for trial, _ in stretch.each():
            each.add(trial, SIGNS)
        assert together == each
    assert min(each.evaluated, each.infeasible, each.pruned, each.failed, each.duplicates) > 99


@pytest.mark.parametrize("failed", [0.0, 0.02, 0.4])
def test_designs_that_fail_alike_are_seen_in_many_rows_at_the_same_one(failed: float) -> None:
    luck = random.Random(2)
    fails = [luck.random() < failed for _ in range(COUNT)]
    failure = Evaluation(state="failed", failure="crash", reason="at 7")
    found = Evaluation(state="complete", objectives={"a": 1.0, "b": 1.0})
    trials = [
        replace(one, evaluation=failure if fails[int(one.design["key"])] else found)
        for one in trials_of(COUNT, COUNT)
    ]
    _, parts = stretches(trials)
    assert any(part.of(FAILED).any() for part in parts) == (failed > 0)

    def ends(at_once: bool) -> int:
        streak = FailureStreak()
        for at, part in enumerate(parts):
            try:
                if at_once:
                    streak.add_all(part)
                else:
                    for trial, _ in part.each():
                        streak.add(trial)
            except SimulationError:
                return at
        return -1

    assert ends(True) == ends(False)
    assert (ends(True) >= 0) == (failed > 0.1)


def test_a_display_shows_the_same_of_many_rows_as_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dse.cli.running.show_objective", lambda name, value: f"{name} {value}")
    _, found = stretches(trials_of(COUNT, 1500))
    shown = []
    for at_once in (True, False):
        progress = Progress(lambda: False, quiet=True)
        progress.started(_study_of_signs(), 77, COUNT)
        for stretch in found:
            if at_once:
                progress.all_folded(stretch)
            else:
                for trial, duplicates in stretch.each():
                    progress.folded(trial, duplicates)
        progress._start_s -= 1e9  # so that no rate differs
        shown.append((progress._facts(), progress._by_machine, progress._front.kept))
    assert shown[0] == shown[1]
    assert len(shown[0][1]) == 3


class Each(Unwatched):
    """A watcher that looks at each row."""

    def __init__(self) -> None:
        self.seen = list[tuple[Trial, int]]()

    def folded(self, trial: Trial, duplicates: int) -> None:
        self.seen.append((trial, duplicates))


def test_who_looks_at_each_row_is_told_each_and_for_nobody_a_trial_is_made() -> None:
    _, found = stretches(trials_of(600, 500))
    seen = [pair for stretch in found for pair in stretch.each()]
    each = Each()
    metered: Watcher = MeteredWatcher(each, Meter())
    metered.started(_study_of_signs(), 0, 600)
    for stretch in found:
        tell_all(metered, stretch)
    assert each.seen == seen

    def refuse(places: Any) -> Any:
        raise AssertionError("a trial is made")

    for stretch in found:
        blind = replace(stretch, rows=refuse)
        tell_all(Unwatched(), blind)
        with pytest.raises(AssertionError, match="a trial is made"):
            tell_all(each, blind)


def _study_of_signs() -> Any:
    goals = type("Goals", (), {"objectives": tuple(SIGNS), "signs": tuple(SIGNS.values())})
    return type("Study", (), {"levels": (), "goals": goals, "fidelity": ""})


def test_of_long_rounds_the_best_designs_are_told() -> None:
    trials = [
        Trial(
            number=number,
            design={"key": number},
            evaluation=Evaluation(
                state="complete", objectives={"a": float(number // 20), "b": 100.0 - number}
            ),
        )
        for number in range(100)
    ]

    def told_of(count: int, signs: dict[str, int]) -> list[int]:
        rows = IslandRows(2)
        add(rows, range(count), trials)
        stretch = rows.fold(count)
        assert stretch is not None
        return [trial.number for trial in _told(stretch, signs)]

    for signs, best in (({"a": 1, "b": 1}, 99), ({"a": -1, "b": -1}, 0)):
        told = told_of(100, signs)
        assert len(told) == MOST_TOLD
        assert (best in told) or signs["a"] < 0
        assert told == sorted(told)
    assert told_of(MOST_TOLD, {"a": 1, "b": 1}) == list(range(MOST_TOLD))
