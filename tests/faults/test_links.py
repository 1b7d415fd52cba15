"""Nothing is written through a link that somebody laid in the folder of a study."""

import os
from pathlib import Path

import pytest
from fault_studies import run_faulty

import dse
from dse.cli.exporting import export_command, journal_command
from dse.cli.showing import report_command
from dse.plain_files import open_plain, written_whole
from dse.run.cache import FILE
from dse.store.folder import LOCK
from simcore import ConfigError

PRECIOUS = "not yours to write\n" * 100


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    path = tmp_path / "victim"
    path.write_text(PRECIOUS)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_faulty(tmp_path / "study", trials=12, executor="serial")
    return tmp_path / "study"


def resume(folder: Path) -> None:
    run_faulty(folder, trials=20, executor="serial", resume=True)


@pytest.mark.parametrize("name", [LOCK, "study.db", "study.db-wal", "study.db-journal"])
@pytest.mark.parametrize("kind", ["symbolic link", "hard link", "named pipe", "folder"])
def test_what_is_written_in_place_must_be_a_file_of_its_own(
    name: str, kind: str, folder: Path, victim: Path
) -> None:
    path = folder / name
    path.unlink(missing_ok=True)
    if kind == "symbolic link":
        path.symlink_to(victim)
    elif kind == "hard link":
        path.hardlink_to(victim)
    elif kind == "named pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(ConfigError, match=rf"{name}: must be "):
        resume(folder)
    assert victim.read_text() == PRECIOUS


def test_the_lock_is_not_emptied_before_it_is_known_to_be_ours(victim: Path) -> None:
    link = victim.with_name("link")
    link.symlink_to(victim)
    with pytest.raises(ConfigError, match=r"link: must be a file of its own .*got 'a link'"):
        open_plain(link)
    with pytest.raises(ConfigError, match=r"must be a file of its own .*no regular file"):
        open_plain(Path("/dev/null"))


def test_another_programs_database_is_left_as_it_is(folder: Path, tmp_path: Path) -> None:
    import sqlite3
    from contextlib import closing

    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as database, database:
        database.execute("CREATE TABLE places (name TEXT)")
    before = other.read_bytes()
    os.replace(other, folder / "study.db")
    with pytest.raises(ConfigError, match=r"study\.db: must be a store of format"):
        resume(folder)
    assert (folder / "study.db").read_bytes() == before


EXPORTS = ["study.yaml", "trials.parquet", "pareto.csv", "summary.json", "report.html"]


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("made", ["{}", ".{}.part"])
def test_links_with_the_names_of_exports_are_replaced_and_never_followed(
    name: str, made: str, tmp_path: Path, victim: Path
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    if made == "{}" and name in ("study.yaml", "trials.parquet"):  # signs of a study
        run_faulty(folder, trials=12, executor="serial")
        (folder / name).unlink()
    link = folder / made.format(name)
    link.symlink_to(victim)
    is_held = (folder / "study.db").exists()
    try:
        run_faulty(folder, trials=20, executor="serial", resume=is_held)
        report_command(folder)
    except ConfigError as error:
        assert name == "study.yaml"
        assert "study.yaml: must be the study as run" in str(error)  # noqa: PT017
    else:
        assert not (folder / name).is_symlink()
    assert victim.read_text() == PRECIOUS


def test_exports_elsewhere_follow_no_link_either(
    folder: Path, tmp_path: Path, victim: Path
) -> None:
    for name in ("all.csv", ".all.csv.part", "journal", ".journal.part"):
        (tmp_path / name).symlink_to(victim)
    export_command(folder, kind="csv", front=False, out=tmp_path / "all.csv")
    journal_command(folder, out=tmp_path / "journal")
    assert victim.read_text() == PRECIOUS
    assert (tmp_path / "all.csv").read_text().startswith("number,")


def test_a_cache_that_is_a_link_is_refused(tmp_path: Path, victim: Path) -> None:
    (tmp_path / FILE).symlink_to(victim)
    with pytest.raises(ConfigError, match=rf"{FILE}: must be a file of its own"):
        dse.run_study("llm_gpt.yaml", trials=1, executor="serial", cache=str(tmp_path))
    assert victim.read_text() == PRECIOUS


def test_a_file_appears_whole_or_not_at_all_and_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "table"
    path.write_text("old")
    with pytest.raises(TypeError), written_whole(path) as partial:
        partial.write_text("half" if partial.exists() else None)  # type: ignore[arg-type]
    assert path.read_text() == "old"
    with written_whole(path) as partial:
        partial.write_text("new")
    assert path.read_text() == "new"
    assert [item.name for item in tmp_path.iterdir()] == ["table"]
