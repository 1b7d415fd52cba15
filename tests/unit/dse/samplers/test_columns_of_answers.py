"""What is asked of many designs at once is what each of them would be told."""

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest

from dse.objectives import Aggregate, Goals, Limit, Objective, Scenario
from dse.proof.least import LeastColumns, least_metrics, least_objectives
from dse.rank.pareto import Front, beaten
from dse.run.stage import with_workers
from dse.samplers.design import Genomes, GenomeSpace
from dse.samplers.design.archive import Archive
from dse.samplers.design.screen import screen_of
from dse.samplers.design.settings import Settings
from dse.space import Check, RunFacts, SpaceFile, build_space
from dse.study.compile import load_study_file
from simcore import InfeasibleError, rare_collection

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("terms", [0, 1, 2, 3])
def test_the_best_design_is_the_first_of_the_least_value_that_nobody_knows(terms: int) -> None:
    archive, designs = Archive(), 200
    keys = RNG.permutation(10_000)[:designs] + 1
    archive.add(keys[:50])
    archive.forget(int(keys[3]))
    promise = np.round(RNG.random((terms, designs)), 1)  # with equal values
    weights = RNG.random(terms)
    opened, left = np.ones(designs, bool), RNG.random(designs) < 0.5
    value = np.arange(designs, dtype=float)
    if terms:
        weighted = promise * weights[:, None]
        value = weighted.max(axis=0) + 0.05 * weighted.sum(axis=0)
    able = left & ~archive.knows(keys)
    value[~able] = inf
    found = archive.best(keys, opened, left, (promise, weights, 0.05))
    assert found == int(value.argmin())
    assert not (~opened & ~archive.knows(keys)).any()  # only what is known was closed
    assert archive.best(keys, opened, np.zeros(designs, bool), (promise, weights, 0.05)) == -1


def test_what_a_front_beats_is_what_it_would_turn_down_as_new() -> None:
    points = RNG.integers(0, 6, (30, 3)).astype(float)
    others = RNG.integers(0, 6, (200, 3)).astype(float)
    expected = [
        any((p <= o).all() and (p < o).any() for p in points)
        for o in others
    ]  # fmt: skip
    assert beaten(points, others).tolist() == expected
    front: Front[int] = Front()
    for at, point in enumerate(points):
        was = any((kept <= point).all() for kept in front.points) if front.kept else False
        assert front.add(at, point.tolist()) is not was


def test_a_screen_knows_what_a_range_decides_of_each_batch_anew() -> None:
    axes = {"share": {"low": 0.0, "high": 1.0}, "count": {"choices": [1, 2, 3]}}
    file = SpaceFile.model_validate({"axes": axes})
    space = GenomeSpace(build_space(file, RunFacts(dimensions=0, npus=None, fixed={})))
    admits = screen_of(
        space,
        [
            Check(holds=lambda design: float(design["share"]) < 0.5, deciding=frozenset({"share"})),
            Check(holds=lambda design: design["count"] != 2, deciding=frozenset({"count"})),
        ],
    )
    for _ in range(20):  # batches of one size: none may get the answers of the one before
        found = space.draw_many(4, RNG)
        designs = [space.design(genome) for genome in found.each()]
        expected = [float(design["share"]) < 0.5 and design["count"] != 2 for design in designs]
        assert admits(found).tolist() == expected


def test_rows_of_blocks_are_those_of_each_design_whatever_its_dimensions() -> None:
    space = GenomeSpace(load_study_file("llm_gpt.yaml").space)
    drawn = space.draw_many(300, RNG)
    alike = drawn.at(drawn.dimensions == drawn.dimensions[0])
    for genomes in (drawn, alike, drawn.at(slice(0))):
        expected = [space.rows(genome) for genome in genomes.each()]
        assert space.rows_of(genomes).tolist() == expected
    broken = Genomes(alike.dimensions, alike.codes.copy(), alike.reals)
    broken.codes[:, 0] = space.spans[0].block.tables[int(alike.dimensions[0])][:, 0].max() + 1
    assert (space.rows_of(broken)[:, 0] == -1).all()


def goals() -> Goals:
    """Two objectives, one a product, and two limits."""
    power = Objective(metrics=("power_w",), unit="W", label="power")
    return Goals(
        objectives={"iteration_time": "minimise", "capital_cost": "minimise"},
        limits=(
            Limit(name="power", metric=power, bound=0.6),
            Limit(name="enough", metric=power, bound=0.2, sense="at_least"),
        ),
    )


