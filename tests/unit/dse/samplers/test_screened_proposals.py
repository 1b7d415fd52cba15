"""What is known before a simulation serves every sampler: no trial is spent on it."""

import importlib.util
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from small_study import STUDY
from stopping import Stopping

from dse.evaluate import build_evaluator
from dse.results.result import StudyResult
from dse.run.runner import Runner
from dse.samplers import mending, screened
from dse.samplers.base import Look, ProposerInput
from dse.samplers.design import Genome, Genomes, GenomeSpace
from dse.samplers.design.screen import screen_of
from dse.samplers.design_proposer import DesignProposer
from dse.samplers.registry import SAMPLERS
from dse.samplers.study_proposer import OptunaProposer
from dse.space import Design
from dse.study.compile import Study, compile_study, load_study_file
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
def test_where_nothing_near_is_of_use_a_drawn_design_takes_back_what_was_meant(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screened, "_TRIES", 1)
    monkeypatch.setattr(mending, "_NEAR", 0)
    study = study_of(sampler)
    evaluator, drawn = build_evaluator(study.evaluator_input), list[tuple[int, int]]()
    nearer = mending.Mender._nearer

    def noted(self: Any, found: Genome, meant: Genome, *given: Any) -> Genome:
        result = nearer(self, found, meant, *given)
        drawn.append((apart(found, meant), apart(result, meant)))
        return result

    monkeypatch.setattr(mending.Mender, "_nearer", noted)
    rows = run(study).rows
    assert len(rows) == 40
    assert len(drawn) > 5
    assert all(after <= before for before, after in drawn)
    assert all(evaluator.admits(row.design) for row in rows)


def apart(one: Genome, other: Genome) -> int:
    """Knobs in which two designs differ."""
    return sum(a != b for a, b in zip(one.codes, other.codes, strict=True))


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


def test_a_mended_design_is_the_nearest_that_is_of_use() -> None:
    study = study_of("random")
    evaluator = build_evaluator(study.evaluator_input)
    space = GenomeSpace(study.space)
    found = [space.genome(design) for design in study.space.designs()]
    every = [genome for genome in found if genome is not None]
    admits = screen_of(space, evaluator.checks())
    good = [one for one, holds in zip(every, admits(Genomes.of(every)), strict=True) if holds]
    for number, meant in enumerate(every[::7]):
        new = {one.key for one in good[number % 3 :: 3]}

        def is_new(design: Design, new: set[int] = new) -> bool:
            genome = space.genome(design)
            return genome is not None and genome.key in new

        mender = mending.Mender(space, admits, lambda design: True, None, seed=1)
        mended = mender.mended(space.design(meant), is_new, mending.USE[0])
        assert mended is not None
        result = space.genome(mended)
        assert result is not None
        assert result.key in new
        alike = [one for one in good if one.key in new and one.dimensions == meant.dimensions]
        in_two = [one for one in alike if 0 < blocks_apart(space, one, meant) <= 2]
        assert in_two, "the space is small"
        assert apart(result, meant) == min(apart(one, meant) for one in in_two)


def blocks_apart(space: GenomeSpace, one: Genome, other: Genome) -> int:
    """Blocks in which two designs differ."""
    return sum(a != b for a, b in zip(space.rows(one), space.rows(other), strict=True))


@pytest.mark.parametrize("sampler", ["tpe", "nsga2", "portfolio"])
def test_one_ask_is_one_trial_and_the_sampler_is_told_of_the_row(
    sampler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, told, mended = [0], dict[int, Any](), [0]
    ask, tell = OptunaProposer.ask, OptunaProposer.tell
    mend = mending.Mender.mended

    def counted(self: OptunaProposer) -> Any:
        asked[0] += 1
        return ask(self)

    def noted(self: OptunaProposer, proposal: Any, *given: Any) -> None:
        params = self._storage.get_trial(self._id(proposal.handle)).params
        told[proposal.handle] = self._view.design(params)
        tell(self, proposal, *given)

    def seen(self: mending.Mender, *given: Any) -> Any:
        mended[0] += 1
        return mend(self, *given)

    monkeypatch.setattr(OptunaProposer, "ask", counted)
    monkeypatch.setattr(OptunaProposer, "tell", noted)
    monkeypatch.setattr(mending.Mender, "mended", seen)
    rows = run(study_of(sampler)).rows
    assert asked[0] == len(rows) == 40
    assert mended[0] > 5
    assert [told[row.number] for row in rows] == [row.design for row in rows]


def test_the_search_in_a_portfolio_learns_of_the_design_that_was_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What its search proposed may have become another design since."""
    heard = list[Design]()
    tell = DesignProposer.tell

    def noted(self: DesignProposer, proposal: Any, *given: Any) -> None:
        heard.append(self._space.design(proposal.handle))
        tell(self, proposal, *given)

    monkeypatch.setattr(DesignProposer, "tell", noted)
    rows = run(study_of("portfolio")).rows
    assert heard == [row.design for row in rows]


class Watching(RandomSampler):
    """A sampler that notes the trials that it is shown."""

    def __init__(self) -> None:
        super().__init__(seed=1)
        self.seen = list[list[tuple[Any, ...]]]()

    def before_trial(self, study: optuna.Study, trial: optuna.trial.FrozenTrial) -> None:
        trials = study.get_trials(deepcopy=False)
        self.seen.append([(t.number, t.state.name, t.values, dict(t.constraints)) for t in trials])


def test_a_sampler_that_believes_sees_the_latest_open_trials_at_the_median_of_all() -> None:
    study = study_of("random")
    what = ProposerInput(space=study.space, goals=study.goals, seed=1)
    sampler = Watching()
    proposer = OptunaProposer(what, Look(style="weights"), sampler, believes=True)
    asked = [proposer.ask() for _ in range(8)]
    for proposal, value in zip(asked[:3], (4.0, 1.0, 2.0), strict=True):
        names = study.goals.objectives
        proposer.tell(proposal, dict.fromkeys(names, value), -value)
    proposer.ask()
    assert [(number, state) for number, state, *_ in sampler.seen[0]] == [(0, "RUNNING")]
    numbers, states, values, limits = zip(*sampler.seen[-1], strict=True)
    assert numbers == (0, 1, 2, 5, 6, 7, 8)
    assert states == ("COMPLETE",) * 6 + ("RUNNING",)
    assert [one[0] for one in values[:6]] == [4.0, 1.0, 2.0, 2.0, 2.0, 2.0]
    assert [list(one.values()) for one in limits[3:6]] == [[-2.0]] * 3
    after = proposer.study.get_trials(deepcopy=False)
    assert [trial.state.name for trial in after].count("COMPLETE") == 3


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
