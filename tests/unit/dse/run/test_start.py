"""Studies that start with known designs, and those that look at all of them."""

from pathlib import Path

import pytest
import yaml

from dse import StudyResult, run_study
from dse.space import Design, design_key
from dse.study.compile import load_study_file
from simcore import ConfigError, load_run, simulate_run

STUDY = "p5_vit22b_64.yaml"


def study_file(tmp_path: Path, **search: object) -> Path:
    data = yaml.safe_load(Path(load_study_file(STUDY).folder, STUDY).read_text())
    data["search"] = {"trials": 40, **search}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    return file


@pytest.mark.parametrize("sampler", ["design", "nsga2", "tpe", "exhaustive"])
def test_the_front_of_another_study_comes_first(tmp_path: Path, sampler: str) -> None:
    first = run_study(STUDY, trials=60, executor="serial", out=tmp_path / "first")
    front = [design_key(first.rows[row].design) for row in first.front]
    file = study_file(tmp_path, sampler=sampler, start=["first"])
    result = run_study(file, executor="serial")
    assert [design_key(row.design) for row in result.rows[: len(front)]] == front
    assert len({design_key(row.design) for row in result.rows}) == 40
    volumes = [one.summary["hypervolume"] for one in (result, first)]
    assert volumes[0] >= volumes[1] * (1 - 1e-12)  # sums of the same parts in another order


def test_a_design_by_hand_is_written_as_in_the_file(tmp_path: Path) -> None:
    design = dict(next(load_study_file(STUDY).space.designs()))
    by_hand = {**design, "platform.dimensions[0].bandwidth": "45 GB/s"}
    by_hand["platform.dimensions[1].bandwidth"] = "6.25 GB/s"
    result = run_study(study_file(tmp_path, start=[by_hand]), executor="serial")
    assert result.rows[0].design == design


def test_analytic_starts_give_each_dimension_its_share_of_what_is_sent(tmp_path: Path) -> None:
    name = "p1_cosmic_1024.yaml"
    data = yaml.safe_load(Path(load_study_file(name).folder, name).read_text())
    data["search"] = {"trials": 10, "start": ["analytic"]}
    file = tmp_path / "study.yaml"
    file.write_text(yaml.safe_dump(data))
    rows = run_study(file, executor="serial").rows
    rates = [f"platform.dimensions[{d}].bandwidth" for d in range(4)]
    assert rows[0].is_feasible
    ladders = [[float(row.design[rate]) for rate in rates] for row in rows]
    # the run's own plan and collectives; one design per rung of the busiest dimension
    assert {(row.design["plan.cp"], row.design["plan.dp"]) for row in rows} == {(8, 8)}
    busiest = max(range(4), key=lambda d: sum(ladder[d] for ladder in ladders))
    assert [ladder[busiest] for ladder in ladders] == [50e9 * rung for rung in range(1, 11)]
    # what is bought for little traffic is the least that the ladder has
    run = load_run(load_study_file(name).file.run)
    sent = simulate_run(run).sent_bytes
    assert sent[busiest] == max(sent)
    for ladder in ladders:
        for rate, size in zip(ladder, sent, strict=True):
            fair = ladder[busiest] * size / max(sent)
            assert rate == 50e9 if fair <= 50e9 else abs(rate - fair) <= 25e9


def test_a_design_that_is_not_in_the_space_is_told(tmp_path: Path) -> None:
    design = dict(next(load_study_file(STUDY).space.designs()))
    for wrong, message in (
        ({**design, "plan.tp": 3}, "must be a design of the space"),
        ({**design, "plan.xp": 3}, "knobs are plan.tp"),
        ({**design, "platform.dimensions[0].bandwidth": "45 ns"}, r"search.start\[0\]"),
    ):
        with pytest.raises(ConfigError, match=message):
            run_study(study_file(tmp_path, start=[wrong]), executor="serial")


def test_trials_that_suffice_for_the_space_visit_each_design_that_fits_once(tmp_path: Path) -> None:
    file = study_file(tmp_path, trials=500)
    data = yaml.safe_load(file.read_text())
    data["space"]["axes"]["plan.micro_batch"] = {"choices": [1]}
    data["space"]["axes"]["platform.dimensions[0].bandwidth"] = {"ladder": ["360 GB/s"]}
    data["space"]["axes"]["platform.dimensions[1].bandwidth"] = {"ladder": ["25 GB/s"]}
    file.write_text(yaml.safe_dump(data))
    result = run_study(file, executor="serial")
    assert len({design_key(row.design) for row in result.rows}) == len(result.rows) < 500
    assert result.summary["infeasible"] == 0
    assert result.study.space.counts.searched <= 500
    assert [row.design for row in result.rows] == sorted_as_in_space(result)


def sorted_as_in_space(result: StudyResult) -> list[Design]:
    known = {design_key(row.design) for row in result.rows}
    return [design for design in result.study.space.designs() if design_key(design) in known]
