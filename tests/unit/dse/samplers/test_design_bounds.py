"""Lower bounds as what the model of the search begins with."""

from random import Random

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from dse.samplers.design import DesignSearch, Genomes, GenomeSpace, Settings
from dse.samplers.design.breeder import Breeder, IsKnown
from dse.samplers.design.elite import Elite
from dse.samplers.design.model.aims import EachByItself
from dse.samplers.design.model.judge import Judge
from dse.samplers.design.screen import anything
from dse.space import RunFacts, SpaceFile, build_space

FILE = {
    "products": [{"of": ["tp", "pp", "dp"], "equals": 5184}],
    "axes": {
        "bandwidth": {"ladder": [1, 2, 4, 8]},
        "kind": {"choices": ["ring", "switch", "mesh"]},
    },
}
SPACE = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=5184, fixed={}))
)
Floats = NDArray[np.float64]


class Rugged:
    """Bounds that no smooth model can guess: two designs alike have nothing in common."""

    state = 0

    def closest(self, genomes: Genomes) -> Floats:
        return np.array([[least_of(key)] for key in genomes.keys().tolist()])

    def of(self, genomes: Genomes, since: int) -> Floats:
        return 0.5 * self.closest(genomes)

    def plans(self, genomes: Genomes) -> NDArray[np.int64]:
        return np.arange(len(genomes))

    def are_left(self, least: Floats) -> NDArray[np.bool_]:
        return np.ones(len(least), bool)


def least_of(key: int) -> float:
    return 1.0 + Random(int(key)).random()


def excess(genomes: Genomes) -> Floats:
    """Part by which designs exceed their bounds: smooth, 5 to 20 %."""
    designs = [SPACE.design(one) for one in genomes.each()]
    return np.array([0.05 * (1 + np.log2(float(one["bandwidth"]))) for one in designs])


def taught(hopes: Rugged | None, number: int) -> tuple[Judge, Genomes]:
    """A judge that has been told of some designs, and others."""
    drawn = SPACE.draw_many(4 * number, np.random.default_rng(0)).distinct()
    known, others = drawn.at(slice(number)), drawn.at(slice(number, None))
    elite = Elite(number)
    times = Rugged().closest(known)[:, 0] * (1.0 + excess(known))
    for one, time in zip(known.each(), times.tolist(), strict=True):
        elite.add(one, (time,), 0.0)
    elite.sort()
    judge = Judge(SPACE, EachByItself(), 0, hopes)
    for lesson in range(4):
        judge.learn(elite, lesson)
    return judge, others


def orders_alike(found: Floats, truth: Floats) -> float:
    ranks = [np.argsort(np.argsort(values)) for values in (found, truth)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def test_a_model_that_knows_the_bounds_orders_designs_that_no_other_can() -> None:
    judge, others = taught(Rugged(), 100)
    truth = Rugged().closest(others)[:, 0] * (1.0 + excess(others))
    found = judge.hopes(others)
    assert found is not None
    assert orders_alike(found[:, 0], truth) > 0.97
    blind, _ = taught(None, 100)
    guessed = blind.hopes(others)
    assert guessed is not None
    assert orders_alike(guessed[:, 0], truth) < 0.6


def test_a_search_with_bounds_finds_what_is_far_from_all_that_it_knows() -> None:
    """The best of thousands of designs whose times are their bounds and a little more."""

    def best_of(hopes: Rugged | None) -> float:
        search = DesignSearch(SPACE, seed=1, hopes=hopes)
        found = []
        for _ in range(150):
            genome = search.ask()
            assert genome is not None
            one = Genomes.of([genome])
            found.append(float(Rugged().closest(one)[0, 0] * (1.0 + excess(one)[0])))
            search.tell(genome, [found[-1]], 0.0)
        return min(found)

    assert best_of(Rugged()) < best_of(None)


def test_untried_plans_are_other_than_those_that_are_tried() -> None:
    rng = np.random.default_rng(0)
    breeder = Breeder(SPACE, anything, Settings())
    parents = SPACE.draw_many(20, rng)
    tried = set(breeder.plans(SPACE.draw_many(200, rng)))
    found = breeder.untried(parents, 160, tried, rng)
    assert SPACE.are_valid(found).all()
    assert len(found) > 0
    assert tried.isdisjoint(breeder.plans(found))
    knobs = {SPACE.knobs[at].name for at in range(len(SPACE.knobs))[breeder.largest]}
    assert knobs == {"tp", "pp", "dp"}


def test_without_bounds_fewer_generations_have_more_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With one objective all weights agree on the best: only bounds make one parent enough."""
    monkeypatch.setattr("dse.samplers.design.search.is_small", lambda space: False)
    whole, counts = Breeder.offspring, list[int]()

    def offspring(
        self: Breeder, parents: Genomes, number: int, known: IsKnown, rng: Generator
    ) -> Genomes:
        counts.append(len(parents))
        return whole(self, parents, number, known, rng)

    monkeypatch.setattr(Breeder, "offspring", offspring)

    def parents(hopes: Rugged | None) -> list[int]:
        counts.clear()
        search = DesignSearch(SPACE, seed=1, hopes=hopes)
        for _ in range(160):
            genome = search.ask()
            assert genome is not None
            one = Genomes.of([genome])
            search.tell(genome, [float(Rugged().closest(one)[0, 0])], 0.0)
        return list(counts)

    led, alone = parents(Rugged()), parents(None)
    assert set(led) == {1}
    assert set(alone) == {Settings().parents}
    assert 0 < len(alone) <= 0.6 * len(led)
