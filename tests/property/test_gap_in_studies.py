"""What a study proves while it runs holds for all designs that it has not seen."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import STUDY, break_some_designs, exact_front, searched
from stopping import Stopping

from dse.proof.told import bound_told, gap_lines
from dse.rank.quality import study_quality
from dse.results.failures import failure_lines
from dse.run.runner import Runner
from dse.samplers.registry import SAMPLERS
from dse.study.compile import compile_study
from simcore import ConfigError


@pytest.fixture(scope="module")
def front() -> set[tuple[float, ...]]:
    return exact_front(compile_study(STUDY))


@pytest.mark.parametrize("sampler", ["design", "random"])
def test_a_study_ends_when_the_gap_is_proven(front: set[tuple[float, ...]], sampler: str) -> None:
    result = searched(STUDY, sampler=sampler, gap=0, trials=5000)
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == front
    assert result.summary["gap_closed"]
    assert set(result.summary["optimality_gap"].values()) == {0.0}
    designs = result.study.space.counts.searched
    assert result.summary["evaluated"] < 0.5 * designs
    keys = [tuple(sorted(row.design.items())) for row in result.rows if row.repeats is None]
    assert len(set(keys)) == len(keys)


@pytest.mark.parametrize("trials", [1, 5, 20])
def test_what_a_cut_off_study_proves_is_true(front: set[tuple[float, ...]], trials: int) -> None:
    reference = {"iteration_time": "1000 s", "capital_cost": "9 MUSD"}
    result = searched({**STUDY, "reference_point": reference}, gap="0%", trials=trials)
    summary, exact = result.summary, np.array(sorted(front))
    assert not summary["gap_closed"]
    for column, name in enumerate(result.study.goals.objectives):
        least = exact[:, column].min()
        assert summary["lower_bounds"][name] <= least
        if summary["best"]:
            assert 1 - least / summary["best"][name] <= summary["optimality_gap"][name] + 1e-12
    most = study_quality(exact, (1, 1), result.study.reference).hypervolume
    if summary["optimality_gap"]["hypervolume"] is not None:
        assert most is not None
        missing = 1 - summary["hypervolume"] / most
        assert missing <= summary["optimality_gap"]["hypervolume"] + 1e-12


@pytest.mark.parametrize("asked", [0.02, 0.1])
def test_a_study_ends_when_little_of_the_front_can_be_missing(
    front: set[tuple[float, ...]], asked: float
) -> None:
    reference = {"iteration_time": "1000 s", "capital_cost": "9 MUSD"}
    data = {**STUDY, "reference_point": reference}
    result = searched(data, hypervolume_gap=asked, trials=5000)
    summary = result.summary
    most = study_quality(np.array(sorted(front)), (1, 1), result.study.reference).hypervolume
    assert most is not None
    assert summary["gap_closed"]
    assert 1 - summary["hypervolume"] / most <= summary["optimality_gap"]["hypervolume"] <= asked
    whole = searched(data, gap=0, trials=5000)
    assert summary["proposals"] < whole.summary["proposals"]


def test_both_gaps_are_told_and_the_closer_one_ends_the_study() -> None:
    one = searched(STUDY, gap=0, trials=5000)
    both = searched(STUDY, gap=0, hypervolume_gap=0.5, trials=5000)
    assert [row.design for row in both.rows] == [row.design for row in one.rows]
    assert both.summary["optimality_gap"] == one.summary["optimality_gap"]


def rows_of(data: dict[str, Any], out: Path | None, **search: Any) -> list[tuple[Any, ...]]:
    study = compile_study({**data, "search": {**data["search"], "gap": "1%", **search}})
    result = Runner(study, out=out, resume=out is not None, watcher=None).search(None)
    return [(row.number, row.design, row.state, row.repeats) for row in result.rows]


def test_the_end_of_a_front_is_the_same_after_a_stop(tmp_path: Path) -> None:
    asked = {"gap": None, "hypervolume_gap": "5%"}
    alone = rows_of(STUDY, None, trials=2000, **asked)
    assert len(alone) < 2000
    rows_of(STUDY, tmp_path, trials=70, **asked)
    assert rows_of(STUDY, tmp_path, trials=2000, **asked) == alone


def test_proving_is_the_same_with_workers_and_after_a_stop(tmp_path: Path) -> None:
    alone = rows_of(STUDY, None, trials=60)
    assert rows_of(STUDY, tmp_path, trials=25) == alone[:25]
    local = {**STUDY, "execution": {"executor": "local", "workers": 2}}
    assert rows_of(local, tmp_path, trials=60) == alone


def test_a_study_that_knows_all_designs_has_no_gap_whatever_its_objectives() -> None:
    data = {**STUDY, "objectives": {"mfu": "maximise"}}
    summary = searched(data, sampler="exhaustive", trials=5000).summary
    assert summary["gap_closed"]
    assert summary["lower_bounds"] == summary["best"]
    cut = searched(data, sampler="exhaustive", trials=20).summary
    assert "optimality_gap" not in cut


SPACE = STUDY["space"]
FEW: dict[str, Any] = {
    **STUDY,
    "space": {
        "products": SPACE["products"],
        "axes": {
            "plan.micro_batch": {"choices": [1, 2]},
            "platform.dimensions[0].bandwidth": {"ladder": ["20 GB/s", "200 GB/s"]},
            "system.scheduling": {"choices": ["lifo", "fifo"]},  # decides nothing here
        },
        "require": [*SPACE["require"], "plan.tp <= 4", "platform.dimensions[0].npus <= 4"],
    },
}
BY_RATE = {**FEW, "objectives": {"mfu": "maximise"}}
"""Nothing bounds it: only who knows all designs has no gap."""

DESIGNS = compile_study(FEW).space.counts.searched


@pytest.fixture(scope="module")
def best_of_few() -> set[tuple[float, ...]]:
    return exact_front(compile_study(FEW))


@pytest.mark.parametrize("trials", [DESIGNS, DESIGNS + 500])
@pytest.mark.parametrize("sampler", list(SAMPLERS))
def test_trials_for_all_designs_close_the_gap_with_every_sampler(
    sampler: str, trials: int, best_of_few: set[tuple[float, ...]]
) -> None:
    entry, data = SAMPLERS[sampler], FEW
    if not all(map(importlib.util.find_spec, entry.needs)):
        pytest.skip(f"{sampler} needs {', '.join(entry.needs)}")
    if entry.objectives == 1:
        data = {**FEW, "objectives": {"iteration_time": "minimise"}}
        best_of_few = {(min(best_of_few)[0],)}
    result = searched(data, sampler=sampler, trials=trials, gap=0)
    summary = result.summary
    assert summary["gap_closed"]
    assert set(summary["optimality_gap"].values()) == {0.0}
    found = {tuple(result.rows[i].evaluation.objectives.values()) for i in result.front}
    assert found == best_of_few
    assert len(result.rows) < DESIGNS


@pytest.mark.parametrize("sampler", ["design", "exhaustive"])
@pytest.mark.parametrize("trials", [DESIGNS, DESIGNS + 500])
def test_a_gap_without_bounds_is_that_of_all_designs(sampler: str, trials: int) -> None:
    summary = searched(BY_RATE, sampler=sampler, trials=trials, gap="1%").summary
    every = Runner(compile_study(BY_RATE), out=None, resume=False, watcher=None).enumerate()
    assert summary["gap_closed"]
    assert summary["optimality_gap"] == {"mfu": 0.0, "hypervolume": 0.0}
    assert summary["best"] == summary["lower_bounds"] == every.summary["best"]
    assert every.summary["gap_closed"]


def test_whoever_has_seen_all_designs_has_no_gap() -> None:
    tiny = {**FEW, "space": {**FEW["space"], "axes": {"plan.micro_batch": {"choices": [1, 2]}}}}
    result = searched(tiny, sampler="random", trials=5000)
    assert len({tuple(row.design.items()) for row in result.rows}) == len(
        list(result.study.space.designs())
    )
    assert result.summary["gap_closed"]


@pytest.mark.parametrize("sampler", ["design", "exhaustive"])
def test_too_few_trials_for_all_designs_are_refused_where_nothing_bounds_them(
    sampler: str,
) -> None:
    with pytest.raises(ConfigError, match="objectives of time and cost"):
        searched(BY_RATE, sampler=sampler, trials=DESIGNS - 1, gap=0)
    with pytest.raises(ConfigError, match=f"must reach all {DESIGNS} designs"):
        searched(BY_RATE, sampler="exhaustive", trials=DESIGNS - 1, gap=0)


@pytest.mark.parametrize("data", [FEW, BY_RATE])
def test_a_stopped_study_says_that_its_gap_is_open_and_closes_it_when_resumed(
    data: dict[str, Any], tmp_path: Path
) -> None:
    search = {**data["search"], "sampler": "exhaustive", "trials": 5000, "gap": 0}
    study = compile_study({**data, "search": search})
    stopped = Runner(study, out=tmp_path, resume=False, watcher=Stopping(4)).search(None)
    assert not stopped.summary["gap_closed"]
    assert "the gap that was asked for is not proven" in gap_lines(stopped.summary)
    resumed = Runner(study, out=tmp_path, resume=True, watcher=None).search(None)
    whole = Runner(study, out=None, resume=False, watcher=None).search(None)
    for key in ("gap_closed", "optimality_gap", "lower_bounds", "best", "proposals"):
        assert resumed.summary[key] == whole.summary[key]
    assert whole.summary["gap_closed"]


@pytest.mark.parametrize("data", [FEW, BY_RATE])
def test_a_failed_design_leaves_the_gap_open(
    data: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    break_some_designs(monkeypatch)
    summary = searched(data, sampler="exhaustive", trials=5000, gap=0).summary
    assert summary["failed"] > 0
    assert not summary["gap_closed"]
    assert gap_lines(summary)[-1] == "the gap that was asked for is not proven"
    (told,) = failure_lines(summary)
    assert told.endswith(": RuntimeError: broken")


@pytest.mark.parametrize("objective", ["iteration_time", "mfu"])
def test_a_space_without_a_feasible_design_is_told_as_such(objective: str) -> None:
    sense = "minimise" if objective == "iteration_time" else "maximise"
    data = {
        **FEW,
        "objectives": {objective: sense},
        "constraints": ["fits_in_memory", {"objective": "capital_cost", "at_most": "1 USD"}],
    }
    summary = searched(data, sampler="exhaustive", trials=5000, gap=0).summary
    assert (summary["gap_closed"], summary["lower_bounds"]) == (True, {})
    assert gap_lines(summary) == ["no design of the space is feasible"]


@pytest.mark.parametrize(
    ("name", "bound", "sense", "told"),
    [
        ("iteration_time", 0.163711546, "minimise", "no design is below 0.163711 s"),
        ("iteration_time", 0.163711546, "maximise", "no design is above 0.163712 s"),
        ("iteration_time", 0.125, "minimise", "no design is below 0.125 s"),
        ("mfu", 0.3333333, "maximise", "no design is above 0.333334"),
        ("capital_cost", 626800.0, "minimise", "no design is below 626800 USD"),
        ("power", 0.0, "minimise", "no design is below 0 W"),
        ("power", float("inf"), "minimise", "no design of the space is feasible"),
    ],
)
def test_bounds_are_rounded_to_where_no_design_is(
    name: str, bound: float, sense: Any, told: str
) -> None:
    assert bound_told(name, bound, sense) == told


def test_the_side_of_a_bound_is_that_of_what_the_study_seeks() -> None:
    data = {**FEW, "objectives": {"iteration_time": "maximise"}}
    summary = searched(data, sampler="exhaustive", trials=5000, gap=0).summary
    worst = summary["best"]["iteration_time"]
    line = gap_lines(summary)[0]
    assert "no design is above" in line
    assert float(line.split("above ")[1].split()[0]) >= worst


def test_a_gap_that_cannot_be_proven_is_refused() -> None:
    with pytest.raises(ConfigError, match="time and cost"):
        searched({**STUDY, "objectives": {"mfu": "maximise"}}, gap=0.01)


@pytest.mark.parametrize("gap", ["one", "-1%", 1.0])
def test_a_gap_is_a_share(gap: Any) -> None:
    with pytest.raises(ConfigError, match=r"search\.gap"):
        compile_study({**STUDY, "search": {**STUDY["search"], "gap": gap}})
