"""Rows of many trials at once, as islands make them, in the store."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from dse.evaluate import Evaluation
from dse.store import writer
from dse.store.database import open_to_write
from dse.store.errors import STORE
from dse.store.packed import ManyRows
from dse.store.reader import reading
from dse.store.rows import row_of
from dse.store.writer import StoreWriter
from dse.study.trials import Trial


def trial(number: int, value: float = 1.0) -> Trial:
    outcome = Evaluation(state="complete", objectives={"a": value}, metrics={"m": value})
    return Trial(number=number, design={"knob": number % 7}, evaluation=outcome)


def opened(path: Path) -> StoreWriter:
    return StoreWriter(open_to_write(path), path)


def stored(path: Path) -> list[Trial]:
    with reading(path) as store:
        store.check()
        return list(store.trials())


def test_rows_are_read_in_the_order_of_their_numbers_however_they_come(tmp_path: Path) -> None:
    path, numbers = tmp_path / STORE, list(range(700))
    Random(0).shuffle(numbers)
    store = opened(path)
    for first in range(0, 700, 70):
        rows = [row_of("trial", trial(number)) for number in numbers[first : first + 70]]
        store.add_many(ManyRows(rows, (), {("metrics", ("m",)), ("constraints", ())}))
        if first % 140:
            store.flush()
    store.close()
    assert stored(path) == [trial(number) for number in range(700)]
    with reading(path) as store_read:
        assert store_read.fields() == [("metrics", "m")]
        assert [row[1] for row in store_read.rows_from(690)] == list(range(690, 700))


@pytest.mark.parametrize("flushes", [False, True])
def test_a_row_whose_number_is_taken_takes_its_place(tmp_path: Path, flushes: bool) -> None:
    path = tmp_path / STORE
    store = opened(path)
    for value, numbers in ((1.0, range(10)), (2.0, range(5, 15))):
        rows = [row_of("trial", trial(number, value)) for number in numbers]
        store.add_many(ManyRows(rows, (), {("metrics", ("m",))}))
        if flushes:
            store.flush()
    repeated = replace(trial(12), repeats=5)
    store.add(repeated)
    store.close()
    expected = [trial(number, 1.0 if number < 5 else 2.0) for number in range(15)]
    assert stored(path) == [*expected[:12], repeated, *expected[13:]]


def test_many_rows_do_not_wait_for_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "BATCH_S", 1e9)
    monkeypatch.setattr(writer, "MOST_ROWS", 10)
    path = tmp_path / STORE
    store = opened(path)
    store.add_many(ManyRows([row_of("trial", trial(number)) for number in range(9)], (), set()))
    assert not stored(path)
    store.add_many(ManyRows([row_of("trial", trial(9))], (), set()))
    assert len(stored(path)) == 10
    store.close()


def test_failed_trials_that_fail_again_are_kept(tmp_path: Path) -> None:
    path = tmp_path / STORE
    store, failed = opened(path), Evaluation(state="failed", reason="broken")
    for number in range(4):
        row = trial(number)
        store.add(replace(row, evaluation=failed) if number % 2 else row)
    store.flush()
    store.forget_failures()
    again = [replace(trial(number), evaluation=failed) for number in (1, 3)]
    rows = [row_of("trial", one) for one in again]
    store.add_many(ManyRows(rows, (), {("metrics", ("m",))}))
    store.close()
    assert [(one.number, one.state) for one in stored(path)] == [
        (0, "complete"), (1, "failed"), (2, "complete"), (3, "failed"),
    ]  # fmt: skip


def test_trials_are_dropped_by_their_numbers(tmp_path: Path) -> None:
    path = tmp_path / STORE
    store = opened(path)
    for number in range(6):
        store.add(trial(number))  # they wait to be written
    store.forget([1, 4])
    store.close()
    assert [one.number for one in stored(path)] == [0, 2, 3, 5]
