"""Compiled code comes from nobody else: whose folders are used, and which ones never."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from simcore.kernels.private_folder import private_folder

ROOT = Path(__file__).resolve().parents[3]
STRANGER = 65534
CHOOSE = "from simcore.kernels import cache_folder; print(cache_folder())"
MAIN = "from simcore.__main__ import main; main()"
SYSTEM = ["simcore", "simulate", str(ROOT / "configs" / "runs" / "gpt3_175b_1024_a100.yaml")]
LOAD = """
import simcore.kernels.native_build as build
build.build = lambda *paths: {"longest_paths": lambda *words: print("compiled anew") or 0}
from simcore.kernels.native import call
call("longest_paths")
"""
as_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0,
    reason="only root can make what belongs to another user",
)


def run(code: str, cache: Path | None, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("SIMCORE_CACHE_DIR", "TMPDIR")}
    chosen = {} if cache is None else {"SIMCORE_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**kept, "PYTHONPATH": str(ROOT), **chosen, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def shared(path: Path) -> Path:
    """A folder as ``/tmp``: everybody writes, nobody renames what belongs to others."""
    path.mkdir()
    path.chmod(0o1777)
    return path


def test_a_new_folder_is_private_and_told_of_by_nothing(tmp_path: Path) -> None:
    done = run(CHOOSE, tmp_path / "a" / "b")
    folder = Path(done.stdout.strip())
    assert (folder.parent, done.stderr) == (tmp_path / "a" / "b", "")
    assert folder.stat().st_mode & 0o777 == folder.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o777, 0o772, pytest.param(0o775, marks=as_root)])
def test_a_chosen_folder_that_others_write_to_is_refused_in_one_line(
    mode: int, tmp_path: Path
) -> None:
    chosen, home = tmp_path / "chosen", tmp_path / "home"
    chosen.mkdir()
    if mode == 0o775:  # by a group that has more than this user
        os.chown(chosen, -1, os.getgid() + 4321)
    chosen.chmod(mode)
    home.mkdir()
    done = run(CHOOSE, chosen, HOME=str(home))
    assert Path(done.stdout.strip()).parent == home / ".cache" / "simcore"
    rule = f"keeps no compiled kernels: other users can write to {chosen}."
    assert done.stderr == f"simcore: {chosen} {rule}\n"
    assert not list(chosen.iterdir())


def test_what_was_open_to_others_is_not_trusted_for_being_closed_above(tmp_path: Path) -> None:
    first = Path(run(CHOOSE, tmp_path / "own", HOME=str(tmp_path)).stdout.strip())
    first.chmod(0o777)
    done = run(CHOOSE, tmp_path / "own", HOME=str(tmp_path))
    assert Path(done.stdout.strip()).parent == tmp_path / ".cache" / "simcore"
    assert f"{first}; remove it" in done.stderr


def test_a_folder_above_that_others_can_rename_is_refused(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "own").mkdir(parents=True)
    above.chmod(0o777)
    done = run(CHOOSE, above / "own", HOME=str(tmp_path))
    assert f"other users can write to {above}" in done.stderr
    above.chmod(0o1777)
    done = run(CHOOSE, above / "own", HOME=str(tmp_path))
    assert (Path(done.stdout.strip()).parent, done.stderr) == (above / "own", "")


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    base, other = tmp_path / "base", tmp_path / "other"
    base.mkdir()
    other.mkdir()
    (base / "kernels-1").symlink_to(other)
    assert private_folder([base, tmp_path / "next"], "kernels-1").parent == tmp_path / "next"


@as_root
def test_a_folder_that_a_stranger_made_beforehand_is_refused(tmp_path: Path) -> None:
    temporary = shared(tmp_path / "tmp")
    planted = temporary / "simcore-0"
    planted.mkdir()
    os.chown(planted, STRANGER, STRANGER)
    done = run(CHOOSE, None, HOME="/proc/nonexistent", TMPDIR=str(temporary))
    folder = Path(done.stdout.strip())
    assert folder.parent != planted
    first, second = done.stderr.splitlines()
    assert f"{planted} belongs to user {STRANGER}" in first
    assert second == "simcore: kernels are compiled for this process only."
    assert not folder.exists()
    assert sorted(temporary.iterdir()) == [planted], "what one process uses ends with it"


@as_root
def test_the_home_of_another_user_is_neither_read_nor_written(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    os.chown(home, STRANGER, STRANGER)
    temporary = shared(tmp_path / "tmp")
    done = run(CHOOSE, None, HOME=str(home), TMPDIR=str(temporary))
    assert Path(done.stdout.strip()).parent == temporary / "simcore-0"
    assert f"{home} belongs to user {STRANGER}" in done.stderr
    assert not list(home.iterdir())


@as_root
def test_old_folders_of_other_users_are_left_alone(tmp_path: Path) -> None:
    base = shared(tmp_path / "base")
    for number in range(6):
        old = base / f"kernels-{number}"
        old.mkdir()
        os.utime(old, (1000 + number, 1000 + number))
        if number < 2:
            os.chown(old, STRANGER, STRANGER)
    run(CHOOSE, base)
    left = {path.name for path in base.glob("kernels-?")}
    assert left == {"kernels-0", "kernels-1", "kernels-4", "kernels-5"}


def test_a_folder_in_use_is_left_alone_however_long_ago_it_was_made(tmp_path: Path) -> None:
    base = tmp_path / "base"
    own = Path(run(CHOOSE, base).stdout.strip())
    (own / "events.run_loop-0123456789abcdef").mkdir()
    os.utime(own, (1000, 1000))
    assert Path(run(CHOOSE, base).stdout.strip()) == own, "another process uses it"
    for number in range(4):  # of other compilers, the first of which the next one removes
        old = base / f"kernels-{number}"
        old.mkdir()
        os.utime(old, (2000 + number, 2000 + number))
    other = f"import simcore.kernels as k; k._forget_old(__import__('pathlib').Path({str(own)!r}))"
    run(other, base)
    left = {path.name for path in base.glob("kernels-*")}
    assert left == {own.name, "kernels-2", "kernels-3"}


@as_root
def test_a_library_of_a_stranger_is_not_loaded(tmp_path: Path) -> None:
    from simcore.kernels.native import image_path, prepare

    prepare()
    where = "from simcore.kernels.native import image_path; print(image_path('.so'))"
    library = Path(run(where, tmp_path / "own").stdout.strip())
    library.write_bytes(image_path(".so").read_bytes())
    os.chown(library, STRANGER, STRANGER)
    done = run(LOAD, tmp_path / "own")
    assert done.stdout == "compiled anew\n"
    assert len(done.stderr.splitlines()) == 1
    assert not library.exists()


def test_where_everything_lies_open_one_sentence_says_so(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    temporary.chmod(0o777)
    where = {"HOME": "/proc/nonexistent", "TMPDIR": str(temporary)}
    done = run(f"import sys; sys.argv = {SYSTEM}; {MAIN}", None, **where)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"simcore: {temporary}: nowhere to keep")
    assert "set SIMCORE_CACHE_DIR to a folder of your own" in done.stderr
    assert not list(temporary.iterdir())


def test_processes_that_start_at_once_share_one_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", CHOOSE]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SIMCORE_CACHE_DIR": str(tmp_path / "x")}
    running = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    chosen = {process.communicate()[0] for process in running}
    assert len(chosen) == 1
    assert chosen.pop().startswith(str(tmp_path / "x"))
