"""Designs refused without values teach the search; small spaces are looked at as a whole."""

from collections.abc import Callable
from itertools import product
from random import Random

import numpy as np
import pytest

from dse.samplers.design import DesignSearch, Genome, GenomeSpace
from dse.samplers.design.model.judge import averse
from dse.samplers.design.model.refusals import Refusals
from dse.samplers.design.model.trees import Trees
from dse.samplers.design.whole import every_genome, is_small
from dse.space import RunFacts, SpaceFile, build_space

FILE = {
    "products": [{"of": ["tp", "pp", "dp"], "equals": 64}],
    "axes": {
        "batch": {"ladder": [1, 2, 4, 8, 16]},
        "kind": {"choices": ["ring", "mesh", "tree"]},
        "wraps": {"choices": [True, False], "when": "kind != 'tree'"},
    },
}
SPACE = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=64, fixed={}))
)


def amounts(genome: Genome) -> tuple[float, float]:
    """Time and memory: what is fast is large, and fits in one corner alone."""
    design = SPACE.design(genome)
    tp, pp, batch = (int(design[name]) for name in ("tp", "pp", "batch"))
    memory = 100.0 / (tp * pp) + 4.0 * batch
    time = 50.0 / batch**0.5 + 2.0 * tp + 3.0 * pp + 5.0 * (design["kind"] == "ring")
    return time + 2.0 * bool(design.get("wraps")), memory


def is_refused(genome: Genome) -> bool:
    tp = int(SPACE.design(genome)["tp"])
    return amounts(genome)[1] > 22.0 or tp == 4


def searched(seed: int, trials: int, is_refused: Callable[[Genome], bool]) -> list[Genome]:
    search, asked = DesignSearch(SPACE, seed=seed), list[Genome]()
    for _ in range(trials):
        genome = search.ask()
        assert genome is not None
        asked.append(genome)
        refused = is_refused(genome)
        search.tell(genome, None if refused else amounts(genome)[:1], float(refused))
    return asked


def test_a_small_space_is_listed_once_and_whole() -> None:
    every = every_genome(SPACE)
    assert {SPACE.genome(design) for design in SPACE.space.designs()} == set(every.each())
    assert len(every) == SPACE.space.counts.searched == len(every.distinct())
    assert is_small(SPACE, len(every))
    assert not is_small(SPACE, len(every) - 1)


def test_trees_tell_a_limit_on_a_product_and_an_exception_from_few_points() -> None:
    every = every_genome(SPACE)
    refused = np.array([is_refused(genome) for genome in every.each()])
    known = np.random.default_rng(0).permutation(len(every))[:200]
    refusals = Refusals(SPACE)
    for genome in every.at(known[refused[known]]).each():
        refusals.note(genome)
    assert refusals.likely(every) is None
    refusals.learn(every.at(known[~refused[known]]), Random(0))
    likely = refusals.likely(every)
    assert likely is not None
    assert ((likely > 0.5) == refused).mean() > 0.95


def test_trees_learn_what_depends_on_two_coordinates_together() -> None:
    points = np.array(list(product(range(6), range(6))), float)
    differ = (points[:, 0] > 2) != (points[:, 1] > 2)
    likely = Trees(points, differ, Random(1)).likely(points)
    assert ((likely > 0.5) == differ).all()
    alike = Trees(np.ones((10, 2)), np.arange(10) < 4, Random(0)).likely(np.ones((1, 2)))
    assert alike[0] == pytest.approx(5 / 12)


def test_what_is_refused_for_almost_certain_comes_last_and_all_else_keeps_its_order() -> None:
    promises = np.array([[-5.0], [0.2], [3.0]])
    np.testing.assert_allclose(averse(promises, np.array([0.0, 0.5, 0.8])), promises)
    ordered = averse(promises, np.array([0.97, 0.5, 0.95]))[:, 0]
    assert ordered.argsort().tolist() == [1, 2, 0]


def test_what_promises_most_but_is_refused_is_soon_left_alone() -> None:
    for seed in range(2):
        refused = [is_refused(genome) for genome in searched(seed, 110, is_refused)]
        assert sum(refused[70:]) < 28  # of 40; 34 and more where nothing is learned


def test_breeding_begins_where_nearly_all_is_refused() -> None:
    def is_far(genome: Genome) -> bool:
        return int(SPACE.design(genome)["dp"]) < 16

    asked = searched(0, 100, is_far)
    assert sum(map(is_far, asked[50:])) < 0.6 * sum(map(is_far, asked[:50]))
