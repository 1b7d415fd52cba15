"""What lies one decision away from a design, and which of it is tried."""

from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.design import Genome, Genomes, GenomeSpace, Settings
from dse.samplers.design.archive import Archive
from dse.samplers.design.breeder import Breeder
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.columns.sweeps import around, grafted, retuned
from dse.samplers.design.elite import Elite
from dse.samplers.design.pool import Pool, drawn_weights
from dse.samplers.design.settings import Litter
from dse.space import RunFacts, SpaceFile, Value, build_space

FILE = {
    "products": [{"of": ["tp", "pp", "dp"], "equals": 96}],
    "axes": {
        "bandwidth": {"ladder": [1, 2, 4, 8]},
        "kind": {"choices": ["ring", "switch"]},
        "recompute": {"choices": [False, True]},
    },
}
GENOMES = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=96, fixed={}))
)
NEAR = Neighbourhood(GENOMES)


def genome(**changes: Value) -> Genome:
    design: dict[str, Value] = {"tp": 2, "pp": 1, "dp": 48}
    design |= {"bandwidth": 2, "kind": "ring", "recompute": False}
    found = GENOMES.genome(design | changes)
    assert found is not None
    return found


def test_two_knobs_of_a_product_are_split_in_every_way() -> None:
    found = set(around(NEAR, Genomes.of([genome()])).each())
    splits = {genome(tp=tp, dp=96 // tp) for tp in (1, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96)}
    assert splits <= found
    assert genome(tp=1, pp=2) in found
    assert genome(pp=16, dp=3) in found
    assert genome(tp=4, pp=2, dp=12) not in found


def test_retuning_leaves_products_alone() -> None:
    assert set(retuned(NEAR, Genomes.of([genome()])).each()) == {
        genome(bandwidth=1),
        genome(bandwidth=4),
        genome(kind="switch"),
        genome(recompute=True),
    }


def test_a_graft_takes_one_block_of_another_design() -> None:
    other = genome(tp=8, pp=4, dp=3, bandwidth=8)
    assert set(grafted(NEAR, Genomes.of([genome()]), Genomes.of([genome(), other])).each()) == {
        genome(tp=8, pp=4, dp=3),
        genome(bandwidth=8),
    }


def test_what_the_screen_turns_down_gets_a_second_decision() -> None:
    def fits(candidate: Genome) -> bool:
        design = GENOMES.design(candidate)
        return int(design["dp"]) <= 48 or bool(design["recompute"])

    def screen(candidates: Genomes) -> NDArray[np.bool_]:
        return np.array([fits(candidate) for candidate in candidates.each()], bool)

    breeder = Breeder(GENOMES, screen, Settings())
    elite = Elite(8)
    elite.add(genome(), (1.0, 1.0), 0.0)
    elite.sort()
    litter = Litter(children=0, others=0, swept=1)
    children = breeder.children(
        elite, litter, lambda keys: np.zeros(len(keys), bool), np.random.default_rng(0)
    ).each()
    assert genome(tp=1, dp=96, recompute=True) in children
    assert genome(tp=1, dp=96) not in children
    assert all(map(fits, children))


def test_the_end_of_an_exact_objective_is_searched_too_but_less() -> None:
    first, last, between = genome(bandwidth=8), genome(bandwidth=1), genome()
    promise = np.array([[0.0, 1.0], [1.0, 0.0], [0.01, 0.01]])
    waiting = Genomes.of([first, last, between])
    pool = Pool(waiting, Archive(), None, 0, promise)
    random = Random(0)
    chosen = [
        pool.best(lambda one: True, drawn_weights(2, [0], random), hopeful=True)
        for _ in range(1000)
    ]
    assert 350 < chosen.count(first) < 450
    assert 70 < chosen.count(last) < 140
