"""Ranges that share a budget: every proposal of every sampler adds up."""

import json
from math import fsum
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_study import STUDY, searched

import dse
from dse.samplers.design import GenomeSpace
from dse.space import design_key
from dse.space.budgets import Budget
from dse.space.parameters import Parameter
from dse.study.compile import compile_study
from simcore import ConfigError

NAMES = [f"platform.dimensions[{i}].bandwidth" for i in (0, 1)]
AXES = {
    "plan.micro_batch": {"choices": [1, 2]},
    NAMES[0]: {"low": "20 GB/s", "high": "480 GB/s"},
    NAMES[1]: {"low": "5 GB/s", "high": "200 GB/s", "log": True},
}
BUDGETS = [{"of": ["platform.dimensions[*].bandwidth"], "equals": "500 GB/s"}]
STUDY_OF_RANGES: dict[str, Any] = {
    **STUDY,
    "space": {
        "products": [{"of": ["plan.tp", "plan.pp", "plan.dp"], "equals": 16}],
        "axes": AXES,
        "require": STUDY["space"]["require"],
        "budgets": BUDGETS,
    },
}


@pytest.mark.parametrize("sampler", ["design", "random", "tpe", "nsga2"])
def test_every_proposal_adds_up_within_its_ranges(sampler: str) -> None:
    found = searched(STUDY_OF_RANGES, sampler=sampler, trials=120, screening=False)
    assert len(found.rows) == 120
    for row in found.rows:
        inner, outer = (float(row.design[name]) for name in NAMES)
        assert fsum([inner, outer]) == 500e9
        assert 20e9 <= inner <= 480e9
        assert 5e9 <= outer <= 200e9
    # a search comes back to a good split with other plans; no two proposals are alike
    assert len({row.design[NAMES[0]] for row in found.rows}) > 30
    assert len({design_key(row.design) for row in found.rows if row.repeats is None}) > 100


def test_a_genome_is_known_again_from_its_design() -> None:
    space = GenomeSpace(compile_study(STUDY_OF_RANGES).space)
    source = Random(3)
    for _ in range(200):
        genome = space.settled(space.draw(source))
        design = space.design(genome)
        again = space.genome(design)
        assert again is not None
        assert space.design(again) == design
        assert space.settled(genome) == genome == again


LIMITS = st.tuples(st.floats(0, 1), st.floats(1.5, 9))


@given(st.lists(st.tuples(LIMITS, st.floats(0, 1)), min_size=2, max_size=6), st.floats(0, 1))
def test_what_is_shared_is_the_nearest_point_of_the_budget(
    drawn: list[tuple[tuple[float, float], float]], part: float
) -> None:
    knobs = tuple(
        Parameter(name=f"k{i}", low=low, high=high) for i, ((low, high), _) in enumerate(drawn)
    )
    low, high = (np.array([getattr(k, end) for k in knobs]) for end in ("low", "high"))
    total = float(low.sum() + part * (high - low).sum())
    values = {k.name: k.value_at(share) for k, (_, share) in zip(knobs, drawn, strict=True)}
    budget = Budget(knobs=knobs, total=total)
    shared = budget.shared(values)
    point = np.array([shared[k.name] for k in knobs])
    assert fsum(point) == pytest.approx(total, abs=1e-9)
    assert (low <= point).all()
    assert (point <= high).all()
    assert budget.shared(shared) == shared
    start = np.array(list(values.values()))
    source = np.random.default_rng(0)
    for _ in range(20):  # no other point that adds up is nearer
        other = budget.shared(dict(zip(values, source.uniform(low, high), strict=True)))
        distance = np.linalg.norm(np.array(list(other.values())) - start)
        assert np.linalg.norm(point - start) <= distance + 1e-9


@pytest.mark.parametrize(
    ("budget", "rule"),
    [
        ({"of": ["plan.micro_batch"], "equals": 3}, "must name knobs with a range"),
        ({"of": NAMES, "equals": "1000 GB/s"}, "must be between 2.5e\\+10 and 6.8e\\+11"),
        ({"of": NAMES, "equals": 500}, "must have one of the units"),
        ({"of": [NAMES[0], NAMES[0]], "equals": "500 GB/s"}, "a knob may be in one budget only"),
    ],
)
def test_a_budget_that_cannot_be_kept_is_refused(budget: dict[str, Any], rule: str) -> None:
    space = {**STUDY_OF_RANGES["space"], "budgets": [budget]}
    with pytest.raises(ConfigError, match=rule):
        compile_study({**STUDY_OF_RANGES, "space": space})


def test_a_study_with_a_budget_goes_on_as_if_it_had_not_been_stopped(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(json.dumps({**STUDY_OF_RANGES, "search": {"sampler": "design", "window": 4}}))
    dse.run_study(file, out=tmp_path / "out", trials=40)
    resumed = dse.run_study(file, out=tmp_path / "out", trials=80, resume=True)
    whole = dse.run_study(file, trials=80)
    assert [row.design for row in resumed.rows] == [row.design for row in whole.rows]
