"""Every study is one of Optuna's, and anyone's study takes our sampler."""

import os
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.trial import TrialState
from small_study import STUDY

import dse
from dse.evaluate import Evaluation, build_evaluator
from dse.provenance import Provenance
from dse.report.optuna.storage import StoredStudy
from dse.run.runner import Runner
from dse.samplers import hub
from dse.samplers.base import Proposal, Proposer, ProposerInput
from dse.samplers.design_sampler import DesignSampler
from dse.samplers.registry import build_proposer
from dse.samplers.storage import ASIDE
from dse.space import Design
from dse.store.folder import StudyFolder
from dse.store.live import LiveStorage
from dse.study.compile import Study, compile_study
from dse.study.trials import Trial
from simcore import ConfigError


def study_of(**search: Any) -> Study:
    return compile_study({**STUDY, "search": {**STUDY["search"], "trials": 40, **search}})


def what_of(study: Study, storage: LiveStorage) -> ProposerInput:
    return ProposerInput(
        space=study.space,
        goals=study.goals,
        seed=1,
        checks=build_evaluator(study.evaluator_input).checks(),
        arguments=study.file.search.sampler_arguments,
        storage=storage,
    )


def test_the_design_sampler_is_one_of_optuna() -> None:
    assert issubclass(dse.DesignSampler, BaseSampler)
    assert isinstance(DesignSampler(study_of().space), BaseSampler)


@pytest.mark.parametrize("name", ["design", "random", "nsga2"])
def test_trials_of_the_optuna_study_are_the_rows_of_the_search(name: str) -> None:
    study = study_of()
    storage = LiveStorage(study)
    rows: list[Trial] = []
    storage.rows = rows
    proposer = build_proposer(name, what_of(study, storage))
    open_ones: list[Proposal[Any]] = []
    for number in range(30):
        found = proposer.ask()
        assert found is not None
        open_ones.append(found)
        if number >= 7:
            oldest = open_ones.pop(0)
            goals = dict.fromkeys(study.goals.objectives, 1.0 + number)
            proposer.tell(oldest, goals, 0.0)
            told = Evaluation(state="complete", objectives=goals)
            rows.append(Trial(number=len(rows), design=oldest.design, evaluation=told))
    seen = optuna.load_study(study_name="study", storage=storage).trials
    seen = [trial for trial in seen if ASIDE not in trial.system_attrs]
    assert [trial.number for trial in seen] == list(range(30))
    assert [trial.state for trial in seen].count(TrialState.RUNNING) == 7
    values = [trial.values for trial in seen if trial.state == TrialState.COMPLETE]
    assert values == [list(row.evaluation.objectives.values()) for row in rows]
    if name == "design":
        assert [trial.params for trial in seen[:23]] == [row.design for row in rows]


class Backwards(Proposer[None]):
    """The designs of a space from the last to the first."""

    is_complete = True

    def __init__(self, what: ProposerInput) -> None:
        self._rest = list(what.space.designs())

    def ask(self) -> Proposal[None] | None:
        return Proposal(design=self._rest.pop(), handle=None) if self._rest else None

    def enqueue(self, design: Design) -> None:
        self._rest.append(design)

    def vary(self, proposal: Any, is_new: Any) -> Proposal[None] | None:
        return None

    def tell(self, proposal: Any, objectives: Any, violation: float) -> None:
        assert isinstance(proposal.design, dict)

    def tell_nothing(self, proposal: Any) -> None:
        return


def test_any_proposer_asks_an_optuna_study_and_an_end_leaves_no_open_trial() -> None:
    study = study_of()
    storage = LiveStorage(study)
    own = build_proposer(f"{__name__}:Backwards", what_of(study, storage))
    assert own.asks_study
    asked = 0
    while (found := own.ask()) is not None:
        own.tell_nothing(found)
        asked += 1
        storage.rows = [*storage.rows, row_of(asked - 1, found.design)]
    assert asked == study.space.counts.searched
    assert {trial.state for trial in storage.get_all_trials(0)} == {TrialState.FAIL}


