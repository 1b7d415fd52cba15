"""A slice of each published enumeration, simulated anew."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.base import evaluate
from dse.rank.quality import study_quality
from dse.study.compile import load_study_file

FOLDER = Path(__file__).parent / "enumerated"
SLICES = {
    "p1_cosmic_1024_workload": 60,
    "p1_cosmic_1024_collectives": 250,
    "p5_vit22b_64_simulated": 400,
}
"""Of so many designs one is simulated."""


def rows(name: str) -> list[dict[str, str]]:
    with (FOLDER / f"{name}.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", SLICES)
def test_a_fresh_enumeration_of_a_slice_equals_the_published_one(name: str) -> None:
    study, step = load_study_file(f"{name}.yaml"), SLICES[name]
    table = rows(name)
    assert len(table) == study.space.counts.valid
    evaluator = build_evaluator(study.evaluator_input)
    for row, design in list(zip(table, study.space.designs(), strict=True))[::step]:
        found = evaluate(evaluator, study.goals, design)
        assert found.state == row["state"]
        if found.state == "complete":
            for objective, value in found.objectives.items():
                assert value == pytest.approx(float(row[objective]), rel=1e-11)
            assert found.metrics["footprint_bytes"] == float(row["footprint_bytes"])


@pytest.mark.parametrize("name", SLICES)
def test_the_published_front_is_the_front_of_the_published_values(name: str) -> None:
    study = load_study_file(f"{name}.yaml")
    table = [row for row in rows(name) if row["state"] == "complete"]
    values = [[float(row[objective]) for objective in study.goals.objectives] for row in table]
    front = study_quality(np.array(values), study.goals.signs, None).front
    assert {table[index]["number"] for index in front} == {
        row["number"] for row in table if row["on_front"] == "1"
    }
