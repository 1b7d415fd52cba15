"""The `design` search in studies of one's own learns from every trial, whoever made it."""

import csv
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler
from optuna.study import StudyDirection
from optuna.trial import TrialState, create_trial

from dse.run.api import check_study
from dse.samplers.design_sampler import FEW, DesignSampler
from dse.space import Space, design_key

ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "search.md"
EXACT = ROOT / "tests" / "golden" / "enumerated" / "p5_vit22b_64_simulated.csv"
BOTH = (StudyDirection.MINIMIZE, StudyDirection.MAXIMIZE)


@pytest.fixture(scope="module")
def space() -> Space:
    return check_study("p5_vit22b_64.yaml").space


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    yield
    optuna.logging.set_verbosity(before)


def values_of(design: dict[str, Any]) -> tuple[float, float]:
    """Any two figures that pull apart."""
    numbers = [float(value) for value in design.values() if isinstance(value, int | float)]
    return sum(numbers), float(design["plan.tp"]) / (1.0 + float(design["plan.pp"]))


def searched(study: optuna.Study, sampler: DesignSampler, trials: int) -> list[str]:
    """Keys of the designs that *trials* more trials try, of which every seventh breaks a limit."""
    seen: list[str] = []

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        design = sampler.design(trial)
        seen.append(design_key(design))
        trial.set_constraint("limit", 1.0 if len(str(design)) % 7 == 0 else -1.0)
        if len(str(design)) % 11 == 0:
            raise optuna.TrialPruned
        return values_of(design)

    study.optimize(objective, n_trials=trials)
    return seen


def new_study(sampler: DesignSampler, **settings: Any) -> optuna.Study:
    return optuna.create_study(directions=BOTH, sampler=sampler, **settings)


