"""What an evaluator says of many designs at once is what it says of each by itself."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dse.evaluate import EvaluatorInput, build_evaluator
from dse.evaluate.base import Account, Evaluator
from dse.evaluate.simulator import SimulatorEvaluator
from dse.space import Design
from dse.study.compile import Study, load_study_file
from simcore import IterationResult, Run

ROOT = Path(__file__).resolve().parents[2]
DESIGNS = 24


def drawn(study: Study, seed: int) -> list[Design]:
    """Uniform draws of a study's space, most of which break a rule."""
    space, random = study.space, np.random.default_rng(seed)
    found = []
    for _ in range(DESIGNS):
        dimensions = int(random.choice(list(space.dimensions)))
        rows = [int(random.integers(block.rows(dimensions))) for block in space.blocks]
        found.append(space.design(dimensions, rows))
    return found


def level(name: str) -> tuple[EvaluatorInput, list[Design]]:
    """What the designs of a study are first judged by, and some of them; any machine is sold."""
    study = load_study_file(ROOT / "studies" / f"{name}.yaml")
    judged = study.judged_at(next(iter(study.levels))) if study.levels else study
    return replace(judged.evaluator_input, physical=False), drawn(study, seed=7)


def told(found: Sequence[Account | Exception]) -> list[object]:
    """All that is said, in its order."""
    return [
        (type(one), str(one))
        if isinstance(one, Exception)
        else (list(one.metrics.items()), one.notes)
        for one in found
    ]


def each(evaluator: Evaluator, designs: Sequence[Design]) -> list[Account | Exception]:
    return [one for design in designs for one in evaluator.accounts([design])]


@pytest.mark.parametrize("name", ["llm_gpt", "p1_cosmic_1024"])
def test_many_at_once_are_accounted_as_each_by_itself(name: str) -> None:
    what, designs = level(name)
    at_once, alone = build_evaluator(what), build_evaluator(what)
    found = told([*at_once.accounts(designs[:5]), *at_once.accounts(designs[5:])])
    assert found == told(each(alone, designs))
    assert any(isinstance(one[0], list) for one in found), "some designs have results"  # type: ignore[index]


def test_links_that_can_be_used_in_part_are_derated_at_once_too() -> None:
    what, designs = level("p1_cosmic_1024")
    derated = build_evaluator(replace(what, bandwidth=0.5))
    assert told(derated.accounts(designs)) == told(each(derated, designs))
    assert told(derated.accounts(designs)) != told(build_evaluator(what).accounts(designs))


class Doubled(SimulatorEvaluator):
    """The simulator, but all takes twice as long."""

    def account(self, design: Design) -> Account:
        found = super().account(design)
        return Account({**found.metrics, "iteration_time_s": 2 * found.metrics["iteration_time_s"]})


def test_what_a_class_changes_of_one_design_it_changes_of_many() -> None:
    what, designs = level("p1_cosmic_1024")
    doubled = Doubled(what)
    plain, found = doubled.accounts(designs), build_evaluator(what).accounts(designs)
    pairs = [(a, b) for a, b in zip(plain, found, strict=True) if isinstance(b, Account)]
    assert pairs
    for one, other in pairs:
        assert isinstance(one, Account)
        assert one.metrics["iteration_time_s"] == 2 * other.metrics["iteration_time_s"]


@pytest.mark.parametrize("objectives", [("iteration_time", "capital_cost"), ("iteration_time",)])
def test_a_machine_that_nobody_sells_is_refused_without_a_simulation(
    objectives: tuple[str, ...],
) -> None:
    """Whatever is sought: the study names a model of parts that are sold."""
    what, designs = level("llm_gpt")
    what = replace(
        what, goals=replace(what.goals, objectives=dict.fromkeys(objectives, "minimise"))
    )
    ring = {"platform.dimensions[1].topology": "ring", "system.all_reduce[1]": "ring"}
    unsold = [
        {**design, **ring, "platform.dimensions[2].shares_ports": True}
        for design in designs
        if "platform.dimensions[2].shares_ports" in design
    ]

    class Unsimulated(SimulatorEvaluator):
        takes_many = True

        def simulate(self, run: Run) -> IterationResult:
            raise AssertionError("this takes long")

    evaluator = Unsimulated(what)
    found = told(each(evaluator, unsold))
    assert found == told(evaluator.accounts(unsold))
    rules = {str(error).partition(":")[0] for error in evaluator.accounts(unsold)}
    assert rules == {"shares_ports", "fits_in_memory"}, "rules of plans come first"
