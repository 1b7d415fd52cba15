"""Designs that are short of memory carry a mark wherever they are shown."""

import copy
import html
from pathlib import Path

import pandas as pd
import pytest
import yaml
from small_study import STUDY

import dse
from dse.cli.showing import diff_command, show_result
from dse.report.explain import explain_trial
from dse.report.front_table import front_table
from dse.report.page.page import report_page
from dse.study.memory_marks import memory_mark, memory_told


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dse.StudyResult:
    """A study whose cheapest designs have a fraction of the memory that their tensors take."""
    data = copy.deepcopy(STUDY)
    data["run"]["plan"] = {"tp": 4, "dp": 4}
    sizes = [f"{4 * step} GB" for step in range(1, 21)]
    data["space"] = {"axes": {"platform.npu.memory": {"ladder": sizes}}}
    data["constraints"], data["search"] = [], {"sampler": "exhaustive", "trials": 20}
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.yaml").write_text(yaml.safe_dump(data))
    return dse.run_study(folder / "study.yaml", executor="serial", out=folder / "out")


def test_every_view_of_a_study_marks_them(
    result: dse.StudyResult, capsys: pytest.CaptureFixture[str]
) -> None:
    short = next(result.rows[at] for at in result.front)
    mark = memory_mark(short.evaluation.metrics)
    assert "too small" in mark
    assert mark in result._repr_html_()
    assert "short of memory" in repr(result)
    table = front_table(result)
    assert table.rows[0][table.columns.index("memory")] == mark
    assert html.escape(mark) in report_page(result)
    show_result(result)
    assert "too small" in capsys.readouterr().out
    assert result.folder is not None
    diff_command(result.folder, result.folder, as_json=True)
    assert f"memory {mark}" in capsys.readouterr().out


def test_tables_tell_which_designs_are_short(result: dse.StudyResult) -> None:
    marks = {row.number: memory_mark(row.evaluation.metrics) for row in result.rows}
    assert {bool(mark) for mark in marks.values()} == {True, False}
    assert dict(zip(result.trials["number"], result.trials["memory"], strict=True)) == marks
    assert result.folder is not None
    stored = pd.read_parquet(result.folder / "trials.parquet")
    assert list(stored["memory"]) == list(result.trials["memory"])
    front = pd.read_csv(Path(result.folder, "pareto.csv"), keep_default_na=False)
    assert list(front["memory"]) == [marks[number] for number in front["number"]]


def test_an_explanation_begins_with_the_mark_and_tells_what_was_counted(
    result: dse.StudyResult,
) -> None:
    short = result.rows[result.front[0]]
    mark = memory_mark(short.evaluation.metrics)
    sections = explain_trial(result, short.number)
    assert f"memory {mark}" in [line[0] for line in sections[0].lines]
    told = next(line for one in sections for line in one.lines if line[0] == "memory per NPU")
    assert told[2] == memory_told(short.evaluation.metrics)
    for words in ("of what there is", "with buffers and workspace", "with fragments", mark):
        assert words in told[2]
    assert told[1].endswith("GiB")


def test_the_part_that_decides_is_named() -> None:
    fills = {"memory_fill": 0.9, "memory_fill_expected": 0.97, "memory_fill_highest": 1.02}
    assert memory_mark(fills) == "tight (102%)"
    assert memory_mark({**fills, "memory_fill_expected": 1.01}) == "likely too small (101%)"
    assert memory_mark({**fills, "memory_fill": 1.5}) == "too small (150%)"
    assert memory_mark({**fills, "memory_fill_highest": 1.0}) == ""
    assert memory_mark({"memory_fill@slow": 1.2, "memory_fill@fast": 0.4}) == "too small (120%)"
    assert memory_told(fills) == (
        "90.0% of what there is, 97.0% with buffers and workspace, 102.0% with fragments: "
        "tight (102%)"
    )