def row_of(number: int, design: Design) -> Trial:
    return Trial(number=number, design=design, evaluation=Evaluation(state="failed"))


def test_a_stored_study_reads_as_optuna_s_with_units_states_and_times(tmp_path: Path) -> None:
    result = Runner(study_of(), out=tmp_path, resume=False, watcher=None).search(None)
    seen = optuna.load_study(study_name=tmp_path.name, storage=StoredStudy(tmp_path))
    assert [trial.user_attrs["status"] for trial in seen.trials] == [r.state for r in result.rows]
    assert seen.metric_names == [
        {"iteration_time": "iteration time [s]", "capital_cost": "capital cost [USD]"}.get(n, n)
        for n in result.study.goals.objectives
    ]
    front = {result.rows[place].number for place in result.front}
    assert front <= {trial.number for trial in seen.best_trials} | front
    for trial, row in zip(seen.trials, result.rows, strict=True):
        assert trial.duration is not None
        assert abs(trial.duration.total_seconds() - row.evaluation.duration_s) < 1e-3
        if row.is_feasible:
            assert trial.values == list(row.evaluation.objectives.values())
    with pytest.raises(ConfigError, match="is not changed"):
        seen.set_user_attr("note", "mine")


def test_rows_that_come_later_are_seen_and_gaps_are_under_way(tmp_path: Path) -> None:
    study = study_of()
    designs = list(study.space.designs())
    with StudyFolder(tmp_path) as folder:
        folder.open(study, Provenance.of(study, []))
        for number in (0, 2):
            folder.writer.add(row_of(number, designs[number]))
        folder.writer.flush()
        stored = StoredStudy(tmp_path)
        states = [trial.state for trial in stored.get_all_trials(0)]
        assert states == [TrialState.FAIL, TrialState.RUNNING, TrialState.FAIL]
        folder.writer.add(row_of(1, designs[1]))
        folder.writer.flush()
        stored._read_s = 0.0
        assert {trial.state for trial in stored.get_all_trials(0)} == {TrialState.FAIL}
        folder.writer.forget_from(1)
        folder.writer.flush()
        stored._read_s = 0.0
        assert len(stored.get_all_trials(0)) == 1


def test_what_breaks_a_limit_has_no_value_that_a_picture_of_the_front_would_show(
    tmp_path: Path,
) -> None:
    """One infinite value, drawn as a word, makes an axis of optuna-dashboard one of words."""
    study = study_of()
    designs = list(study.space.designs())
    good = dict.fromkeys(study.goals.objectives, 2.0)
    better = dict.fromkeys(study.goals.objectives, 1.0)
    found = [
        Evaluation(state="complete", objectives=good),
        Evaluation(state="infeasible", objectives=better, constraints={"fits_in_memory": 0.5}),
        Evaluation(state="infeasible", reason="no such machine"),
    ]
    with StudyFolder(tmp_path) as folder:
        folder.open(study, Provenance.of(study, []))
        for number, evaluation in enumerate(found):
            trial = Trial(number=number, design=designs[number], evaluation=evaluation)
            folder.writer.add(trial)
        folder.writer.flush()
        seen = optuna.load_study(study_name=tmp_path.name, storage=StoredStudy(tmp_path))
    states = [TrialState.COMPLETE, TrialState.PRUNED, TrialState.PRUNED]
    assert [trial.state for trial in seen.trials] == states
    assert [trial.user_attrs["status"] for trial in seen.trials] == [one.state for one in found]
    assert [trial.number for trial in seen.best_trials] == [0]
    assert seen.trials[1].user_attrs["iteration time [s]"] == 1.0, "what was measured"
    assert seen.trials[2].user_attrs["reason"] == "no such machine"


HUB = """from optuna.samplers import TPESampler


class Hasty(TPESampler):
    def __init__(self, *, patience: int = 4, seed: int | None = None) -> None:
        super().__init__(n_startup_trials=patience, seed=seed)
"""