@pytest.mark.parametrize("kind", ["", "sum", "mean", "worst", "quantile"])
def test_columns_of_metrics_become_the_objectives_and_limits_of_each(kind: Any) -> None:
    wanted, endings = goals(), [""]
    if kind:
        scenarios = Scenario(name="one", weight=0.3), Scenario(name="two", weight=0.7)
        wanted = replace(wanted, scenarios=scenarios, aggregate=Aggregate(kind=kind, share=0.5))
        endings = ["@one", "@two"]
    names = [n + e for n in ("iteration_time_s", "capital_cost_usd", "power_w") for e in endings]
    columns = {name: RNG.random(50) for name in names}
    rows = [{name: float(columns[name][at]) for name in names} for at in range(50)]
    none = np.zeros(50, bool)
    least = LeastColumns(columns=columns, has_none=none, unknown=none)
    assert least.objectives(wanted).tolist() == [[*wanted.values(r).values()] for r in rows]
    exceeded = [any(excess > 0 for excess in wanted.violations(row).values()) for row in rows]
    assert least.exceed(wanted).tolist() == exceeded
    assert 0 < sum(exceeded) < 50
    assert not least.exceed(replace(wanted, limits=())).any()


@pytest.mark.parametrize("name", ["p5_vit22b_64.yaml", "llama3_70b_accelerators.yaml"])
def test_least_metrics_of_many_designs_are_those_of_each(name: str) -> None:
    study = load_study_file(name)  # one accelerator; several of unlike memory
    dimensions = next(iter(study.space.dimensions))
    known = least_metrics(study, dimensions)
    sizes = [block.rows(dimensions) for block in study.space.blocks]
    rows = RNG.integers(0, sizes, (60, len(sizes))).astype(np.int32)
    for closer in (False, True):
        columns = known.columns(rows, closer=closer)
        for at in range(len(rows)):
            alone = known.metrics(rows[at : at + 1], closer=closer)
            assert columns.has_none[at] == isinstance(alone, InfeasibleError)
            assert columns.unknown[at] == (alone is None)
            if isinstance(alone, dict):
                assert {name: own[at] for name, own in columns.columns.items()} == alone
    assert (~columns.unknown & ~columns.has_none).sum() > 5


@pytest.mark.parametrize(
    "objectives",
    [{"iteration_time": "minimise", "footprint": "minimise"}, {"iteration_time": "maximise"}],
)
def test_an_objective_without_a_bound_leaves_a_study_without_bounds(
    objectives: dict[str, Any],
) -> None:
    study = load_study_file("llm_gpt.yaml", {"search.screening": True})
    designs = [next(study.space.designs())]
    assert least_objectives(study, designs, closer=False) is not None
    study = replace(study, goals=replace(study.goals, objectives=objectives))
    assert least_objectives(study, designs, closer=False) is None


def test_lessons_grow_and_new_plans_get_fewer_once_much_is_known() -> None:
    settings, told, lessons, plans = Settings(), 0, [], []
    while told < 200_000:
        then = settings.next_lesson(told)
        lessons.append(then - told)
        plans.append(settings.new_plans(told, then - told))
        told = then
    assert set(lessons[:60]) == {16}
    assert lessons == sorted(lessons)
    assert lessons[-1] == 1024
    assert plans[:60] == [None] * 60
    met = [count for count in plans if count is not None]
    assert sum(met) == pytest.approx(8 * np.log2(200), abs=2)  # as many for each doubling
    assert sum(met[-100:]) < 10


def test_islands_learn_half_as_often_as_one_search_for_all_results() -> None:
    for islands, told in ((2, 1000), (4, 1000), (2, 8000)):
        own = Settings(searches=islands)
        lesson = Settings().next_lesson(islands * told) - islands * told
        of_all = islands * (own.next_lesson(told) - told)
        assert of_all == pytest.approx(2 * lesson, abs=16 * islands)
        assert own.drawn(told) == Settings().drawn(islands * told)
        assert own.sought(told) == Settings().sought(islands * told)
    assert Settings(searches=1000).next_lesson(100) == 116


def test_garbage_is_collected_as_before_once_a_study_has_ended() -> None:
    import gc

    before = gc.get_threshold()
    with rare_collection():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_the_bounds_of_a_study_are_those_of_the_same_with_its_workers_filled_in() -> None:
    study = load_study_file("p5_vit22b_64.yaml")
    dimensions = next(iter(study.space.dimensions))
    known = least_metrics(study, dimensions)
    assert least_metrics(with_workers(study, 3), dimensions) is known
    assert least_metrics(study.judged_at("congestion_unaware"), dimensions) is not known
    assert least_metrics(load_study_file("p5_vit22b_64.yaml"), dimensions) is not known
    run = {**study.file.run, "backend": "congestion_aware"}
    other = replace(study, file=study.file.model_copy(update={"run": run}))
    assert least_metrics(other, dimensions) is not known
