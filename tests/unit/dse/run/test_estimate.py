"""Time that a study will take, told beforehand."""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from small_study import STUDY

from dse.cli import main
from dse.evaluate import build_evaluator
from dse.evaluate.base import Account
from dse.evaluate.simulator import SimulatorEvaluator
from dse.run.estimate import Estimate, _spread, estimate
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


def test_islands_propose_side_by_side_on_their_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """An evaluation takes a known time, so that N islands take it trials / N times, not trials."""
    monkeypatch.setattr(SimulatorEvaluator, "account", spin)
    monkeypatch.setattr(SimulatorEvaluator, "takes_many", False)
    islands = {"sampler": "random", "trials": 600, "window": 8, "islands": 4}
    data = {
        **STUDY,
        "objectives": {"iteration_time": "minimise"},
        "unchecked": ["links_within_capacity"],
        "search": islands,
        "execution": {"executor": "local", "workers": 4},
    }
    study = compile_study(data)
    found = estimate(study)
    assert found is not None
    assert (found.islands, found.workers) == (4, 4)
    assert found.of_islands == found.trials == min(600, study.space.counts.searched)
    assert 8 <= found.proposals <= 80
    assert 0.5 * SLOW_S <= found.proposal_s < 3 * SLOW_S, "proven to be beaten: not evaluated"
    assert found.total_s == pytest.approx(found.trials * found.proposal_s / 4)
    told = str(found)
    assert f"{found.trials:,} of them by 4 islands" in told


@pytest.mark.parametrize(
    ("islands", "workers", "total_s"),
    [(4, 4, 2.5), (4, 2, 5.0), (2, 8, 5.0), (4, 1, 10.0)],
)
def test_as_many_islands_propose_at_once_as_have_a_worker(
    islands: int, workers: int, total_s: float
) -> None:
    """What one search makes at the end is proposed by the driver alone: 2 ms of 10,000 trials."""
    found = Estimate(
        proposals=50,
        proposal_s=1e-3,
        evaluation_s=0.0,
        low=1.0,
        high=1.0,
        workers=workers,
        trials=10_002,
        islands=islands,
        of_islands=10_000,
    )
    assert found.total_s == pytest.approx(total_s + 2e-3)


def test_trials_that_suffice_for_all_designs_are_one_search_s_whatever_islands_say() -> None:
    search = {"sampler": "design", "trials": 5000, "islands": 4}
    found = estimate(compile_study({**STUDY, "search": search}))
    assert found is not None
    assert (found.islands, found.of_islands) == (1, 0)


def test_the_end_of_a_search_that_trims_is_the_driver_s() -> None:
    """`dse.run.ending`: a third of the proposals, and no more than 300."""
    search = {"sampler": "design", "trials": 120, "islands": 2}
    study = compile_study({**STUDY, "search": search})
    assert study.space.counts.searched > 120
    found = estimate(study)
    assert found is not None
    assert found.of_islands == 60


def test_outcomes_that_come_at_once_share_their_time() -> None:
    assert _spread([]) == []
    assert _spread([9.0, 0.0, 0.0, 3.0, 3.0, 0.0]) == [3.0, 3.0, 3.0, 3.0, 1.5, 1.5]


def test_check_tells_it(tmp_path: Path) -> None:
    data: dict[str, Any] = {**STUDY, "search": {"trials": 500}, "execution": {"workers": 3}}
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps(data))
    ran = CliRunner().invoke(main, ["check", "--time", str(file)])
    assert ran.exit_code == 0, ran.output
    told = r"time +[\d.]+ ms per proposal, .* \(\d+ tried\); [\d,]+ trials in .* to .* on 3 cores"
    assert re.search(told, ran.output), ran.output


@pytest.mark.parametrize(
    ("trial_s", "told"),
    [
        (2e-6, "trials in 0.02 s on"),
        (1e-3, "trials in 10 s on"),
        (11.94e-3, "trials in 119 s on"),
        (12e-3, "trials in 2 min on"),
        (0.7, "trials in 117 min on"),
        (0.72, "trials in 2 h on"),
        (720.0, "trials in 2,000 h on"),
    ],
)
def test_a_time_is_told_in_a_unit_and_digits_that_one_reads(trial_s: float, told: str) -> None:
    found = Estimate(
        proposals=50,
        proposal_s=trial_s,
        evaluation_s=0.0,
        low=1.0,
        high=1.0,
        workers=1,
        trials=10_000,
    )
    assert f"; 10,000 {told}" in str(found)
    assert f"; at most 10,000 {told}" in str(replace(found, is_open=True))
