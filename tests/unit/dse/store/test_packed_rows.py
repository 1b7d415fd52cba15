"""Rows that islands have packed: read as all others, turned into such, told where damaged."""

import sqlite3
import zlib
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from dse.evaluate import Evaluation
from dse.evaluate.base import State
from dse.space import Value
from dse.store import packed, unpacked, writer
from dse.store.database import open_to_write
from dse.store.errors import STORE, StoreError
from dse.store.follow import StoreFollower
from dse.store.packed import ManyRows, Packed, pack_rows, unpack_rows
from dse.store.reader import reading
from dse.store.rows import Row, Total, row_of, sealed_row, unsound_rows
from dse.store.taken import Taken
from dse.store.writer import StoreWriter
from dse.study.trials import Trial
from simcore import ConfigError

NAMED = {("metrics", ("m",)), ("constraints", ())}


def trial(number: int, value: float = 1.0) -> Trial:
    state: State = "failed" if number % 11 == 3 else "complete"
    outcome = Evaluation(
        state=state,
        objectives={"a": value} if state == "complete" else {},
        metrics={"m": value / 3},
        reason='it "broke",\n\\ü' if state == "failed" else "",
        failure="crash" if state == "failed" else "",
    )
    design: dict[str, Value] = {"knob": number % 7, "word": f"{number % 3}", "real": number / 7}
    return Trial(number=number, design=design, evaluation=outcome, worker="w1")


def rows_of(numbers: Sequence[int], value: float = 1.0) -> list[Row]:
    return [row_of("trial", trial(number, value)) for number in numbers]


def opened(path: Path) -> StoreWriter:
    path.parent.mkdir(exist_ok=True)
    return StoreWriter(open_to_write(path), path)


def holding(path: Path, rows: Sequence[Row]) -> StoreWriter:
    """A store that holds *rows*, packed."""
    store = opened(path)
    store.add_many(pack_rows(rows, NAMED))
    store.flush()
    return store


def told(path: Path) -> dict[str, Any]:
    """All that a store tells of its trials."""
    with reading(path) as store:
        store.check()
        numbers = list(store.numbers())
        return {
            "rows": store.rows_from(0),
            "later": store.rows_from(100),
            "trials": list(store.trials()),
            "failed": list(store.trials(where=lambda row: row[3] == "failed")),
            "numbers": numbers,
            "numbered": list(store.numbered(numbers[::5])),
            "count": store.count(),
            "total": store.total(),
            "fields": store.fields(),
        }


def tables(path: Path) -> tuple[list[Row], int]:
    with closing(sqlite3.connect(path)) as store:
        rows = store.execute("SELECT * FROM trial ORDER BY number").fetchall()
        return rows, store.execute("SELECT count(*) FROM packed").fetchone()[0]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Values of few rows, and few of these at once."""
    monkeypatch.setattr(packed, "LEAST", 3)
    monkeypatch.setattr(packed, "MOST", 20)
    monkeypatch.setattr(writer, "_TURNED", 2)


class Pair:
    """The same changes made to a store with packed rows, and to one without."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.random = Random(seed)
        self.paths = folder / "packed" / STORE, folder / "plain" / STORE
        self.stores = [opened(path) for path in self.paths]
        self.follower = StoreFollower(self.paths[0].parent)

    def change(self) -> None:
        random, (one, other) = self.random, self.stores
        kind = random.choice(["many"] * 6 + ["few", "one", "one", "from", "failures", "again"])
        first, step = random.randrange(160), random.randrange(1, 9)
        if kind in ("many", "few"):
            numbers = list(range(first, 400, step))[: random.randrange(1, 60)]
            rows = rows_of(random.sample(numbers, len(numbers)), random.random())
            plain = ManyRows(rows, (), NAMED)
            one.add_many(pack_rows(rows, NAMED) if kind == "many" else plain)
            other.add_many(plain)
        elif kind == "again":
            one.abandon()
            self.stores[0] = opened(self.paths[0])
        else:
            for store in self.stores:
                if kind == "one":
                    store.add(trial(first))
                elif kind == "from":
                    store.forget_from(first + 100)
                else:
                    store.forget_failures()
        for store in self.stores:
            store.flush()

    def check(self) -> None:
        found, expected = map(told, self.paths)
        assert [row[1] for row in found["rows"]] == [row[1] for row in expected["rows"]]
        assert found["numbers"] == expected["numbers"]
        assert found["trials"] == expected["trials"]
        assert found["failed"] == expected["failed"]
        assert [row[0] for row in found["numbered"]] == [row[0] for row in expected["numbered"]]
        assert (found["count"], found["fields"]) == (expected["count"], expected["fields"])
        assert found["later"] == [row for row in found["rows"] if row[1] >= 100]
        assert not unsound_rows("trial", found["rows"])
        self.follower.follow()
        assert [*map(self.follower.trials.get, sorted(self.follower.trials))] == found["trials"]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(12))
