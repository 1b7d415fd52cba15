"""What is known before a simulation serves every sampler: no trial is spent on it."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from optuna.samplers import RandomSampler
from small_study import STUDY

from dse.evaluate import build_evaluator
from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.run.watcher import Unwatched
from dse.samplers import screened, study_proposer
from dse.samplers.base import Look, ProposerInput
from dse.samplers.registry import SAMPLERS
from dse.samplers.study_proposer import OptunaProposer
from dse.space import Design
from dse.study.compile import Study, compile_study, load_study_file
from dse.study.trials import Trial
from simcore import ConfigError

TIGHT: dict[str, Any] = {
    **STUDY,
    "run": {
        **STUDY["run"],
        "workload": {**STUDY["run"]["workload"], "model": "vit_22b"},
    },
}
"""In which half of the designs fit."""

OPTUNA = [name for name in SAMPLERS if name not in ("design", "local", "exhaustive")]


def study_of(sampler: str, **search: Any) -> Study:
    if not all(map(importlib.util.find_spec, SAMPLERS[sampler].needs)):
        pytest.skip(f"{sampler} needs {', '.join(SAMPLERS[sampler].needs)}")
    given = {**TIGHT["search"], "trials": 40, "sampler": sampler, **search}
    data = {**TIGHT, "search": given}
    if SAMPLERS[sampler].objectives == 1:
        data["objectives"] = {"iteration_time": "minimise"}
    return compile_study(data)


def run(study: Study, out: Path | None = None, **options: Any) -> StudyResult:
    return Runner(study, out=out, **{"resume": False, "watcher": None, **options}).search(None)


def rows_of(result: StudyResult) -> list[tuple[Any, ...]]:
    return [(r.number, r.design, r.state, r.evaluation.objectives, r.repeats) for r in result.rows]


@pytest.mark.parametrize("sampler", OPTUNA)
def test_no_trial_is_spent_on_what_is_known_to_be_infeasible(sampler: str) -> None:
    study = study_of(sampler)
    evaluator = build_evaluator(study.evaluator_input)
    designs = list(study.space.designs())
    assert sum(map(evaluator.admits, designs)) <= 0.5 * len(designs)
    result = run(study)
    assert len(result.rows) == 40
    assert all(evaluator.admits(row.design) for row in result.rows)
    assert all(row.evaluation.is_measured for row in result.rows if row.state == "infeasible")
    assert result.summary["pruned"] <= 4


@pytest.mark.parametrize("sampler", ["random", "tpe", "nsga2"])
def test_a_sampler_whose_variations_are_all_refused_gets_a_design_that_is_drawn(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screened, "_TRIES", 1)
    monkeypatch.setattr(screened, "_VARIATIONS", 0)
    study = study_of(sampler)
    evaluator, drawn = build_evaluator(study.evaluator_input), list[object]()
    draw = screened.ScreenedProposer._drawn

    def noted(*given: Any) -> Any:
        drawn.append(draw(*given))
        return drawn[-1]

    monkeypatch.setattr(screened.ScreenedProposer, "_drawn", noted)
    rows = run(study).rows
    assert len(rows) == 40
    assert len(drawn) > 5
    assert None not in drawn
    assert all(evaluator.admits(row.design) for row in rows)


@pytest.mark.parametrize("sampler", ["design", "random", "tpe"])
def test_no_trial_is_spent_on_what_nobody_sells(sampler: str) -> None:
    space = {**STUDY["space"], "axes": {**STUDY["space"]["axes"]}}
    space["axes"]["platform.npu"] = {"choices": ["a100_80", "h100_80"]}
    link = "platform.dimensions[0].bandwidth"  # 450 GB/s: of an H100, never of an A100
    space["axes"][link] = {"ladder": ["150 GB/s", "300 GB/s", "450 GB/s"]}
    search = {**STUDY["search"], "sampler": sampler, "trials": 40}
    data = {**STUDY, "space": space, "search": search, "physical": True}
    data["objectives"] = {"iteration_time": "minimise"}
    data.pop("reference_point", None)
    rows = run(compile_study(data)).rows
    assert len(rows) == 40
    assert not [row for row in rows if "physical" in row.evaluation.constraints]
    assert {row.design[link] for row in rows if row.design["platform.npu"] == "a100_80"} <= {
        150e9,
        300e9,
    }


@pytest.mark.parametrize("sampler", ["random", "nsga2"])
def test_designs_to_start_with_are_told_whatever_is_known_of_them(sampler: str) -> None:
    study = study_of(sampler)
    evaluator = build_evaluator(study.evaluator_input)
    broken = [design for design in study.space.designs() if not evaluator.admits(design)][:2]
    result = run(study_of(sampler, start=broken))
    assert [row.design for row in result.rows[:2]] == broken
    assert [row.evaluation.is_measured for row in result.rows].count(False) == 2
    assert all("memory" in row.evaluation.reason for row in result.rows[:2])


def test_a_space_in_which_nothing_fits_is_told_design_by_design() -> None:
    plans = STUDY["space"]["products"][:1]
    axes = {"plan.micro_batch": {"choices": [1, 2]}}
    space = {**STUDY["space"], "products": plans, "axes": axes}
    workload = {**STUDY["run"]["workload"], "model": "gpt3_175b"}
    data = {**STUDY, "run": {**STUDY["run"], "workload": workload}, "space": space}
    data["search"] = {**STUDY["search"], "sampler": "random", "trials": 1000}
    study = compile_study(data)
    result = run(study)
    assert {row.state for row in result.rows} == {"infeasible"}
    new = [row.design for row in result.rows if row.repeats is None]
    assert len(new) == study.space.counts.searched  # and then the study ends
    assert all(row.evaluation.reason for row in result.rows)


class Picky(RandomSampler):
    """A sampler that knows other spaces than ours."""

    def sample_relative(self, *given: Any) -> dict[str, Any]:
        raise NotImplementedError("only floats are known")


def test_a_sampler_that_does_not_know_such_a_space_is_named() -> None:
    study = study_of("random")
    view = ProposerInput(space=study.space, goals=study.goals, seed=1)
    proposer = OptunaProposer(view, Look(style="index"), Picky(seed=1))
    with pytest.raises(ConfigError, match=r"search\.sampler: .*Picky.*only floats"):
        proposer.ask()


@pytest.mark.parametrize("first", [0, 3, 45, 99])
def test_variations_that_are_looked_at_together_are_those_found_one_after_another(
    first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those behind the one that is taken leave no trace in what comes next."""
    study = study_of("random")
    taken = []
    for together in (1, 32):
        monkeypatch.setattr(study_proposer, "_TOGETHER", together)
        view = ProposerInput(space=study.space, goals=study.goals, seed=1)
        proposer = OptunaProposer(view, Look(style="index"), RandomSampler(seed=1))
        proposal, designs = proposer.ask(), []
        for _ in range(3):
            left = [first]

            def choose(some: Sequence[Design], left: list[int] = left) -> int | None:
                at, left[0] = left[0], left[0] - len(some)
                return at if 0 <= at < len(some) else None

            found = proposer.vary_to(proposal, choose, 60)
            designs.append(None if found is None else found.design)
        taken.append(designs)
    assert taken[0] == taken[1]
    assert (None in taken[0]) == (first >= 60)


