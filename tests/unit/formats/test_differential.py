"""The comparison with a build of ASTRA-sim, which a script on our own command stands in for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
EQUAL = "s/x/x/"
ONE_MORE = r"s/finished, \([0-9]*\)\([0-9]\) cycles/finished, \11\2 cycles/"


def compare(folder: Path, edit: str, *words: str) -> subprocess.CompletedProcess[str]:
    script = folder / "program"
    command = f"'{sys.executable}' -m simcore astra --log-style=astra \"$@\""
    script.write_text(f"#!/bin/sh\n{command} > out\ncode=$?\nsed '{edit}' out\nexit $code\n")
    script.chmod(0o755)
    return subprocess.run(
        [
            sys.executable,
            "benchmarks/differential",
            f"--binary=congestion_unaware={script}",
            f"--keep={folder / 'kept'}",
            *words,
        ],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_equal_programs_leave_nothing_unexplained(tmp_path: Path) -> None:
    done = compare(tmp_path, EQUAL, "--cases=3", "--first=4")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "     3 equal\n" in done.stdout
    assert "     0 UNEXPLAINED\n" in done.stdout
    assert "     3 of the equal ones: whole log equal\n" in done.stdout


def test_another_cycle_is_unexplained_and_kept(tmp_path: Path) -> None:
    done = compare(tmp_path, ONE_MORE, "--cases=1", "--first=4")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "other figures" in done.stdout
    assert (tmp_path / "kept" / "1-4" / "system.json").is_file()


@pytest.mark.parametrize("text", ["congestion_unaware=no/such/file", "unaware=x", "x"])
def test_a_program_that_is_not_there_is_named(tmp_path: Path, text: str) -> None:
    done = compare(tmp_path, EQUAL, f"--binary={text}")
    assert done.returncode == 1
    assert f"--binary {text}: must be BACKEND=PATH" in done.stderr
    assert "Traceback" not in done.stderr
