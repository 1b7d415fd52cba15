"""Designs that a study takes for one and the same have the same outcome."""

from dataclasses import replace

import numpy as np
import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.simulator import SimulatorEvaluator
from dse.space import Design
from dse.study.compile import load_study_file
from simcore import InfeasibleError

SCHEDULING = "system.scheduling"


def pairs_of(name: str, wanted: int) -> list[tuple[SimulatorEvaluator, Design, Design]]:
    """Random designs that can run, each with what it is taken for, where that is another one."""
    study, random = load_study_file(name), np.random.default_rng(11)
    evaluator = build_evaluator(study.evaluator_input)
    assert isinstance(evaluator, SimulatorEvaluator)
    found: list[tuple[SimulatorEvaluator, Design, Design]] = []
    while len(found) < wanted:
        count = int(random.choice(list(study.space.dimensions)))
        rows = [int(random.integers(block.rows(count))) for block in study.space.blocks]
        design = study.space.design(count, rows)
        canonical = evaluator.canonical(design)
        if canonical == design:
            continue
        try:
            evaluator.metrics(design)
        except InfeasibleError:
            continue
        found.append((evaluator, design, canonical))
    return found


@pytest.mark.parametrize("name", ["llm_gpt.yaml", "p1_cosmic_1024.yaml", "p1_cosmic_2048.yaml"])
def test_the_order_of_waiting_collectives_changes_nothing_where_it_is_left_out(name: str) -> None:
    for evaluator, design, canonical in pairs_of(name, 40):
        assert design[SCHEDULING] != canonical[SCHEDULING]
        assert evaluator.metrics(design) == evaluator.metrics(canonical)


@pytest.mark.parametrize("values", [{"phase_end": "each"}, {"inter_dimension": "round_robin"}])
def test_the_order_counts_where_collectives_may_wait_for_each_other(values: dict[str, str]) -> None:
    study = load_study_file("p1_cosmic_1024.yaml")
    run = {**study.file.run, "system": {**study.file.run["system"], **values}}
    evaluator = build_evaluator(replace(study.evaluator_input, run=run))
    design = next(study.space.designs())
    for scheduling in ("lifo", "fifo"):
        chosen = {**design, SCHEDULING: scheduling}
        assert evaluator.canonical(chosen) == chosen
