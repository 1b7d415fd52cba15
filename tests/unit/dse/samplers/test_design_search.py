"""The design search: valid, new, repeatable, and good on a problem with a known answer."""

from random import Random

import numpy as np
import optuna
import pytest
from numpy.typing import NDArray

from dse.samplers.design import DesignSearch, Genome, Genomes, GenomeSpace, Settings
from dse.samplers.design.columns.neighbourhood import Neighbourhood
from dse.samplers.design.model.surrogate import GaussianProcess, Root, in_blocks
from dse.samplers.design_sampler import DesignSampler
from dse.space import Encoding, RunFacts, Space, SpaceFile, build_space, design_key
from simcore import MOVES

FILE = {
    "products": [
        {"of": ["tp", "pp", "dp"], "equals": 96},
        {"of": ["platform.dimensions[*].npus"], "equals": 96, "dimensions": [2, 3]},
    ],
    "axes": {
        "bandwidth[*]": {"ladder": [1, 2, 4, 8]},
        "kind[*]": {"choices": ["ring", "switch"]},
        "share": {"low": 0.1, "high": 10.0, "log": True},
        "stages": {"choices": [1, 2, 4], "when": "pp > 1"},
    },
    "require": ["48 % pp == 0"],
}


def space() -> Space:
    setting = RunFacts(dimensions=3, npus=96, fixed={})
    return build_space(SpaceFile.model_validate(FILE), setting)


GENOMES = GenomeSpace(space())


def cost_and_time(genome: Genome) -> tuple[float, float]:
    design = GENOMES.design(genome)
    bandwidth = sum(float(v) for name, v in design.items() if name.startswith("bandwidth"))
    waiting = float(design["pp"]) + 3.0 * abs(float(design["share"]) - 1.0)
    return bandwidth + float(design["tp"]), waiting + 20.0 / bandwidth


def run(seed: int, trials: int, window: int = 4) -> list[Genome]:
    search = DesignSearch(GENOMES, seed=seed)
    asked: list[Genome] = []
    for number in range(trials):
        genome = search.ask()
        assert genome is not None
        asked.append(genome)
        if number >= window:
            search.tell(asked[number - window], cost_and_time(asked[number - window]), 0.0)
    return asked


def test_every_move_of_valid_designs_gives_valid_designs() -> None:
    near, rng = Neighbourhood(GENOMES), np.random.default_rng(3)
    names = {number: name for name, number in MOVES.items()}
    for move in near.tables.moves.tolist():
        parents = GENOMES.draw_many(300, rng)
        near.tables = near.tables._replace(moves=np.array([move]), shares=np.array([1.0]))
        children = near.moved_ones(parents, np.arange(300), rng)
        assert (children.keys() != parents.keys()).sum() > 20, names[move]
        assert GENOMES.are_valid(children).all(), names[move]


def test_what_becomes_of_a_design_depends_on_no_other_one() -> None:
    near, parents = Neighbourhood(GENOMES), GENOMES.draw_many(40, np.random.default_rng(0))
    whole = near.moved_ones(parents, np.arange(40), np.random.default_rng(1)).keys()
    part = near.moved_ones(parents, np.arange(7, 9), np.random.default_rng(1)).keys()
    assert part[7:9].tolist() == whole[7:9].tolist()
    assert part[9:].tolist() == parents.keys()[9:].tolist()
    many = near.children(parents, 50, 0.5, np.random.default_rng(2)).each()
    assert near.children(parents, 20, 0.5, np.random.default_rng(2)).each() == many[:20]


def test_a_design_survives_the_way_into_genes_and_back() -> None:
    random = Random(5)
    encodings = [Encoding(GENOMES.space, style) for style in ("index", "weights", "cuts")]
    for _ in range(100):
        genome = GENOMES.draw(random)
        design = GENOMES.design(genome)
        again = GENOMES.genome(design)
        assert again is not None
        assert again[:2] == genome[:2]
        assert again.reals == pytest.approx(genome.reals)
        for encoding in encodings:
            genes = encoding.values(genome.dimensions, GENOMES.rows(genome), design)
            assert encoding.design(genes) == design


