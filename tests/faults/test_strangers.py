"""Studies and stores that somebody made to do harm."""

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from fault_studies import P5
from store_changes import change_store

import dse
from dse.store.database import MAX_FIELDS, MAX_TEXT_BYTES
from simcore import ConfigError

OPTIONS: dict[str, Any] = {"executor": "serial", "sampler": "random", "trials": 30}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "study"
    dse.run_study(P5, out=path, **OPTIONS)
    return path


@pytest.fixture
def folder(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "study"))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE trial SET reason = zeroblob({most} + 1) WHERE number = 3",
        "UPDATE trial SET metrics = printf('%.*c', {most} + 1, 'x') WHERE number = 3",
        "UPDATE trial SET params = '[1],[2' WHERE number = 3",
        "UPDATE trial SET metrics = x'00' WHERE number = 3",
    ],
)
def test_a_row_that_no_study_would_write_is_told_in_one_sentence(
    statement: str, folder: Path
) -> None:
    change_store(folder, statement.format(most=MAX_TEXT_BYTES))
    with pytest.raises(ConfigError, match=r"study.db: must be the undamaged store"):
        dse.load_study(folder)


def test_a_store_with_more_columns_than_any_study_has_is_refused(folder: Path) -> None:
    many = (
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) "
        "INSERT INTO field SELECT 0, 'metrics', 'm' || i FROM n"
    )
    change_store(folder, many)
    from dse.cli.exporting import export_command

    with pytest.raises(ConfigError, match=rf"more than {MAX_FIELDS} names"):
        export_command(folder, kind="csv", front=False, out=folder / "all.csv")


def test_more_trials_than_fit_in_memory_are_exported_but_not_shown(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dse.results.result.MAX_HELD", 20)
    with pytest.raises(ConfigError, match=r"at most 20 trials .*dse export has no limit.*got 30"):
        dse.load_study(folder)


def test_names_of_a_study_never_become_names_of_files(tmp_path: Path) -> None:
    data = yaml.safe_load(P5.read_text())
    knob, values = next(iter(data["space"].items()))
    evil = tmp_path / "evil.yaml"
    evil.write_text(yaml.safe_dump({**data, "space": {**data["space"], "../../x": values}}))
    with pytest.raises(ConfigError):
        dse.run_study(evil, out=tmp_path / "in" / "out", **OPTIONS)
    assert not (tmp_path / "in").exists(), f"{knob} was looked at before anything was written"
    named = {**data, "question": "../../question", "source": "../../../etc/passwd"}
    evil.write_text(yaml.safe_dump(named))
    dse.run_study(evil, out=tmp_path / "in" / "out", **OPTIONS)
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*")} - {"evil.yaml"}
    names = "study.yaml study.db study.lock trials.parquet pareto.csv summary.json report.html"
    assert written == {"in", "in/out"} | {f"in/out/{name}" for name in names.split()}
