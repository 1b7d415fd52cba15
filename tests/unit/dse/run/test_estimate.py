"""Time that a study will take, told beforehand."""

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_study import STUDY

from dse.cli import main
from dse.evaluate import build_evaluator
from dse.evaluate.base import Account
from dse.evaluate.simulator import SimulatorEvaluator
from dse.run.estimate import Estimate, estimate
from dse.space import Design
from dse.study.compile import compile_study

SLOW_S = 0.02


def spin(self: SimulatorEvaluator, design: Design) -> Account:
    """An evaluation that takes a known CPU time."""
    end_s = time.process_time() + SLOW_S
    while time.process_time() < end_s:
        pass
    return Account({"iteration_time_s": 1.0, "memory_fill": 0.5})


def test_a_known_time_of_evaluation_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimulatorEvaluator, "account", spin)
    monkeypatch.setattr(SimulatorEvaluator, "takes_many", False)  # one by one, each by spinning
    goals = {"objectives": {"iteration_time": "minimise"}, "unchecked": ["links_within_capacity"]}
    study = compile_study({**STUDY, **goals})
    assert build_evaluator(study.evaluator_input)
    found = estimate(study)
    assert found is not None
    assert 20 <= found.proposals <= 60, "about a second"
    assert SLOW_S <= found.proposal_s < 3 * SLOW_S
    assert 0.3 < found.evaluation_s / found.proposal_s <= 1
    assert found.low <= 1 <= found.high
    assert found.trials == min(600, study.space.counts.searched)


@pytest.mark.parametrize(
    ("workers", "evaluation_s", "total_s"),
    [(1, 0.9e-3, 10.0), (2, 0.9e-3, 5.0), (100, 0.9e-3, 1.0), (100, 0.0, 10.0)],
)
def test_workers_share_evaluations_and_the_driver_does_not(
    workers: int, evaluation_s: float, total_s: float
) -> None:
    found = Estimate(
        proposals=50,
        proposal_s=1e-3,
        evaluation_s=evaluation_s,
        low=0.5,
        high=2.0,
        workers=workers,
        trials=10_000,
    )
    assert found.total_s == pytest.approx(total_s)


def test_check_tells_it(tmp_path: Path) -> None:
    data: dict[str, Any] = {**STUDY, "search": {"trials": 500}, "execution": {"workers": 3}}
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(data))
    ran = CliRunner().invoke(main, ["check", "--time", str(file)])
    assert ran.exit_code == 0, ran.output
    told = r"time +[\d.]+ ms per proposal, .* \(\d+ tried\); [\d,]+ trials in .* to .* on 3 cores"
    assert re.search(told, ran.output), ran.output