@pytest.mark.parametrize("known", [FEW // 2, 3 * FEW])
def test_a_study_loaded_from_storage_goes_on_as_if_it_had_never_ended(
    space: Space, tmp_path: Path, known: int
) -> None:
    whole = DesignSampler(space, seed=3)
    expected = searched(new_study(whole), whole, known + 30)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    first = DesignSampler(space, seed=3)
    study = new_study(first, study_name="one", storage=url)
    assert searched(study, first, known) == expected[:known]
    second = DesignSampler(space, seed=3)
    loaded = optuna.load_study(study_name="one", storage=url, sampler=second)
    assert searched(loaded, second, 30) == expected[known:]


def test_trials_that_are_added_are_learned_from_as_if_they_had_been_proposed(space: Space) -> None:
    sampler = DesignSampler(space, seed=1)
    one, other = new_study(sampler), new_study(sampler)
    searched(one, sampler, 50)
    other.add_trials(one.trials)
    assert searched(other, sampler, 20) == searched(one, sampler, 20)


@pytest.mark.parametrize("added", [1, 3 * FEW])
def test_trials_added_to_a_study_that_runs_are_not_tried_again(space: Space, added: int) -> None:
    sampler, others = DesignSampler(space, seed=1), DesignSampler(space, seed=2)
    study, source = new_study(sampler), new_study(others)
    mine = searched(study, sampler, 20)
    open_one = study.ask()
    mine.append(design_key(sampler.design(open_one)))
    theirs = searched(source, others, added)
    study.add_trials(source.trials)
    mine += searched(study, sampler, 100)
    assert len(set(mine)) == len(mine)
    assert not set(theirs) & set(mine[21:])
    study.tell(open_one, (1.0, 1.0))
    assert not {design_key(sampler.design(study.ask()))} & set(mine)


def test_studies_on_one_storage_try_no_design_twice_open_ones_included(
    space: Space, tmp_path: Path
) -> None:
    """Two samplers with the same luck, as processes have that were told no seed."""
    url = f"sqlite:///{tmp_path / 'study.db'}"
    new_study(DesignSampler(space), study_name="one", storage=url)
    samplers = [DesignSampler(space), DesignSampler(space)]
    studies = [
        optuna.load_study(study_name="one", storage=url, sampler=sampler) for sampler in samplers
    ]
    seen, open_ones = [], []
    for number in range(80):
        study, sampler = studies[number % 2], samplers[number % 2]
        trial = study.ask()
        seen.append(design_key(sampler.design(trial)))
        open_ones.append((study, trial, values_of(sampler.design(trial))))
        if len(open_ones) > 5:
            teller, oldest, values = open_ones.pop(0)
            teller.tell(oldest, values)
    assert len(set(seen)) == len(seen)


def test_what_another_study_object_tells_of_a_trial_asked_here_is_learned(
    space: Space, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path / 'study.db'}"
    sampler = DesignSampler(space)
    study = new_study(sampler, study_name="one", storage=url)
    trial = study.ask()
    sampler.design(trial)
    optuna.load_study(study_name="one", storage=url, sampler=RandomSampler()).tell(
        trial.number, (1.0, 2.0)
    )
    study.ask()
    search = sampler._search(study)
    assert search.given(trial.number) is None
    assert not search._unseen & {trial.number}


def test_each_study_has_its_own_directions_and_its_own_past(space: Space) -> None:
    alone = {}
    for direction in BOTH:
        sampler = DesignSampler(space, seed=1)
        study = optuna.create_study(directions=[direction] * 2, sampler=sampler)
        alone[direction] = searched(study, sampler, 60)
    assert alone[BOTH[0]] != alone[BOTH[1]]
    shared = DesignSampler(space, seed=1)
    for direction, expected in alone.items():
        study = optuna.create_study(directions=[direction] * 2, sampler=shared)
        assert searched(study, shared, 60) == expected
    single = optuna.create_study(direction="minimize", sampler=shared)
    single.optimize(lambda trial: values_of(shared.design(trial))[0], n_trials=20)
    assert len(single.trials) == 20


def test_a_sampler_that_was_pickled_knows_what_it_knew(space: Space) -> None:
    sampler = DesignSampler(space, seed=1)
    study = new_study(sampler)
    searched(study, sampler, 40)
    again: DesignSampler = pickle.loads(pickle.dumps(sampler))
    other = new_study(again)
    other.add_trials(study.trials)
    assert searched(other, again, 10) == searched(study, sampler, 10)


def test_trials_of_other_spaces_and_of_nothing_are_passed_over(space: Space) -> None:
    sampler = DesignSampler(space, seed=1)
    study = new_study(sampler)
    first = optuna.distributions.CategoricalDistribution(["a word", "another"])
    names = sampler._view.distributions
    study.add_trial(
        create_trial(
            params=dict.fromkeys(names, "a word"),
            distributions=dict.fromkeys(names, first),
            values=[1.0, 1.0],
        )
    )
    study.add_trial(
        create_trial(params={"x": 1}, distributions={"x": IntDistribution(0, 3)}, values=[1.0, 1.0])
    )
    study.add_trial(create_trial(state=TrialState.FAIL))
    alone = DesignSampler(space, seed=1)
    assert searched(study, sampler, 20) == searched(new_study(alone), alone, 20)


def test_a_design_that_is_asked_for_takes_the_place_of_no_proposal(space: Space) -> None:
    sampler = DesignSampler(space, seed=1)
    study = new_study(sampler)
    searched(study, sampler, 3)
    known = study.trials[0].params
    study.enqueue_trial(known)
    study.enqueue_trial(known)
    seen = searched(study, sampler, 6)
    alone = DesignSampler(space, seed=1)
    assert seen[2:] == searched(new_study(alone), alone, 7)[3:]


def test_trials_told_one_by_one_are_not_looked_up(
    space: Space, monkeypatch: pytest.MonkeyPatch
) -> None:
    sampler = DesignSampler(space, seed=1)
    study = new_study(sampler)
    looked_up: list[int] = []
    monkeypatch.setattr(study, "get_trials", lambda **_: looked_up.append(1))
    searched(study, sampler, 40)
    assert not looked_up


def test_threads_of_one_study_try_no_design_twice(space: Space) -> None:
    sampler = DesignSampler(space, seed=1)
    study = new_study(sampler)
    study.optimize(lambda trial: values_of(sampler.design(trial)), n_trials=80, n_jobs=4)
    designs = [design_key(sampler._view.design(trial.params)) for trial in study.trials]
    assert len(set(designs)) == 80


def test_the_study_that_the_page_shows_finds_designs_of_the_exact_front() -> None:
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import optuna.*?)```", text, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    own: optuna.Study = names["own"]
    assert len(own.trials) == 100
    found = [tuple(trial.values) for trial in own.best_trials]
    with EXACT.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["on_front"] == "1"]
    exact = [(float(row["iteration_time"]), float(row["capital_cost"])) for row in rows]
    assert min(found)[0] < 1.05 * min(exact)[0]
    assert min(usd for _, usd in found) == min(usd for _, usd in exact)
