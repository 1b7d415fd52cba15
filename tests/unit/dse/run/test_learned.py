"""Studies that begin with what earlier studies of other machines and models found."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from dse import StudyResult, run_study
from dse.objectives import Sense
from dse.run.learned import MOST, carried_over, digest_of, learned_designs
from dse.samplers.design import GenomeSpace
from dse.space import design_key
from dse.study.compile import load_study_file
from simcore import ConfigError

STUDY = "p5_vit22b_64.yaml"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("earlier")


@pytest.fixture(scope="module")
def earlier(folder: Path) -> StudyResult:
    return run_study(STUDY, trials=60, executor="serial", out=folder / "first")


def study_file(folder: Path, name: str = "study", **changes: Any) -> Path:
    data = yaml.safe_load(Path(load_study_file(STUDY).folder, STUDY).read_text())
    data["search"] = {"trials": 200, "learn_from": ["first"]}
    for path, value in changes.items():
        data["space"]["axes"][path] = value
    file = folder / f"{name}.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


def test_in_the_same_space_the_first_designs_are_those_of_the_front(
    folder: Path, earlier: StudyResult
) -> None:
    found = learned_designs(load_study_file(study_file(folder)))
    front = [design_key(earlier.rows[at].design) for at in earlier.front]
    assert 0 < len(found.designs) <= MOST
    assert {design_key(one) for one in found.designs} <= set(front)
    assert design_key(found.designs[0]) == front[0]  # the ends of the front come first
    assert design_key(found.designs[1]) == front[-1]
    assert found.digests == {"first": digest_of(earlier)}


def test_a_study_that_sought_the_opposite_teaches_nothing(
    folder: Path, earlier: StudyResult
) -> None:
    study = load_study_file(study_file(folder))
    aims = study.goals.objectives
    for count, teaches in ((1, True), (2, False)):  # one aim in common is enough
        some: dict[str, Sense] = dict.fromkeys([*aims][:count], "maximise")
        changed = replace(study, goals=replace(study.goals, objectives={**aims, **some}))
        assert bool(learned_designs(changed).designs) is teaches


def test_a_value_that_is_there_is_kept_and_another_becomes_the_same_share_of_the_list(
    folder: Path, earlier: StudyResult
) -> None:
    name = "platform.dimensions[1].bandwidth"
    theirs = [float(value) for value in earlier.study.space.parameters[name].choices]
    # a list whose values are none of theirs, and twice as far apart on a logarithmic scale
    ladder = [f"{value * value / theirs[0] * 1.01 / 1e9!r} GB/s" for value in theirs]
    study = load_study_file(study_file(folder, "other", **{name: {"ladder": ladder}}))
    for place in earlier.front:
        before = earlier.rows[place].design
        found = carried_over(earlier, place, study)
        assert found is not None
        assert GenomeSpace(study.space).genome(found) is not None
        level = study.space.parameters[name].choices.index(found[name])
        assert level == theirs.index(float(before[name]))
        assert {k: v for k, v in found.items() if k != name} == {
            k: v for k, v in before.items() if k != name
        }


def test_a_machine_of_twice_the_size_divides_what_it_has_more_of_where_there_is_most_room(
    folder: Path, earlier: StudyResult
) -> None:
    data = yaml.safe_load(study_file(folder).read_text())
    data["evaluator"] = "simulator"  # the closed form knows 64 accelerators
    for product in data["space"]["products"]:
        product["equals"] = 128
    file = folder / "larger.yaml"
    file.write_text(yaml.safe_dump(data))
    study = load_study_file(file)
    learned = learned_designs(study).designs
    assert learned
    kept = ("plan.tp", "plan.pp", "platform.dimensions[0].npus")  # the two others have no list
    before = {tuple(row.design[name] for name in kept) for row in earlier.rows}
    assert {tuple(design[name] for name in kept) for design in learned} <= before
    doubled = {(row.design["plan.dp"], row.design["plan.tp"]) for row in earlier.rows}
    assert all((int(design["plan.dp"]) // 2, design["plan.tp"]) in doubled for design in learned)


def test_a_folder_that_is_no_study_is_told(folder: Path) -> None:
    file = study_file(folder)
    (folder / "empty").mkdir()
    for wrong in ("empty", "not_there"):
        data = yaml.safe_load(file.read_text())
        data["search"]["learn_from"] = [wrong]
        file.write_text(yaml.safe_dump(data))
        rule = r"search.learn_from\[0\].*must be the folder of a study that has been run"
        with pytest.raises(ConfigError, match=rule):
            run_study(file, executor="serial")


def test_a_study_does_not_go_on_unnoticed_when_what_it_learned_from_has_changed(
    tmp_path: Path,
) -> None:
    run_study(STUDY, trials=30, executor="serial", out=tmp_path / "first")
    file = study_file(tmp_path)
    begun = run_study(file, trials=30, executor="serial", out=tmp_path / "second")
    assert begun.provenances[-1].learned.keys() == {"first"}
    run_study(file, trials=40, executor="serial", out=tmp_path / "second", resume=True)
    run_study(STUDY, trials=40, executor="serial", out=tmp_path / "first", resume=True)
    with pytest.raises(ConfigError, match="the trials of first are others than before"):
        run_study(file, trials=50, executor="serial", out=tmp_path / "second", resume=True)