def test_packed_rows_are_read_as_all_others_whatever_changes(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.store.rows.time.time", lambda: 1.5)
    pair = Pair(tmp_path, seed)
    for _ in range(25):
        pair.change()
        pair.check()
    for store in pair.stores:
        store.close()
    pair.check()
    assert tables(pair.paths[0]) == tables(pair.paths[1])
    assert not tables(pair.paths[0])[1]


def test_rows_come_back_as_they_were_packed() -> None:
    rows = rows_of(range(7, 5000, 3))
    many = pack_rows(rows, NAMED)
    assert [*many.plain, *unpack_rows([one.row for one in many.packed])] == rows
    assert many.only(range(7, 5000, 3)).plain == rows
    assert len(many) == len(rows)
    assert len(many.plain) < packed.LEAST < packed.MOST == many.packed[0].total.rows
    assert many.packed[0].numbers.tolist() == [row[1] for row in rows[: packed.MOST]]


@pytest.mark.parametrize("reason", ["of \x1f or \x1e", "of \x1f", "of \x1e", "\x1e"])
def test_rows_whose_texts_hold_what_ends_columns_stay_as_they_are(reason: str) -> None:
    failed = Evaluation(state="failed", failure="crash", reason=reason)
    odd = row_of("trial", Trial(number=0, design={}, evaluation=failed))
    for rows in ([*rows_of(range(1, 21)), odd], [odd] * 20):
        assert pack_rows(rows, NAMED) == ManyRows(rows, [], NAMED)


@pytest.mark.usefixtures("small")
def test_a_driver_killed_before_or_while_rows_are_turned_loses_none_and_doubles_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / STORE, rows_of(range(300))
    store = holding(path, rows)
    assert tables(path) == ([], 15)
    before, turn, turned = told(path), StoreWriter._turn_some, list[Sequence[int]]()

    def dies(self: StoreWriter, values: Sequence[int], *given: Any) -> None:
        turn(self, values, *given)
        turned.append(values)
        if len(turned) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(StoreWriter, "_turn_some", dies)
    with pytest.raises(KeyboardInterrupt):
        store.close()
    assert (len(tables(path)[0]), tables(path)[1]) == (80, 11)
    assert told(path) == before
    store = opened(path)
    assert told(path) == before
    assert tables(path) == (rows, 0)
    store.close()
    assert told(path) == before


class _Pressed:
    """A connection to a store, with Ctrl-C once a statement has been run for the first time."""

    def __init__(self, connection: sqlite3.Connection, statement: str) -> None:
        self._connection, self._statement = connection, statement

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *given: Any) -> sqlite3.Cursor:
        found = self._connection.execute(statement, *given)
        if statement == self._statement:
            self._statement = ""
            raise KeyboardInterrupt
        return found


@pytest.mark.parametrize("statement", ["BEGIN", "COMMIT"])
@pytest.mark.parametrize("pack", [pack_rows, lambda rows, named: ManyRows(rows, (), named)])
def test_ctrl_c_around_a_commit_loses_no_row_and_doubles_none(
    tmp_path: Path, statement: str, pack: Any
) -> None:
    path, rows = tmp_path / STORE, rows_of(range(50))
    connection: Any = _Pressed(open_to_write(path), statement)
    store = StoreWriter(connection, path)
    store.add_many(pack(rows, NAMED))
    store.add(trial(60))
    with pytest.raises(KeyboardInterrupt):
        store.flush()
    store.event("stopped", "KeyboardInterrupt")
    store.close()
    assert told(path)["rows"][:50] == rows
    assert told(path)["count"] == 51


