"""Stores that are damaged, full, read-only or of strangers."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from fault_studies import P5, same_part

import dse
from dse.store.database import FORMAT
from dse.store.errors import StoreError
from simcore import ConfigError

OPTIONS: dict[str, Any] = {"executor": "serial", "sampler": "random", "seed": 2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "study"
    dse.run_study(P5, trials=300, out=path, **OPTIONS)
    return path


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "study"))


def resume(folder: Path, trials: int = 320) -> dse.StudyResult:
    return dse.run_study(P5, trials=trials, out=folder, resume=True, **OPTIONS)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.6, 0.99])
def test_a_truncated_store_is_told_in_one_sentence_or_loses_nothing_else(
    copy: Path, share: float
) -> None:
    store = copy / "study.db"
    os.truncate(store, int(store.stat().st_size * share))
    with pytest.raises(ConfigError, match=r"study.db: must be"):
        resume(copy)
    with pytest.raises(ConfigError, match=r"study.db: must be"):
        dse.load_study(copy)


@pytest.mark.parametrize("seed", range(6))
def test_a_store_with_garbage_in_a_page_is_told_and_never_read_wrongly(
    copy: Path, seed: int
) -> None:
    store = copy / "study.db"
    data = bytearray(store.read_bytes())
    at = (len(data) // 7) * (seed + 1) // 4096 * 4096
    data[at : at + 4096] = os.urandom(4096)
    store.write_bytes(bytes(data))
    sound = dse.run_study(P5, trials=320, **OPTIONS)
    try:
        resumed = resume(copy)
    except (ConfigError, StoreError) as error:
        told = str(error)
    else:
        told = "study.db: the garbage hit no page in use"
        pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(sound.trials))
    assert "study.db: " in told


def test_the_store_alone_brings_everything_back(copy: Path, folder: Path) -> None:
    for path in copy.iterdir():
        if path.name != "study.db":
            path.unlink()
    assert (copy / "study.db").exists()
    brought = dse.load_study(copy)
    pd.testing.assert_frame_equal(brought.trials, dse.load_study(folder).trials)
    assert (copy / "study.yaml").read_bytes() == (folder / "study.yaml").read_bytes()


@pytest.mark.parametrize(
    "changes",
    [
        "PRAGMA user_version = 99",
        "DROP TABLE packed; DELETE FROM seal WHERE name = 'packed'; PRAGMA user_version = 7",
    ],
)
def test_a_store_of_another_format_or_program_is_refused(copy: Path, changes: str) -> None:
    with closing(sqlite3.connect(copy / "study.db")) as store:
        store.executescript(changes)
    with pytest.raises(ConfigError, match=f"must be a store of format {FORMAT}"):
        resume(copy)


_FULL = """
import resource, signal, sys
import dse
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY))
from dse.cli.errors import told_plainly
with told_plainly():
    options = {"executor": "serial", "sampler": "random", "seed": 2}
    dse.run_study(sys.argv[1], trials=3000, out=sys.argv[2], **options)
"""


def test_a_disk_that_fills_up_ends_the_study_with_one_sentence_and_resume_goes_on(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", _FULL, str(P5), str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    (sentence,) = done.stderr.splitlines()
    assert "study.db: must" in sentence
    assert "--resume goes on" in sentence
    kept = len(dse.load_study(tmp_path / "out").rows)
    assert kept > 50
    resumed = resume(tmp_path / "out", trials=400)
    whole = dse.run_study(P5, trials=400, **OPTIONS)
    pd.testing.assert_frame_equal(same_part(resumed.trials), same_part(whole.trials))


def test_a_full_file_system_is_named_as_what_it_is(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a file system can be mounted by root only")
    try:
        with pytest.raises(StoreError, match="must have room on its disk"):
            dse.run_study(P5, trials=3000, out=small / "out", **OPTIONS)
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_folder_that_cannot_be_written_is_told_and_can_still_be_read(
    copy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if subprocess.run(["mount", "--bind", copy, copy], capture_output=True, check=False).returncode:
        pytest.skip("a folder can be made read-only for all by root only")
    try:
        remount = ["mount", "-o", "remount,ro,bind", str(copy)]
        subprocess.run(remount, check=True)
        assert len(dse.load_study(copy).rows) == 300
        with pytest.raises(StoreError, match=r"must be a folder that can be written.*[Rr]ead-only"):
            resume(copy)
        with pytest.raises(StoreError, match=r"must be a folder that can be written"):
            dse.run_study(P5, trials=5, out=copy / "new", **OPTIONS)
    finally:
        subprocess.run(["umount", copy], check=True)
