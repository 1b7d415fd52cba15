"""Rows of a running study are kept small and come back as they were."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from dse.evaluate import Evaluation
from dse.evaluate.metrics import Metrics
from dse.run.terms import Budget
from dse.samplers.design.archive import Archive, KeyTable
from dse.space import Design
from dse.study.kept import KeptTrials
from dse.study.trials import Trial

KNOBS = 27
MOST_BYTES = 600


def design(number: int) -> Design:
    own: Design = {f"platform.knob {at}": (number >> at) % 7 for at in range(KNOBS - 3)}
    own["switch"] = bool(number % 2)  # which is no number, though True equals 1
    return own | {"word": ("ring", "direct")[number % 2], "rate": (1e9, 2e9)[number % 2]}


def trial(number: int) -> Trial:
    metrics = {f"metric {at}": float(number * at) for at in range(25)}
    complete = Evaluation(
        state="complete",
        objectives={"time": number / 7, "cost": 1.0 + number},
        constraints={"memory": -0.5} if number % 3 else {},
        metrics=Metrics.of(metrics),
        fidelity="simulated",
        notes=("a note",),
        duration_s=0.001 * number,
    )
    pruned = Evaluation(state="pruned", objectives={"time": 2.0}, reason="trial 3 is better")
    found = pruned if number % 5 == 4 else complete
    return Trial(number=number, design=design(number), evaluation=found, worker="w0")


def test_rows_come_back_as_they_were() -> None:
    rows, kept = [trial(number) for number in range(60)], KeptTrials()
    rows[7] = rows[2].repeated_as(7)
    kept.extend(rows)
    assert list(kept) == rows
    kinds = [[*map(type, row.design.values())] for row in kept]
    assert kinds == [[*map(type, row.design.values())] for row in rows]
    assert kept[-1] == rows[-1]
    assert kept[20:30:3] == rows[20:30:3]
    with pytest.raises(IndexError):
        kept[60]


def test_rows_that_were_kept_elsewhere_come_back_as_they_were() -> None:
    rows = [trial(number) for number in range(90)]
    rows[7] = rows[2].repeated_as(7)
    own = rows[41].evaluation
    rows[41] = replace(rows[41], evaluation=replace(own, metrics={"of another form": 1.0}))
    kept = KeptTrials()
    for part in (rows[:1], rows[1:50], [], rows[50:]):
        elsewhere = KeptTrials()
        elsewhere.extend(part)
        kept.take(pickle.loads(pickle.dumps(elsewhere)))
    kept.append(trial(90))
    assert list(kept) == [*rows, trial(90)]
    assert kept.trial(3, 1000) == replace(rows[3], number=1000)
    names = {name for part, names in kept.named() if part == "metrics" for name in names}
    assert names == {*(f"metric {at}" for at in range(25)), "of another form"}
    assert kept.workers(np.array([1, 2, 7])) == {"w0": 2, "": 1}


def test_a_row_takes_a_few_hundred_bytes() -> None:
    kept, known = KeptTrials(), KeyTable()
    known.note(10**6, 0)  # what is compiled is not measured
    kept.append(trial(0))
    tracemalloc.start()
    try:
        for number in range(1, 2001):
            kept.append(trial(number))
            known.note(number, number)
        assert tracemalloc.get_traced_memory()[0] < MOST_BYTES * 2000
    finally:
        tracemalloc.stop()


def test_keys_are_found_as_in_a_dictionary() -> None:
    rng, table, known = np.random.default_rng(0), KeyTable(), dict[int, int]()
    for turn in range(40):
        keys = rng.integers(1, 4000, size=100)
        notes = rng.integers(0, 1000, size=100).astype(np.int32)
        table.put(keys, notes)
        known |= dict(zip(keys.tolist(), notes.tolist(), strict=True))
        assert not table.note(int(keys[0]), turn)
    every = np.arange(1, 4000)
    assert table.find(every).tolist() == [known.get(key, -1) for key in every.tolist()]


def test_what_an_archive_forgets_is_new_again() -> None:
    archive = Archive()
    archive.add(np.array([3, 4, 3]))
    archive.note(4, [1.0, 2.0])
    archive.note(9, [3.0, 4.0])
    archive.forget(3)
    archive.add(np.array([4]))
    assert archive.knows(np.array([3, 4, 9, 5])).tolist() == [False, True, True, False]
    assert [archive.values(key) for key in (3, 5)] == [None, None]
    assert list(archive.values(4) or ()) == [1.0, 2.0]
    assert list(archive.values(9) or ()) == [3.0, 4.0]
    archive.add_one(3)
    assert 3 in archive


@pytest.mark.parametrize("in_lessons", [True, False])
def test_a_study_that_goes_on_knows_what_was_told_before(in_lessons: bool) -> None:
    budget = Budget(trials=3000, window=32, in_lessons=in_lessons)
    told = 0
    for asked in range(1, 2500):
        while not budget.may_open(asked - 1, told):
            told += 1
        assert budget.told_before(asked) == told
    assert (2499 - told > 200) == in_lessons