def test_uniform_draws_visit_each_number_of_dimensions_by_its_share_of_designs() -> None:
    random = Random(1)
    found = [GENOMES.draw(random).dimensions for _ in range(4000)]
    sizes = {
        count: np.prod([block.rows(count) for block in GENOMES.space.blocks]) for count in (2, 3)
    }
    share = float(sizes[3] / (sizes[2] + sizes[3]))
    assert found.count(3) / 4000 == pytest.approx(share, abs=0.03)


def test_what_is_asked_is_valid_and_never_repeated() -> None:
    asked = run(0, 250)
    assert len(set(asked)) == 250
    assert all(GENOMES.is_valid(genome) for genome in asked)


def test_the_same_seed_asks_the_same_and_another_seed_something_else() -> None:
    assert run(1, 120) == run(1, 120)
    assert run(1, 120) != run(2, 120)


def test_the_search_beats_as_many_uniform_draws() -> None:
    random = Random(0)
    drawn = [sum(cost_and_time(GENOMES.draw(random))) for _ in range(250)]
    found = [sum(cost_and_time(genome)) for genome in run(0, 250)]
    assert min(found) < min(drawn)
    assert np.median(found[100:]) < np.quantile(drawn, 0.1)


def test_a_screen_is_never_passed_by_what_it_turns_down() -> None:
    def has_no_pipeline(genomes: Genomes) -> NDArray[np.bool_]:
        return np.array([GENOMES.design(genome)["pp"] == 1 for genome in genomes.each()], bool)

    search = DesignSearch(GENOMES, seed=0, screen=has_no_pipeline, settings=Settings(initial=10))
    for _ in range(60):
        genome = search.ask()
        assert genome is not None
        assert GENOMES.design(genome)["pp"] == 1
        search.tell(genome, cost_and_time(genome), 0.0)


def test_a_space_that_is_used_up_ends_the_search() -> None:
    file = SpaceFile.model_validate({"axes": {"a": {"choices": [1, 2, 3]}}})
    genomes = GenomeSpace(build_space(file, RunFacts(dimensions=0, npus=None, fixed={})))
    search = DesignSearch(genomes, seed=0)
    assert len({search.ask() for _ in range(3)}) == 3
    assert search.ask() is None


def test_designs_by_hand_are_asked_first() -> None:
    search, wanted = DesignSearch(GENOMES, seed=0), GENOMES.draw(Random(99))
    search.enqueue(wanted)
    assert search.ask() == wanted


@pytest.mark.parametrize("size", [5, 64, 65, 200])
def test_the_blocked_root_solves_as_the_plain_one(size: int) -> None:
    rng = np.random.default_rng(size)
    points = rng.random((size, 3))
    matrix = np.exp(-((points[:, None] - points[None]) ** 2).sum(-1)) + 0.01 * np.eye(size)
    blocks = -(-size // 64)
    padded = np.eye(64 * blocks)
    padded[:size, :size] = matrix
    root = Root(padded.reshape(blocks, 64, blocks, 64).transpose(0, 2, 1, 3).copy())
    right = rng.random((size, 2))
    solved = root.solve(in_blocks(right)).reshape(-1, 2)[:size]
    plain = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(plain @ solved, right, atol=1e-8)
    assert root.log_determinant == pytest.approx(np.log(np.diag(plain)).sum())


def test_the_model_knows_what_it_has_seen_and_doubts_what_lies_far_off() -> None:
    rng = np.random.default_rng(0)
    points = rng.random((80, 2))
    values = np.sin(5.0 * points[:, 0])
    model = GaussianProcess(np.arange(2))
    model.learn_scales(points, values, 40, Random(0))
    model.fit(points, values)
    mean, deviation = model.guess(points)
    np.testing.assert_allclose(mean, values, atol=0.02)
    _, far = model.guess(points + 50.0)
    assert far.min() > 5.0 * deviation.max()
    mean, _ = model.guess(rng.random((50, 2)) * [0.0, 1.0] + [0.5, 0.0])
    np.testing.assert_allclose(mean, np.sin(2.5), atol=0.1)


def test_anyone_s_optuna_study_can_use_the_search() -> None:
    sampler = DesignSampler(space(), seed=1)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    seen = []

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        design = sampler.design(trial)
        seen.append(design_key(design))
        return float(design["tp"]), float(design["dp"])

    study.optimize(objective, n_trials=120)
    assert len(set(seen)) == 120
    assert (1.0, 96.0) in [tuple(trial.values) for trial in study.best_trials]
