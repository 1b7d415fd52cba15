"""Whatever goes wrong, a command ends with one sentence, and a fault leaves a report."""

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import click
import pytest

import simcore.__main__
from dse.cli.errors import told_plainly
from simcore.cli.app import cli
from simcore.last_resort import last_words


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "reports"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def fault() -> BaseException:
    try:
        return ValueError(f"{1 // 0}")
    except ZeroDivisionError as error:
        return error


def test_a_fault_is_one_sentence_and_a_private_report(reports: Path) -> None:
    sentence, code = last_words(fault(), "dse")
    (report,) = reports.iterdir()
    assert code == 70
    assert "\n" not in sentence
    assert f"by zero). What happened is written to {report};" in sentence
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    text = report.read_text()
    assert "Traceback (most recent call last)" in text
    assert "numpy: " in text
    assert f"command: {sys.argv[0]!r}" in text


def test_without_a_temporary_folder_the_report_goes_to_the_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    assert f"written to {tmp_path}/dse-fault-" in last_words(fault(), "dse")[0]


def test_a_report_that_fits_nowhere_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert last_words(fault(), "dse")[0].endswith("could not be written to any file.")


def test_what_the_machine_lacks_is_no_fault_of_the_program() -> None:
    sentence = "this needs more memory than there is; allow more, or ask for less."
    assert last_words(MemoryError(), "dse") == (sentence, 1)
    assert last_words(MemoryError("this takes 20 GB"), "dse") == ("this takes 20 GB.", 1)
    assert last_words(OSError(28, "No space left on device"), "dse") == (
        "No space left on device.",
        1,
    )
    assert last_words(PermissionError(13, "Permission denied", "a.csv"), "dse") == (
        "a.csv: Permission denied.",
        1,
    )


def test_both_commands_end_a_fault_with_exit_code_70(
    reports: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise KeyError("lost")

    monkeypatch.setattr(simcore.__main__, "_run", broken)
    with pytest.raises(SystemExit) as ended:
        simcore.__main__.main()
    assert ended.value.code == 70
    with pytest.raises(SystemExit) as ended, told_plainly():
        raise KeyError("lost")
    assert ended.value.code == 70
    told = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in told] == ["simcore", "dse"]
    assert len(list(reports.iterdir())) == 2


def test_ctrl_c_and_wrong_words_end_with_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pressed() -> None:
        raise KeyboardInterrupt

    command = click.Command("wait", callback=pressed)
    monkeypatch.setattr(cli, "get_command", lambda *_: command)
    for word, code in (("wait", 130), ("--nonsense", 2)):
        monkeypatch.setattr(sys, "argv", ["simcore", word])
        with pytest.raises(SystemExit) as ended:
            simcore.__main__.main()
        assert ended.value.code == code
    told = capsys.readouterr().err
    assert "simcore: interrupted.\n" in told
    assert "No such option" in told


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("words", [("simcore", "simulate"), ("dse", "check")])
def test_a_pipe_or_device_in_place_of_a_file_is_refused_at_once(
    words: tuple[str, str], tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    for name in (str(tmp_path / "pipe.yaml"), "/dev/zero"):
        done = run(*words, name)
        assert done.returncode == 2, done.stderr
        assert "must be a regular file" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_library_that_cannot_be_loaded_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('failed to map segment')\n")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    done = run("dse", "check", "llm_gpt.yaml", PYTHONPATH=paths, TMPDIR=str(tmp_path))
    assert done.returncode == 70
    assert done.stderr.startswith("dse: a library could not be loaded")
    assert done.stderr.count("\n") == 1
