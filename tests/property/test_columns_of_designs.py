"""What the search knows of many designs at once is what is true of each of them."""

from collections.abc import Sequence

import numpy as np
import pytest

from dse.evaluate import build_evaluator
from dse.evaluate.simulator import SimulatorEvaluator
from dse.proof.machines import machine_prices
from dse.proof.screening import StudyScreen
from dse.samplers.base import ProposerInput, Twins
from dse.samplers.design import Genomes, GenomeSpace
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.columns.sweeps import around
from dse.samplers.design.screen import folding, screen_of
from dse.samplers.design_proposer import DesignProposer
from dse.space import Design
from dse.study.compile import Study, load_study_file
from simcore import InfeasibleError, check_memory, check_structure, memory_fit, unbuildable

STUDIES = (
    "llm_gpt.yaml",
    "gpt3_13b_64_congestion.yaml",
    "gpt3_175b_1024_networks.yaml",
    "gpt3_175b_512_calculon.yaml",
    "llama3_405b_16384.yaml",
    "llama3_70b_accelerators.yaml",
    "p1_cosmic_1024.yaml",
    "p1_cosmic_1024_4vec.yaml",
    "p1_cosmic_1024_collectives.yaml",
    "p1_cosmic_1024_mem.yaml",
    "p1_cosmic_1024_workload.yaml",
    "p1_cosmic_2048.yaml",
    "p1_cosmic_512.yaml",
    "p2_llama3_405b_16k_h100.yaml",
    "p3_moe_1p8t_9216.yaml",
    "p4_dlrm_2p6t_h100.yaml",
    "p5_vit22b_64_simulated.yaml",
)
DESIGNS = 60


def drawn(space: GenomeSpace, number: int) -> Genomes:
    return space.draw_many(number, np.random.default_rng(4))


def breaks_no_rule(study: Study, evaluator: SimulatorEvaluator, design: Design) -> bool:
    """What the checks are to say, by the functions that check one run."""
    run, goals = evaluator.run(design), study.goals
    if evaluator.input.physical and unbuildable(run.platform) is not None:
        return False
    try:
        check_structure(run.workload, run.platform, run.plan)
        if goals.memory_margin is not None:
            check_memory(run.workload, run.platform, run.plan, goals.memory_margin)
    except InfeasibleError:
        return False
    return not goals.needs_room or not memory_fit(run.workload, run.platform, run.plan).is_short


@pytest.mark.parametrize("name", STUDIES)
def test_checks_of_many_designs_are_those_of_each(name: str) -> None:
    study = load_study_file(name)
    evaluator, space = build_evaluator(study.evaluator_input), GenomeSpace(study.space)
    assert isinstance(evaluator, SimulatorEvaluator)
    genomes = drawn(space, DESIGNS)
    near = Neighbourhood(space)
    genomes = Genomes.joined([genomes, around(near, genomes.at(slice(1))).at(slice(20))])
    found = screen_of(space, evaluator.checks())(genomes)
    wanted = [breaks_no_rule(study, evaluator, space.design(one)) for one in genomes.each()]
    assert found.tolist() == wanted


@pytest.mark.parametrize("name", STUDIES)
def test_columns_hold_the_designs_of_the_space(name: str) -> None:
    space, rng = GenomeSpace(load_study_file(name).space), np.random.default_rng(1)
    genomes = drawn(space, 300)
    each = genomes.each()
    assert space.are_valid(genomes).all()
    assert [genome.key for genome in each] == genomes.keys().tolist()
    assert Genomes.of(each).each() == each
    assert space.rows_of(genomes).tolist() == [space.rows(genome) for genome in each]
    near = Neighbourhood(space)
    tables = near.tables
    for move in tables.moves.tolist():
        near.tables = tables._replace(moves=np.array([move]), shares=np.array([1.0]))
        assert space.are_valid(near.moved_ones(genomes, np.arange(len(genomes)), rng)).all()
    near.tables = tables
    children = near.children(genomes, len(genomes), 0.9, rng)
    assert space.are_valid(children).all()
    designs = [space.design(genome) for genome in each]
    assert [space.genome(design) for design in designs] == [space.settled(one) for one in each]


@pytest.mark.parametrize("name", ["llm_gpt.yaml", "p1_cosmic_1024.yaml"])
def test_designs_that_stand_for_others_are_those_that_the_study_takes_for_them(name: str) -> None:
    study = load_study_file(name)
    evaluator, space = build_evaluator(study.evaluator_input), GenomeSpace(study.space)
    twins = Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs)
    genomes = drawn(space, 200)
    folded = folding(space, twins)(genomes)
    wanted = [evaluator.canonical(space.design(genome)) for genome in genomes.each()]
    assert [space.design(genome) for genome in folded.each()] == wanted
    assert (genomes.keys() != folded.keys()).any()


def outcomes(study: Study, designs: Sequence[Design]) -> list[dict[str, float]]:
    """Made up, with the exact prices of the machines."""
    prices = machine_prices(study)
    assert prices is not None
    found = []
    for at, design in enumerate(designs):
        amounts = prices.amounts(design)
        assert amounts is not None, "what has no price is not proposed"
        time_s = 20.0 + sum(v for v in design.values() if isinstance(v, int)) % 31 + at % 3
        pairs = zip(amounts, prices.powers, strict=True)
        values = [amount * time_s**power for amount, power in pairs]
        found.append(dict(zip(study.goals.objectives, values, strict=True)))
    return found


@pytest.mark.parametrize("name", ["llm_gpt.yaml", "p1_cosmic_1024.yaml"])
def test_every_proposal_is_new_valid_and_breaks_no_rule(name: str) -> None:
    study = load_study_file(name)
    evaluator, space = build_evaluator(study.evaluator_input), GenomeSpace(study.space)
    proposer = DesignProposer(
        ProposerInput(
            space=study.space,
            goals=study.goals,
            seed=2,
            checks=evaluator.checks(),
            prices=machine_prices(study),
            hopes=StudyScreen(study, evaluator),
            twins=Twins(canonical=evaluator.canonical, deciding=evaluator.twin_knobs),
        )
    )
    seen = set()
    for _ in range(400):
        proposal = proposer.ask()
        assert proposal is not None
        genome = space.genome(proposal.design)
        assert genome is not None
        assert genome == proposal.handle
        assert evaluator.canonical(proposal.design) == proposal.design
        assert evaluator.admits(proposal.design)
        seen.add(genome)
        proposer.tell(proposal, outcomes(study, [proposal.design])[0], 0.0)
    assert len(seen) == 400