@pytest.mark.parametrize(
    ("statement", "what"),
    [
        ("UPDATE packed SET rows = CAST(rows || 'x' AS BLOB)", "packed trials from 0 to 29 that"),
        ("UPDATE packed SET last = 30", "packed trials from 0 to 30 that are not as they were"),
        ("UPDATE packed SET checksum = checksum + 1", "1 packed values that are not the 1 that"),
        ("DELETE FROM packed", "0 packed values that are not the 1 that were written"),
        ("INSERT INTO trial SELECT * FROM copy.trial WHERE number = 7", "rows of the table trial"),
    ],
)
def test_damage_of_packed_rows_is_told(tmp_path: Path, statement: str, what: str) -> None:
    path, copy = tmp_path / STORE, tmp_path / "copy" / STORE
    store, rows = opened(path), rows_of(range(30))
    store.add_many(pack_rows(rows, NAMED))
    store.flush()
    other = opened(copy)
    other.add_many(ManyRows(rows_of(range(30), 2.0), (), NAMED))
    other.close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("ATTACH ? AS copy", (str(copy),))
        database.execute(statement)
    with pytest.raises(ConfigError, match=rf"must be the undamaged store .*{what}"):
        told(path)
    if "packed" in statement:
        with pytest.raises(ConfigError, match="must be the undamaged store"):
            opened(path)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no zlib",
        zlib.compress(b"[1]"),
        zlib.compress(b"\xff"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(b"[1]\x1e[2]") + b"more",
        zlib.compress(b" " * (packed.MOST_BYTES + 1)),
        zlib.compress(b"\x1e".join([b"[1]"] * 17)),
        zlib.compress(b"\x1e".join([b"[[1]]"] * 17)),
        zlib.compress(b"\x1e".join([b"[" + b"9" * 30 + b"]"] * 17)),
    ],
)
def test_a_strangers_value_is_damage_and_nothing_else(tmp_path: Path, data: bytes) -> None:
    for header in ((1, 1, 1, 1), (10**18, 10**18, 1, 10**18)):
        path = tmp_path / str(header[0]) / STORE
        store = opened(path)
        row = sealed_row("packed", (*header, data))
        store.add_many(ManyRows((), [Packed(row, np.array([5]), np.array([1]))], NAMED))
        store.flush()
        with pytest.raises(ConfigError, match="must be the undamaged store"):
            told(path)
        with suppress(ConfigError):
            store.close()
        with pytest.raises(ConfigError, match="must be the undamaged store"):
            told(path)


def test_a_reader_without_room_for_packed_rows_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, rows = tmp_path / STORE, rows_of(range(500))
    holding(path, rows).abandon()
    with monkeypatch.context() as patch:
        patch.setattr(unpacked, "_FAST", f"{unpacked._FAST} PRAGMA max_page_count = 3;")
        with pytest.raises(StoreError, match=r"TMPDIR: must name a folder with room .*full"):
            told(path)
    assert told(path)["rows"] == rows


def test_numbers_are_free_once_and_beyond_all_bounds_taken() -> None:
    taken = Taken(np.array([3, 5000]))
    assert taken.are_free([2, 4, 4999])
    assert not taken.are_free([2, 3])
    assert taken.are_free([])
    assert not taken.are_free([1 << 40])
    taken.add_packed(np.array([4, 7, 70_000]), np.array([1, 20, 1 << 31]))
    assert not any(taken.are_free([number]) for number in (3, 4, 7, 5000, 70_000))
    assert taken.add([6, 7, 7, 3, 70_000, 80_000]) == Total(2, (1 << 31) + 20)
    assert taken.add([6, 7, 70_000]) == Total()
    taken.unpack()
    assert taken.add([4]) == Total()
    assert not taken.are_free([80_000])
    taken.forget_from(5000)
    assert taken.are_free([5000, 70_000])
    assert not taken.are_free([4])
