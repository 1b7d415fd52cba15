"""A study goes on with what it was run with, or says what has changed and marks what follows."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from small_study import STUDY

import dse
import dse.code_digests
import dse.provenance
from dse.cli.exporting import export_command
from dse.cli.showing import explain_command, report_command
from dse.run.watcher import Unwatched
from simcore import ConfigError, shipped_folder

OPTIONS: dict[str, Any] = {"executor": "serial", "workers": 1}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study whose platform, accelerator, model and prices are files beside it."""
    configs = shipped_folder("configs")
    data = yaml.safe_load(yaml.safe_dump(STUDY))
    npu = data["run"]["platform"]["npu"]
    shutil.copy(configs / "npus" / f"{npu}.yaml", tmp_path / "npu.yaml")
    data["run"]["platform"]["npu"] = "npu.yaml"
    model = data["run"]["workload"]["model"]
    shutil.copy(configs / "models" / f"{model}.yaml", tmp_path / "model.yaml")
    data["run"]["workload"]["model"] = "model.yaml"
    shutil.copy(configs / "costs" / "default.yaml", tmp_path / "prices.yaml")
    data["cost"] = {**data.get("cost", {}), "prices": "prices.yaml"}
    path = tmp_path / "study.yaml"
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    return path


def run(file: Path, trials: int, **options: Any) -> dse.StudyResult:
    return dse.run_study(file, out=file.parent / "out", trials=trials, **{**OPTIONS, **options})


def edit(file: Path, name: str, key: str, value: object) -> None:
    path = file.parent / name
    data = yaml.safe_load(path.read_text())
    *tables, last = key.split(".")
    table = data
    for part in tables:
        table = table[part]
    table[last] = value
    path.write_text(yaml.safe_dump(data, sort_keys=False))


CHANGES = [
    ("npu.yaml", "memory_bandwidth", "9 TB/s"),
    ("model.yaml", "layers", 8),
    ("prices.yaml", "power.pue", 1.9),
]


@pytest.mark.parametrize(("name", "key", "value"), CHANGES)
def test_a_named_file_that_has_changed_is_told_with_what_was_and_is(
    name: str, key: str, value: object, file: Path
) -> None:
    run(file, 10)
    edit(file, name, key, value)
    told = rf"--resume: .*--accept-changes.*{name}: {key} was .*, is now {value}"
    with pytest.raises(ConfigError, match=told):
        run(file, 20, resume=True)


@pytest.fixture
def with_tables(file: Path) -> Path:
    """The study with kernel times of one's own, which its accelerator names."""
    folder = file.parent / "mine"
    folder.mkdir()
    (folder / "product.csv").write_text("format,m,n,k,us\nbf16,64,64,64,9\n")
    edit(file, "npu.yaml", "kernels", {"tables": "./mine"})
    edit(file, "study.yaml", "run.compute", "measured")
    return file


def test_kernel_times_that_have_changed_are_told_by_line(with_tables: Path) -> None:
    run(with_tables, 10)
    folder = with_tables.parent / "mine"
    assert len(run(with_tables, 12, resume=True).rows) == 12
    (folder / "product.csv").write_text("format,m,n,k,us\nbf16,64,64,64,8\n")
    told = r"mine/product.csv: line 2 was bf16,64,64,64,9, is now bf16,64,64,64,8"
    with pytest.raises(ConfigError, match=told):
        run(with_tables, 20, resume=True)
    (folder / "product.csv").write_text("format,m,n,k,us\nbf16,64,64,64,9\n")
    (folder / "norm.csv").write_text("bytes,us\n1e6,9\n")
    with pytest.raises(ConfigError, match=r"mine/norm.csv is new"):
        run(with_tables, 20, resume=True)


def test_kernel_times_are_read_before_anything_is_evaluated(with_tables: Path) -> None:
    (with_tables.parent / "mine" / "product.csv").write_text("format,m,n,k,us\nbf16,64,64,9\n")
    with pytest.raises(ConfigError, match=r"product.csv:2: must have format, m, n, k and us"):
        run(with_tables, 10)
    assert not (with_tables.parent / "out").exists()


def test_comments_and_layout_of_a_named_file_may_change(file: Path) -> None:
    run(file, 10)
    path = file.parent / "npu.yaml"
    path.write_text(f"# bought in May\n{path.read_text()}")
    assert len(run(file, 20, resume=True).rows) == 20