def test_samplers_of_optunahub_come_from_where_the_user_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("optunahub")
    package = tmp_path / "samplers" / "hasty"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(HUB)
    name = "optunahub:samplers/hasty:Hasty"
    monkeypatch.delenv(hub.VARIABLE, raising=False)
    with pytest.raises(ConfigError, match=hub.VARIABLE):
        study_of(sampler=name)
    monkeypatch.setenv(hub.VARIABLE, os.fspath(tmp_path))
    study = study_of(sampler=name, sampler_arguments={"patience": 6})
    rows = Runner(study, out=None, resume=False, watcher=None).search(None).rows
    assert len(rows) == 40
    admits = build_evaluator(study.evaluator_input).admits
    assert all(admits(row.design) for row in rows)


def test_arguments_that_a_sampler_does_not_take_are_named() -> None:
    wrong = study_of(sampler="TPESampler", sampler_arguments={"startup": 6})
    with pytest.raises(ConfigError, match=r"sampler_arguments.*startup"):
        Runner(wrong, out=None, resume=False, watcher=None).search(None)
    with pytest.raises(ConfigError, match="design takes neither"):
        study_of(sampler="design", sampler_arguments={"startup": 6})


ENDS = """import optuna


class Ends(optuna.samplers.RandomSampler):
    def infer_relative_search_space(self, study, trial):
        raise SystemExit(0)
"""


def test_a_sampler_that_breaks_when_it_is_asked_or_told_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constraints = {"constraints_func": "violation"}
    broken = study_of(sampler="TPESampler", sampler_arguments=constraints)
    with pytest.raises(ConfigError, match=r"told of a trial.*TPESampler, which raised TypeError"):
        Runner(broken, out=None, resume=False, watcher=None).search(None)
    (tmp_path / "sampler_that_ends.py").write_text(ENDS)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=r"cannot propose.*Ends, which raised SystemExit"):
        Runner(
            study_of(sampler="sampler_that_ends:Ends"), out=None, resume=False, watcher=None
        ).search(None)


def test_designs_that_are_turned_down_leave_the_search_space_of_samplers_whole() -> None:
    study = study_of()
    storage = LiveStorage(study)
    proposer = build_proposer("random", what_of(study, storage))
    optuna_proposer = proposer._sampler  # type: ignore[attr-defined]
    for at in range(12):
        found = optuna_proposer.ask()
        if at % 3 == 0:
            optuna_proposer.turn_down(found, 1.0)
        else:
            optuna_proposer.tell(found, dict.fromkeys(study.goals.objectives, 1.0 + at), 0.0)
    numbers = [trial.number for trial in storage.get_all_trials(0)]
    assert numbers == sorted(numbers) == [-1, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7]
    space = optuna.search_space.IntersectionSearchSpace()
    first = space.calculate(optuna_proposer.study)
    found = optuna_proposer.ask()
    optuna_proposer.turn_down(found, 1.0)
    assert first
    assert space.calculate(optuna_proposer.study) == first


def test_designs_refused_before_any_has_values_take_the_first_ones_that_are_known() -> None:
    study = study_of()
    storage = LiveStorage(study)
    proposer = build_proposer("random", what_of(study, storage))._sampler  # type: ignore[attr-defined]
    names = list(study.goals.objectives)
    for _ in range(3):
        proposer.turn_down(proposer.ask(), 1.0)
    first, later = proposer.ask(), proposer.ask()
    proposer.tell(first, {}, 0.5)
    proposer.tell(later, dict.fromkeys(names, 7.0), 0.0)
    proposer.turn_down(proposer.ask(), 1.0)
    proposer.tell(proposer.ask(), dict.fromkeys(names, 9.0), 0.0)
    proposer.turn_down(proposer.ask(), 1.0)
    told = [trial.values[0] for trial in storage.get_all_trials(0)]
    assert told == [7.0] * 6 + [9.0] * 2, "a model that scales values would see those of 1e30 alone"
