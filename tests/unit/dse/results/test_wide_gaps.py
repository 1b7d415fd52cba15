"""A study whose gap will stay wide says so, when it is checked and when it has ended."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_study import STUDY, searched

from dse.cli import main
from dse.proof.left_out import why_wide
from dse.proof.told import gap_lines
from dse.study.compile import compile_study

PACKETS = "all designs (the backend packet, whose messages may take less than on idle links)"


def study_with(changes: dict[str, Any], **search: Any) -> dict[str, Any]:
    return {**STUDY, **changes, "search": {**STUDY["search"], **search}}


def why(data: dict[str, Any]) -> str:
    return why_wide(compile_study(data))


def test_nothing_is_said_where_nobody_asks_or_communication_is_bounded() -> None:
    assert not why(study_with({}, gap="1%"))
    assert not why(study_with({"run": {**STUDY["run"], "backend": "packet"}}))


@pytest.mark.parametrize("asked", [{"gap": "1%"}, {"hypervolume_gap": "5%"}])
def test_a_backend_of_packets_is_told_at_the_first_level_alone(asked: dict[str, Any]) -> None:
    assert PACKETS in why(study_with({"run": {**STUDY["run"], "backend": "packet"}}, **asked))
    assert PACKETS in why(study_with({}, fidelity=["packet"], **asked))
    assert not why(study_with({}, fidelity=["flow", "packet"], **asked))


def test_of_designs_that_differ_some_are_told() -> None:
    told = why(study_with(in_chunks("1f1b", "dualpipe"), gap="1%"))
    assert "% of the designs (schedule dualpipe with 2 chunks a stage)" in told
    assert "all designs" not in told


def in_chunks(*schedules: str) -> dict[str, Any]:
    """The study with stages of two chunks for dualpipe, of one for other schedules."""
    space = STUDY["space"]
    axes = {
        **space["axes"],
        "plan.schedule": {"choices": list(schedules)},
        "plan.interleave": {"choices": [1, 2]},
    }
    rules = [*space["require"], "plan.interleave == (2 if plan.schedule == 'dualpipe' else 1)"]
    rules += ["plan.pp > 1", "plan.pp % 2 == 0", "4 % (plan.pp * plan.interleave) == 0"]
    return {"space": {**space, "axes": axes, "require": rules}}


def test_the_check_and_the_summary_say_it_unless_the_gap_is_closed(tmp_path: Path) -> None:
    data = study_with(in_chunks("dualpipe"), gap=0, trials=12)
    told = "bounds know computing alone of all designs (schedule dualpipe with 2 chunks a stage)"
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(data))
    ran = CliRunner().invoke(main, ["check", str(file)])
    assert ran.exit_code == 0, ran.output
    (line,) = [line for line in ran.output.splitlines() if line.startswith("gap ")]
    assert told in line
    summary = searched(data).summary
    assert not summary["gap_closed"]
    assert gap_lines(summary)[-1].startswith(f"the gap that was asked for is not proven: {told}")
    assert "stays wide" not in " ".join(gap_lines({**summary, "gap_closed": True}))
