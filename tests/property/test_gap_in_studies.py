"""What a study proves while it runs holds for all designs that it has not seen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_study import STUDY, exact_front, searched

from dse.config import compile_study
from dse.rank import study_quality
from dse.runner import Runner
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


def rows_of(data: dict[str, Any], out: Path | None, **search: Any) -> list[tuple[Any, ...]]:
    study = compile_study({**data, "search": {**data["search"], "gap": "1%", **search}})
    result = Runner(study, out=out, resume=out is not None, watcher=None).search(None)
    return [(row.number, row.design, row.state, row.repeats) for row in result.rows]


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


def test_a_gap_that_cannot_be_proven_is_refused() -> None:
    with pytest.raises(ConfigError, match="time and cost"):
        searched({**STUDY, "objectives": {"mfu": "maximise"}}, gap=0.01)


@pytest.mark.parametrize("gap", ["one", "-1%", 1.0])
def test_a_gap_is_a_share(gap: Any) -> None:
    with pytest.raises(ConfigError, match=r"search\.gap"):
        compile_study({**STUDY, "search": {**STUDY["search"], "gap": gap}})
