"""Searches of other tools: their proposals are raw, and what breaks a rule is rejected."""

from collections.abc import Callable, Sequence
from random import Random

import pytest

from dse.samplers.baselines import (
    Agent,
    AntColony,
    Bayesian,
    GeneticAlgorithm,
    RandomWalk,
    RawSpace,
)
from dse.space import Setting, SpaceFile, build_space, design_key

FILE = {
    "products": [
        {"of": ["cp", "pp", "tp"], "equals": 64, "limits": {"cp": [1, 2, 4, 8, 16, 32, 64]}}
    ],
    "axes": {"bandwidth": {"ladder": list(range(1, 21))}},
}
SPACE = build_space(SpaceFile.model_validate(FILE), Setting(dimensions=0, npus=64, fixed={}))


def test_a_raw_draw_is_valid_as_often_as_the_counts_say() -> None:
    raw, random = RawSpace(SPACE), Random(0)
    valid = {design_key(design) for design in SPACE.designs()}
    found = [raw.design(raw.draw(random)) for _ in range(3000)]
    kept = [design_key(design) for design in found if design is not None]
    assert set(kept) <= valid
    share = SPACE.counts.valid / SPACE.counts.raw
    assert len(kept) / len(found) == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("kind", [GeneticAlgorithm, AntColony, Bayesian])
def test_agents_that_learn_do_better_than_a_random_walk(
    kind: Callable[[Sequence[int], int], Agent],
) -> None:
    def mean_reward(agent: Agent) -> float:
        rewards = []
        for _ in range(600):
            codes = agent.ask()
            rewards.append(1.0 / (1.0 + sum(codes)))
            agent.tell(codes, rewards[-1])
        return sum(rewards[300:]) / 300

    sizes = RawSpace(SPACE).sizes
    assert mean_reward(kind(sizes, 1)) > 1.5 * mean_reward(RandomWalk(sizes, 1))
