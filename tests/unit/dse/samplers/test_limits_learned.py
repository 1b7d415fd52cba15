"""By how much designs break a limit, or stay below it, teaches which others will."""

from random import Random

import numpy as np

from dse.objectives import total_violation
from dse.samplers.design import DesignSearch, Genome, GenomeSpace
from dse.samplers.design.model.features import Features
from dse.samplers.design.model.limits import Limits
from dse.samplers.design.whole import every_genome
from dse.space import RunFacts, SpaceFile, build_space

FILE = {
    "products": [{"of": ["tp", "pp", "dp"], "equals": 4096}],
    "axes": {
        "rate": {"ladder": list(range(1, 25))},
        "breadth": {"ladder": list(range(1, 25))},
    },
}
SPACE = GenomeSpace(
    build_space(SpaceFile.model_validate(FILE), RunFacts(dimensions=0, npus=4096, fixed={}))
)


def answer(genome: Genome) -> tuple[float, float]:
    """What a design costs, and by how much its links are overloaded: the least cost has none."""
    design = SPACE.design(genome)
    tp, dp, one, two = (int(design[name]) for name in ("tp", "dp", "rate", "breadth"))
    load = max(8.0 * tp / one, 0.2 * dp / two)
    return one + 2.0 * two + 0.1 * abs(tp - 2 * dp), load / 10.0 - 1.0


def test_a_limit_is_learned_from_designs_on_both_sides_of_it() -> None:
    rng = np.random.default_rng(0)
    drawn = SPACE.draw_many(600, rng).distinct()
    excess = np.array([answer(genome)[1] for genome in drawn.each()])
    near = np.flatnonzero(excess < 3.0)
    known, others = near[:160], near[160:]
    broken, kept = known[excess[known] > 0], known[excess[known] <= 0]
    features = Features(SPACE)
    limits = Limits(features)
    for at in broken.tolist():
        limits.note(drawn.one(at), float(excess[at]))
    assert limits.likely(features.of(drawn)) is None
    limits.learn(drawn.at(kept), excess[kept].tolist(), 20, Random(0))
    likely = limits.likely(features.of(drawn.at(others)))
    assert likely is not None
    assert ((likely > 0.5) == (excess[others] > 0)).mean() > 0.85
    assert (excess[others][likely < 0.02] <= 0).mean() > 0.95
    limits.forget()
    assert limits.likely(features.of(drawn)) is None


def broken_and_best(seed: int, trials: int, *, is_graded: bool) -> tuple[int, float]:
    """Designs of the last half that break the limit, and the least cost of those that keep it."""
    search, found = DesignSearch(SPACE, seed=seed), list[tuple[float, float]]()
    for _ in range(trials):
        genome = search.ask()
        assert genome is not None
        cost, excess = answer(genome)
        found.append((cost, excess))
        told = None if excess > 0 and not is_graded else [cost]
        search.tell(genome, told, excess if is_graded or excess <= 0 else 1.0)
    kept = [cost for cost, excess in found if excess <= 0]
    return sum(excess > 0 for _, excess in found[trials // 2 :]), min(kept)


def test_designs_that_break_a_limit_are_asked_for_less_and_the_best_lies_beside_it() -> None:
    every = [answer(genome) for genome in every_genome(SPACE).each()]
    least = min(cost for cost, excess in every if excess <= 0)
    for seed in range(3):
        broken, best = broken_and_best(seed, 200, is_graded=True)
        assert broken < 60  # of 100
        assert best <= 1.1 * least


def test_the_violation_of_a_feasible_design_tells_how_close_it_comes() -> None:
    assert total_violation({"a": 0.5, "b": 0.25, "c": -1.0}) == 0.75
    assert total_violation({"a": -0.5, "b": -0.25}) == -0.25
    assert total_violation({}) == 0.0
