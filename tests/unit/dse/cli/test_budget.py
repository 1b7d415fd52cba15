"""How many trials a study takes is told beforehand, from what was measured."""

import json
import re
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from small_study import STUDY

from dse.cli import main
from dse.cli.budget import SETTLED, told_budget
from dse.run.ending import LEAST
from dse.study.compile import compile_study, load_study_file

PAGE = Path(__file__).parents[4] / "docs" / "search.md"
_ROW = re.compile(r"^\| `\w+\.yaml` \| \S+ \| (\d) \| ([\d,]+), ([\d,]+) \|", re.MULTILINE)


def budget(**search: Any) -> str:
    objectives = search.pop("objectives", STUDY["objectives"])
    data = {**STUDY, "objectives": objectives, "search": {"sampler": "design", **search}}
    return told_budget(compile_study(data))


def test_the_figures_are_those_of_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    table = text[text.index("<!-- table: settled -->") : text.index("<!-- end of table: settled")]
    took: dict[int, list[int]] = {}
    for objectives, *counts in _ROW.findall(table):
        own = took.setdefault(min(int(objectives), max(SETTLED)), [])
        own += [int(count.replace(",", "")) for count in counts]
    assert {number: (min(own), max(own)) for number, own in took.items()} == SETTLED
    assert all(least >= LEAST for least, _ in SETTLED.values())


def test_a_study_with_far_fewer_trials_is_told_so() -> None:
    assert "of 2 objectives took 658 to 1,051" in budget(trials=328)
    assert "328 are far fewer, --trials auto" in budget(trials=328)
    assert "fewer," not in budget(trials=329)
    one = budget(trials=100, objectives={"iteration_time": "minimise"})
    assert "of 1 objective took 658 to 665" in one
    four = told_budget(load_study_file("p2_llama3_405b_16k_h100.yaml", {"search.trials": "auto"}))
    assert "of 3 or 4 objectives took 658 to 1,785" in four
    assert "fewer," not in four


def test_nothing_is_told_where_all_designs_are_tried() -> None:
    assert not budget(trials=5000)
    assert not budget(sampler="exhaustive", trials=100)


def test_check_tells_it(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps({**STUDY, "search": {"trials": 200}}))
    ran = CliRunner().invoke(main, ["check", str(file)])
    assert ran.exit_code == 0, ran.output
    (line,) = [line for line in ran.output.splitlines() if line.startswith("trials needed")]
    assert line.endswith("200 are far fewer, --trials auto ends by itself")
