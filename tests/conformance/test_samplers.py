"""Every sampler: valid, distinct, repeatable, and better than nothing."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from optuna.samplers import BaseSampler, NSGAIISampler

from dse import StudyResult, run_study
from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.samplers.design import LOCAL
from dse.samplers.design_sampler import DesignSampler
from dse.samplers.portfolio import PortfolioSampler
from dse.samplers.registry import SAMPLERS
from dse.space import Design, Space, design_key
from dse.study.compile import load_study_file
from simcore import ConfigError

VALID = {design_key(design) for design in load_study_file("p5_vit22b_64.yaml").space.designs()}
MISSING = {
    name: [package for package in entry.needs if not importlib.util.find_spec(package)]
    for name, entry in SAMPLERS.items()
}

SEARCHES = [name for name in SAMPLERS if name != "exhaustive"]
"""Samplers that draw; the other one visits lists of values in their order."""


def run(name: str, **options: Any) -> StudyResult:
    if MISSING[name]:
        pytest.skip(f"{name} needs {', '.join(MISSING[name])}")
    if SAMPLERS[name].objectives == 1:
        pytest.skip(f"{name} takes one objective, and this problem has two")
    return run_study("p5_vit22b_64.yaml", sampler=name, executor="serial", trials=90, **options)


@pytest.mark.parametrize("name", list(SAMPLERS))
def test_every_proposal_is_valid_and_new(name: str) -> None:
    result = run(name)
    keys = [design_key(row.design) for row in result.rows]
    assert set(keys) <= VALID
    assert len(set(keys)) == len(keys) == 90
    assert result.summary["failed"] == 0
    assert result.summary["front_size"] >= 2


@pytest.mark.parametrize("name", SEARCHES)
def test_the_same_seed_gives_the_same_study_and_another_seed_another(name: str) -> None:
    first, second, other = (run(name, seed=seed) for seed in (3, 3, 4))
    assert [row.design for row in first.rows] == [row.design for row in second.rows]
    assert [row.design for row in first.rows] != [row.design for row in other.rows]


@pytest.mark.parametrize("name", [n for n, e in SAMPLERS.items() if e.objectives == 1])
def test_a_sampler_of_one_objective_says_so(name: str) -> None:
    if MISSING[name]:
        pytest.skip(f"{name} needs {', '.join(MISSING[name])}")
    with pytest.raises(ConfigError, match="takes one objective"):
        run_study("p5_vit22b_64.yaml", sampler=name, executor="serial", trials=10)


@pytest.mark.parametrize("name", [name for name in SAMPLERS if MISSING[name]])
def test_a_missing_package_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=r"simcore-dse\[samplers\]"):
        run_study("p5_vit22b_64.yaml", sampler=name, executor="serial", trials=10)


def study_with(tmp_path: Path, **changes: Any) -> Path:
    source = load_study_file("p5_vit22b_64.yaml")
    data = yaml.safe_load(Path(source.folder, "p5_vit22b_64.yaml").read_text())
    data.pop("reference_point")
    data["objectives"] = {"time_capital_cost": "minimise"}
    for path, value in changes.items():
        data["space"]["axes"][path] = value
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.mark.parametrize("name", SEARCHES)
def test_one_objective_and_a_knob_with_a_range_work_with_every_sampler(
    name: str, tmp_path: Path
) -> None:
    if MISSING[name]:
        pytest.skip(f"{name} needs {', '.join(MISSING[name])}")
    knob = "platform.dimensions[0].bandwidth"
    file = study_with(tmp_path, **{knob: {"low": "45 GB/s", "high": "360 GB/s", "log": True}})
    result = run_study(file, sampler=name, executor="serial", trials=60)
    bandwidths = {row.design[knob] for row in result.rows}
    assert len(bandwidths) > 30
    assert all(45e9 <= float(value) <= 360e9 for value in bandwidths)
    assert result.summary["front_size"] == 1


def test_exhaustive_refuses_a_knob_with_a_range(tmp_path: Path) -> None:
    knob = "platform.dimensions[0].bandwidth"
    file = study_with(tmp_path, **{knob: {"low": "45 GB/s", "high": "360 GB/s"}})
    with pytest.raises(ConfigError, match="needs a list of values for every knob"):
        run_study(file, sampler="exhaustive", executor="serial", trials=10)


def problem_space() -> tuple[Space, Callable[[Design], tuple[float, float]]]:
    study = load_study_file("p5_vit22b_64.yaml")
    evaluator = build_evaluator(study.evaluator_input)

    def values(design: Design) -> tuple[float, float]:
        found = evaluate(evaluator, study.goals, design).objectives
        time_s, usd = found.values() if found else (9.0, 9e5)
        return time_s, usd

    return study.space, values


def built(name: str, space: Space, seed: int) -> tuple[BaseSampler, DesignSampler]:
    """A sampler for anyone's own study, and what decodes its parameters."""
    design = DesignSampler(space, seed=seed, settings=LOCAL if name == "local" else None)
    if name != "portfolio":
        return design, design
    design = DesignSampler(space, seed=seed, style="weights")
    return PortfolioSampler([design, NSGAIISampler(seed=seed)], seed=seed), design


@pytest.mark.parametrize("name", ["design", "local", "portfolio"])
def test_anyone_s_own_optuna_study_gets_valid_designs_and_the_same_ones_again(name: str) -> None:
    space, values = problem_space()

    def designs(seed: int) -> list[str]:
        sampler, decoder = built(name, space, seed)
        study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
        seen = []

        def objective(trial: optuna.Trial) -> tuple[float, float]:
            design = decoder.design(trial)
            seen.append(design_key(design))
            return values(design)

        study.optimize(objective, n_trials=80)
        return seen

    first = designs(1)
    assert set(first) <= VALID
    assert name == "portfolio" or len(set(first)) == len(first)
    assert first == designs(1)
    assert first != designs(2)


def test_a_portfolio_asks_the_better_sampler_oftener() -> None:
    space, _ = problem_space()
    good, bad = DesignSampler(space, seed=1), DesignSampler(space, seed=2)
    sampler = PortfolioSampler([good, bad], seed=0)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    asked = 0
    for number in range(150):
        trial = study.ask()
        good.design(trial)
        is_good = sampler._dealt[trial.number] == 0
        asked += is_good
        study.tell(trial, -float(number) if is_good else 1.0)
    assert asked > 100
