"""Damage to a store is told, or changes nothing: no third thing."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from damage import BITS, KINDS, Checker
from fault_studies import run_faulty

import dse
from simcore import ConfigError


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checker]:
    folder = tmp_path_factory.mktemp("damaged")
    yield Checker(folder)
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_told_in_one_sentence_or_changes_nothing(kind: str, checker: Checker) -> None:
    random = Random(kind)
    found = {checker.damage(kind, random) for _ in range(50 if kind in BITS else 6)}
    assert "refused" in found, "nothing was hit"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_flipped_bits_change_nothing_in_silence(seed: int, checker: Checker) -> None:
    random = Random(seed)
    for _ in range(100):
        checker.damage("flipped bit", random)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_faulty(tmp_path / "study", trials=30, executor="serial")
    return tmp_path / "study"


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "study.db")) as store, store:
        store.execute(statement)


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE trial SET objectives = objectives || ' ' WHERE number = 7", "trial 7 "),
        ("UPDATE trial SET state = 'failed' WHERE number = 7", "trial 7 "),
        ("UPDATE trial SET attempts = 2 WHERE number = 7", "trial 7 "),
        ("UPDATE trial SET params = '{}' WHERE number = 7", "trial 7 "),
        ("UPDATE trial SET finished_unix_s = 1.5 WHERE number = 7", "trial 7 "),
        ("DELETE FROM trial WHERE number = 7", "29 rows of the table trial, of which 30 were"),
        ("UPDATE seal SET rows = 29 WHERE name = 'trial'", "seal of the table trial"),
        ("DELETE FROM seal WHERE name = 'trial'", "no seal of the table trial"),
        ("UPDATE study SET value = replace(value, 'a', 'b')", "a row of the table study"),
        ("ALTER TABLE trial RENAME COLUMN worker TO other", "other tables"),
        ("CREATE VIEW more AS SELECT 1", "other tables"),
    ],
)
def test_what_has_changed_is_named(folder: Path, statement: str, told: str) -> None:
    change(folder, statement)
    with pytest.raises(ConfigError, match=rf"study\.db: must be the undamaged store .*{told}"):
        dse.load_study(folder)
    with pytest.raises(ConfigError, match=rf"study\.db: must be the undamaged store .*{told}"):
        run_faulty(folder, trials=40, executor="serial", resume=True)


def test_a_study_file_that_is_not_the_stores_is_told_and_comes_back_once_removed(
    folder: Path,
) -> None:
    path = folder / "study.yaml"
    sound = path.read_text()
    path.write_text(sound.replace("seed: 0", "seed: 1"))
    with pytest.raises(ConfigError, match=r"study\.yaml: must be the study as run, as study\.db"):
        dse.load_study(folder)
    path.unlink()
    dse.load_study(folder)
    assert path.read_text() == sound
