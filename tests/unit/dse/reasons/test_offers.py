"""What is offered of a design as better at no loss, and what the search around it tries."""

import numpy as np
import pytest

from dse.evaluate.levers import Lever
from dse.proof.machines import machine_prices
from dse.reasons.steps import one_step
from dse.reasons.what_if import WhatIf
from dse.report.why import NOT_TRIED, offer_section
from dse.samplers.design import GenomeSpace
from dse.samplers.design.columns.genomes import Genome
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.model.aims import TimeAlone
from dse.samplers.design.screen import anything
from dse.samplers.design.trims import Trims
from dse.space import Design, design_key
from dse.study.compile import Study, load_study_file


@pytest.fixture(scope="module")
def study() -> Study:
    return load_study_file("llm_gpt.yaml")


def step(time: float, cost: float, **other: object) -> WhatIf:
    made = {"knobs": {"plan.pp": (8, 4), "plan.dp": (16, 32)}, **other}
    return WhatIf(changes={"iteration_time": time, "capital_cost": cost}, **made)  # type: ignore[arg-type]


def test_one_per_cent_for_next_to_nothing_is_an_offer(study: Study) -> None:
    goals = study.goals
    assert step(-0.02, 0.0).is_bargain(goals)
    assert step(0.0009, -0.01).is_bargain(goals)
    assert not step(-0.009, 0.0).is_bargain(goals)
    assert not step(-0.5, 0.002).is_bargain(goals)
    assert not step(-0.02, 0.0, state="infeasible").is_bargain(goals)
    lever = Lever(kind="bandwidth", dimension=0)
    assert not step(-0.02, 0.0, knobs={}, lever=lever).is_bargain(goals)


def test_an_offer_names_the_trial_that_has_it(study: Study) -> None:
    design: Design = {"plan.pp": 8, "plan.dp": 16, "plan.tp": 8}
    offer, none = step(-0.02, 0.0), step(0.02, 0.0)
    taken = offer.taken(design)
    assert taken == {"plan.pp": 4, "plan.dp": 32, "plan.tp": 8}
    known = {design_key(taken): 17}
    (line,) = offer_section(study, design, [none, offer], known).lines
    assert line == (
        "pp 8 -> 4, dp 16 -> 32",
        "iteration time -2.00%, capital cost unchanged",
        "trial 17",
    )
    assert offer_section(study, design, [offer], {}).lines[0][2] == NOT_TRIED


def test_a_search_tries_each_step_that_an_explanation_shows_and_that_costs_nothing(
    study: Study,
) -> None:
    space, prices = GenomeSpace(study.space), machine_prices(study)
    assert prices is not None
    trims = Trims(Neighbourhood(space), TimeAlone(space, prices).amounts, anything)
    for design in [one for one, _ in zip(study.space.designs(), range(40), strict=False)][::13]:
        genome = space.genome(design)
        assert genome is not None
        own, steps = prices.amounts(design), trims.of(genome)
        tried = {step.genome for step in (*steps.trims, *steps.free)} | set(trims.beside(genome))
        shown = [other for _, other in one_step(study.space, design) if other is not None]
        assert len(shown) > 8
        for other in shown:
            amounts = prices.amounts(other)
            if own is None or amounts is None:
                continue
            costs_no_more = all(new < old * 1.001 for new, old in zip(amounts, own, strict=True))
            assert (space.genome(other) in tried) == costs_no_more


def test_each_trim_is_asked_about_until_it_is_refused(study: Study) -> None:
    """Best hopes first, whatever is learned between; nothing left is told without looking."""
    space, prices = GenomeSpace(study.space), machine_prices(study)
    assert prices is not None
    drawn = list(space.draw_many(40, np.random.default_rng(5)).each())
    trims = Trims(Neighbourhood(space), TimeAlone(space, prices).amounts, anything)
    known, asked = set[int](), list[int]()

    def is_new(genome: Genome) -> bool:
        asked.append(genome.key)
        return genome.key not in known

    for at, genome in enumerate(drawn):
        trims.learn(genome, (1.0 + at, 99.0 - 2 * at))
        own = {step.genome.key for step in trims.of(genome).trims}
        left = own - known
        for _ in range(len(left)):
            found = trims.next(is_new)
            assert found is not None
            known.add(found.key)
        assert left <= known
        assert trims.next(is_new) is None
        asked.clear()
        assert trims.next(is_new) is None
        assert not asked
    assert len(known) > 4
