"""Where results go: a second run is numbered, and nothing is lost unless it is asked for."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from dse.cli.commands import main
from dse.cli.running import results_folder
from dse.starter.answers import Answers
from dse.starter.write import study_text
from dse.store.folder import STUDY, TRIALS, DriverLock, StudyFolder
from dse.study.compile import load_study_file
from simcore import ConfigError


def _folder(out: Path | None = None, *, resume: bool = False, force: bool = False) -> Path:
    return results_folder("studies/gpt.yaml", out, resume=resume, force=force)


def test_runs_of_one_study_are_numbered_and_resume_takes_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("gpt", "gpt-2", "gpt-3"):
        assert _folder() == Path("runs") / name
        _folder().mkdir(parents=True)
        assert _folder(resume=True) == Path("runs") / name


def test_force_deletes_a_study_and_nothing_else(tmp_path: Path) -> None:
    study, other = tmp_path / "study", tmp_path / "other"
    for folder, name in ((study, STUDY), (other, "mine.txt")):
        folder.mkdir()
        (folder / name).write_text("x")
    assert _folder(study) == study
    assert study.exists()
    assert _folder(study, force=True) == study
    assert not study.exists()
    with pytest.raises(ConfigError, match="must be the folder of a study"):
        _folder(other, force=True)
    assert (other / "mine.txt").exists()
    with pytest.raises(ConfigError, match="without --resume"):
        _folder(study, force=True, resume=True)


def test_force_leaves_what_is_not_the_studys(tmp_path: Path) -> None:
    for name in (STUDY, "study.db", "trial-3.trace.json", "mine.txt", "trial-x.html"):
        (tmp_path / name).write_text("x")
    (tmp_path / "notes").mkdir()
    with pytest.raises(ConfigError, match="folder of the study file itself"):
        results_folder(str(tmp_path / STUDY), tmp_path, resume=False, force=True)
    running = DriverLock(tmp_path)
    running.acquire()
    with pytest.raises(ConfigError, match="only one process at a time"):
        _folder(tmp_path, force=True)
    assert (tmp_path / STUDY).exists()
    running.release()
    _folder(tmp_path, force=True)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.txt", "notes", "trial-x.html"}


def _told(text: str, folder: Path, command: str = "check") -> str:
    file = folder / "given.yaml"
    file.write_text(text)
    result = CliRunner().invoke(main, [command, str(file)])
    assert result.exit_code == 2
    return result.output


def test_a_run_file_in_the_place_of_a_study_is_told_as_such(tmp_path: Path) -> None:
    text = "version: 1\nworkload: {}\nplatform: {}\nplan: {}\n"
    assert "this is a run file" in _told(text, tmp_path)


def test_a_misspelt_knob_is_blamed_and_not_the_rule(tmp_path: Path) -> None:
    study = study_text(
        Answers(model="llama3_8b", machines=("h100_80",), npus=16, folder=tmp_path)
    ).replace("plan.micro_batch: {choices", "plan.microbatch: {choices")
    study = study.replace("micro_batch: 1, ", "")
    told = _told(study, tmp_path)
    assert "space.axes.plan.microbatch" in told
    assert "did you mean 'plan.micro_batch'?" in told


def test_a_study_that_is_refused_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    study = study_text(Answers(model="llama3_8b", machines=("b300",), npus=16, folder=tmp_path))
    priced = study.replace("{iteration_time: minimise}", "{capital_cost: minimise}")
    priced += "cost: {model: bill_of_materials, prices: default}\n"
    told = _told(priced.replace("executor: local", "executor: serial"), tmp_path, "study")
    assert "price" in told
    assert not (tmp_path / "runs" / "given").exists()


def test_a_study_whose_store_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    for name in (STUDY, TRIALS):
        (tmp_path / name).write_text("x")
    study = load_study_file("p5_vit22b_64.yaml")
    with pytest.raises(ConfigError, match=r"study\.db: must be there for the study to go on"):
        StudyFolder(tmp_path).known_trials(study, resume=True)
    assert (tmp_path / TRIALS).read_text() == "x"