def test_accepted_changes_mark_the_rows_that_follow_and_are_told_ever_after(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(file, 10)
    edit(file, *CHANGES[0])
    result = run(file, 30, resume=True, accept_changes=True)
    first = [row.number for row in result.rows if row.provenance == 0 and row.repeats is None]
    assert first == [row.number for row in run_rows(file, 10)]
    assert {row.provenance for row in result.rows} == {0, 1}
    assert list(result.trials["provenance"]) == [row.provenance for row in result.rows]
    (second,) = (one for one in result.summary["provenances"] if one["provenance"] == 1)
    told = "npu.yaml: memory_bandwidth was 2000 GB/s, is now 9 TB/s"
    assert second["changes"] == [told]
    again = dse.load_study(file.parent / "out")
    assert again.summary["provenances"] == result.summary["provenances"]
    report_command(file.parent / "out")
    assert "rows of 2 provenances" in capsys.readouterr().out
    assert "rows of 2 provenances" in (file.parent / "out" / "report.html").read_text()
    assert len(run(file, 40, resume=True).rows) == 40, "the last one is gone on with"


def test_rows_at_earlier_prices_are_not_held_against_those_of_today(file: Path) -> None:
    before = run(file, 10)
    edit(file, "npu.yaml", "price", "90000 USD")
    after = run(file, 30, resume=True, accept_changes=True)
    costs = [
        max(row.evaluation.objectives["capital_cost"] for row in found.rows if row.is_feasible)
        for found in (before, after)
    ]
    assert costs[1] > 1.5 * costs[0]


def run_rows(file: Path, trials: int) -> list[Any]:
    rows = dse.load_study(file.parent / "out").rows
    return [row for row in rows if row.number < trials and row.repeats is None]


def test_other_code_and_other_packages_are_told(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(file, 5)
    code = {**dse.code_digests.code_digests(), "simcore/system": "another"}
    with monkeypatch.context() as patch:
        patch.setattr(dse.provenance, "code_digests", lambda _=(): code)
        with pytest.raises(ConfigError, match="the code of simcore/system has changed"):
            run(file, 10, resume=True)
    found = {**dse.code_digests.versions(), "numpy": "0.1"}
    monkeypatch.setattr(dse.provenance, "versions", lambda: found)
    with pytest.raises(ConfigError, match=r"numpy was .*, is now 0\.1"):
        run(file, 10, resume=True)
    assert len(run(file, 10, resume=True, accept_changes=True).rows) == 10


def test_a_front_that_a_study_starts_with_is_part_of_it(file: Path) -> None:
    other = file.parent / "other"
    dse.run_study(file, out=other, trials=5, **OPTIONS)
    data = yaml.safe_load(file.read_text())
    data["search"] = {**data.get("search", {}), "start": ["other"]}
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    run(file, 10)
    assert len(run(file, 12, resume=True).rows) == 12
    dse.run_study(
        file.parent / "other" / "study.yaml", out=other, trials=60, resume=True, **OPTIONS
    )
    with pytest.raises(ConfigError, match=r"search\.start: other designs"):
        run(file, 20, resume=True)


@pytest.mark.parametrize("is_gone", [False, True])
def test_what_is_shown_later_is_by_the_files_as_they_were(
    is_gone: bool, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(file, 10)
    trial = next(row.number for row in result.rows if row.is_feasible)
    folder = file.parent / "out"
    explain_command(folder, trial)
    before = capsys.readouterr().out
    if is_gone:
        (file.parent / "npu.yaml").unlink()
    else:
        edit(file, *CHANGES[0])
    explain_command(folder, trial)
    after = capsys.readouterr().out
    told = "npu.yaml is gone" if is_gone else "is now 9 TB/s"
    assert told in after
    assert [line for line in before.splitlines() if line not in after.splitlines()] == []
    report_command(folder)
    assert told in capsys.readouterr().out
    export_command(folder, kind="csv", front=True, out=folder / "front.csv")


def test_a_file_that_changes_while_a_study_runs_changes_nothing(file: Path) -> None:
    whole = dse.run_study(file, trials=20, **OPTIONS)

    class Editor(Unwatched):
        def folded(self, trial: Any, duplicates: int) -> None:
            edit(file, *CHANGES[0])

    changed = dse.run_study(file, trials=20, watcher=Editor(), **{**OPTIONS, "executor": "local"})
    assert json.dumps([dict(row.evaluation.objectives) for row in changed.rows]) == json.dumps(
        [dict(row.evaluation.objectives) for row in whole.rows]
    )


def test_a_study_knows_the_files_that_another_one_of_the_process_has_read(tmp_path: Path) -> None:
    """Stacks, fabrics, parts: all are read once, and needed by each."""
    file = tmp_path / "study.yaml"
    data = yaml.safe_load((shipped_folder("studies") / "llm_gpt.yaml").read_text())
    data["search"] = {"sampler": "design"}
    file.write_text(yaml.safe_dump(data))
    first, other = run(file, 4), dse.run_study(file, trials=4, **OPTIONS)
    noted = [set(result.provenances[-1].texts()) for result in (first, other)]
    assert noted[0] == noted[1]
    assert any("costs/parts" in place for place in noted[0])
    assert len(run(file, 5, resume=True).rows) == 5