class Stopping(Unwatched):
    """Ctrl-C after so many rows."""

    def __init__(self, rows: int) -> None:
        self._left = rows

    def folded(self, trial: Trial, duplicates: int) -> None:
        self._left -= 1

    def stopping(self) -> bool:
        return self._left <= 0


@pytest.mark.parametrize("sampler", ["random", "nsga2", "portfolio"])
def test_workers_and_stops_change_no_row(sampler: str, tmp_path: Path) -> None:
    study = study_of(sampler)
    alone = rows_of(run(study))
    run(study, tmp_path, watcher=Stopping(20))
    assert rows_of(run(study, tmp_path, resume=True)) == alone
    local = {**TIGHT, "search": study.file.search.model_dump()}
    local["execution"] = {"executor": "local", "workers": 2}
    assert rows_of(run(compile_study(local))) == alone


def test_no_trial_of_a_sampler_of_optuna_is_spent_on_a_machine_that_cannot_be_built() -> None:
    search = {"sampler": "random", "trials": 40, "fidelity": ["phases_together"]}
    options: dict[str, Any] = {f"search.{key}": value for key, value in search.items()}
    study = load_study_file("llm_gpt.yaml", {**options, "execution.executor": "serial"})
    rows = run(study).rows
    assert len(rows) == 40
    assert all(row.evaluation.is_measured or row.state == "pruned" for row in rows)
