"""Searches of other tools: their proposals are raw, and what breaks a rule is rejected."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from baselines import (
    Agent,
    AntColony,
    Bayesian,
    ElitistAntColony,
    ElitistGenetic,
    GeneticAlgorithm,
    RandomWalk,
    RawSpace,
)

from dse.space import RunFacts, SpaceFile, build_space, design_key

FILE = {
    "products": [
        {"of": ["cp", "pp", "tp"], "equals": 64, "limits": {"cp": [1, 2, 4, 8, 16, 32, 64]}}
    ],
    "axes": {"bandwidth": {"ladder": list(range(1, 21))}},
}
SPACE = build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=64, fixed={}))


def test_a_raw_draw_is_valid_as_often_as_the_counts_say() -> None:
    raw = RawSpace(SPACE)
    agent = RandomWalk(raw.sizes, 0)
    valid = {design_key(design) for design in SPACE.designs()}
    found = [raw.design(agent.ask()) for _ in range(3000)]
    kept = [design_key(design) for design in found if design is not None]
    assert set(kept) <= valid
    share = SPACE.counts.valid / SPACE.counts.raw
    assert len(kept) / len(found) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize(
    "kind", [GeneticAlgorithm, ElitistGenetic, AntColony, ElitistAntColony, Bayesian]
)
def test_agents_that_learn_do_better_than_a_random_walk(
    kind: Callable[[Sequence[int], int], Agent],
) -> None:
    def mean_reward(agent: Agent) -> float:
        rewards = []
        for _ in range(600):
            codes = agent.ask()
            rewards.append(1e-3 / (1.0 + sum(codes)))
            agent.tell(codes, rewards[-1])
        return sum(rewards[300:]) / 300

    sizes = RawSpace(SPACE).sizes
    assert mean_reward(kind(sizes, 1)) > 1.5 * mean_reward(RandomWalk(sizes, 1))


def test_bits_beyond_the_last_choice_stand_for_it() -> None:
    agent = GeneticAlgorithm([3], 0, population=4000)
    drawn = []
    for _ in range(4000):
        drawn.extend(agent.ask())
        agent.tell(drawn[-1:], 1.0)
    shares = [drawn.count(code) / len(drawn) for code in range(3)]
    assert shares == pytest.approx([0.25, 0.25, 0.5], abs=0.03)


def test_a_generation_without_mutation_has_only_bits_of_the_one_before() -> None:
    agent = GeneticAlgorithm([2, 2], 3, population=8, mutation=0.0)
    generations: list[list[list[int]]] = []
    for _ in range(40):
        generations.append([])
        for _ in range(8):
            generations[-1].append(agent.ask())
            agent.tell(generations[-1][-1], 1.0 + generations[-1][-1][0])
    assert all(codes[0] == 1 for codes in generations[-1])  # tournaments keep the better choice
    for before, after in pairwise(generations):
        for knob in (0, 1):
            assert {codes[knob] for codes in after} <= {codes[knob] for codes in before}


@pytest.mark.parametrize("greediness", [0.25, 0.75])
def test_the_published_colony_leaves_the_best_design_where_it_is_greedy(greediness: float) -> None:
    agent = AntColony([4] * 40, 0, ants=8, greediness=greediness)
    best = agent.ask()
    agent.tell(best, 1e-6)
    for _ in range(8):
        agent.tell(agent.ask(), 1e-8)
    changed = [
        code != kept for _ in range(50) for code, kept in zip(agent.ask(), best, strict=True)
    ]
    assert sum(changed) / len(changed) == pytest.approx(greediness, abs=0.05)
