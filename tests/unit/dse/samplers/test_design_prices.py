"""What the design search makes of prices and proofs that it is given."""

from random import Random

import numpy as np
from numpy.typing import NDArray

from dse.samplers.base import Prices
from dse.samplers.design import DesignSearch, Genome, Genomes, GenomeSpace
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.columns.sweeps import around
from dse.samplers.design.elite import Elite
from dse.samplers.design.model.aims import TimeAlone
from dse.space import Design, RunFacts, SpaceFile, build_space

FILE = {
    "products": [{"of": ["tp", "pp", "dp"], "equals": 96}],
    "axes": {
        "bandwidth": {"ladder": [1, 2, 4, 8]},
        "stages": {"choices": [1, 2, 4]},
        "kind": {"choices": ["ring", "switch"]},
    },
    "require": ["stages == 1 or pp > 1"],
}
GENOMES = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=96, fixed={}))
)


def amounts(design: Design) -> tuple[float, ...] | None:
    bandwidth = float(design["bandwidth"])
    return None if bandwidth > 4 else (1.0, 100.0 * bandwidth, 10.0 * bandwidth)


PRICES = Prices(powers=(1, 0, 1), amounts=amounts, deciding=frozenset({"bandwidth"}))


def values(genome: Genome) -> list[float]:
    design = GENOMES.design(genome)
    time = float(design["pp"]) / float(design["stages"]) + 20.0 / float(design["bandwidth"])
    own = amounts(design)
    assert own is not None
    return [amount * time**power for amount, power in zip(own, PRICES.powers, strict=True)]


def asked(search: DesignSearch, trials: int) -> list[Genome]:
    result = []
    for _ in range(trials):
        genome = search.ask()
        assert genome is not None
        result.append(genome)
        search.tell(genome, values(genome), 0.0)
    return result


def affordable() -> list[Genome]:
    random = Random(2)
    drawn = {GENOMES.draw(random) for _ in range(200)}
    return [genome for genome in sorted(drawn) if amounts(GENOMES.design(genome)) is not None]


def test_objectives_follow_from_prices_and_times() -> None:
    aims, genomes = TimeAlone(GENOMES, PRICES), affordable()
    logs = np.log([values(genome) for genome in genomes])
    columns = Genomes.of(genomes)
    times = aims.targets(columns, logs)
    assert times.shape == (len(genomes), 1)
    np.testing.assert_allclose(np.exp(times[:, 0]), [values(genome)[0] for genome in genomes])
    np.testing.assert_allclose(aims.values(columns, times), logs)
    assert list(aims.searched(3)) == [0, 2]


def test_a_machine_over_a_limit_on_price_is_never_proposed() -> None:
    for genome in asked(DesignSearch(GENOMES, seed=0, prices=PRICES), 120):
        assert GENOMES.design(genome)["bandwidth"] in (1, 2, 4)


def test_what_is_proven_to_be_of_no_use_is_left_aside_while_there_is_something_else() -> None:
    def is_hopeful(genome: Genome) -> bool:
        return GENOMES.design(genome)["kind"] == "ring"

    class Rings:
        """Beats all that is no ring."""

        state = 0

        def of(self, genomes: Genomes, since: int) -> NDArray[np.float64]:
            rings = [is_hopeful(genome) for genome in genomes.each()]
            return np.where(np.array(rings)[:, None], [-np.inf] * 3, np.inf)

        def closest(self, genomes: Genomes) -> NDArray[np.float64]:
            return self.of(genomes, 0)

        def plans(self, genomes: Genomes) -> NDArray[np.int64]:
            return np.arange(len(genomes))

        def are_left(self, least: NDArray[np.float64]) -> NDArray[np.bool_]:
            return np.asarray(least[:, 0] < np.inf)

    plain = asked(DesignSearch(GENOMES, seed=0, prices=PRICES), 60)
    led = asked(DesignSearch(GENOMES, seed=0, prices=PRICES, hopes=Rings()), 60)
    assert sum(map(is_hopeful, led)) > 45
    assert sum(map(is_hopeful, plain)) < 35


def test_a_knob_gives_way_where_a_move_would_break_a_rule() -> None:
    near = Neighbourhood(GENOMES)
    design = {"tp": 1, "pp": 2, "dp": 48, "stages": 4, "bandwidth": 1, "kind": "ring"}
    start = GENOMES.genome(design)
    assert start is not None
    found = [GENOMES.design(genome) for genome in around(near, Genomes.of([start])).each()]
    assert {**design, "pp": 1, "dp": 96, "stages": 1} in found
    assert {**design, "bandwidth": 2} in found
    assert {**design, "kind": "switch"} in found
    assert len({tuple(sorted(other.items(), key=str)) for other in found}) == len(found)


def test_feasible_designs_come_before_all_others_however_many_fronts_there_are() -> None:
    elite, random = Elite(400), Random(0)
    genomes = sorted({GENOMES.draw(random) for _ in range(2000)})[:201]
    for number, genome in enumerate(genomes[:200]):
        elite.add(genome, (float(number), float(number)), 0.0)  # a front of its own each
    elite.add(genomes[200], (-1.0, -1.0), 0.5)
    elite.sort()
    assert elite.feasible == 200
    assert elite.best(201).each() == genomes


def test_parents_are_the_front_and_the_best_of_each_objective_that_differ() -> None:
    elite, random = Elite(50), Random(0)
    genomes = sorted({GENOMES.draw(random) for _ in range(60)})[:12]
    points = [(1.0, 9.0), (9.0, 1.0), (1.0, 9.0001), (1.0, 20.0), (1.1, 30.0), (20.0, 1.1)]
    points += [(50.0 + number, 50.0 + number) for number in range(6)]
    for genome, point in zip(genomes, points, strict=True):
        elite.add(genome, point, 0.0)
    elite.sort()
    parents = elite.parents(4).each()
    assert set(parents[:2]) == {genomes[0], genomes[1]}
    assert set(parents) == {genomes[0], genomes[1], genomes[3], genomes[5]}
