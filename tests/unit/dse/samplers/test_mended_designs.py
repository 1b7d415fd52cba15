"""Designs near one that is of no use: their order, and which of them comes in its place."""

from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dse.samplers import mending, nearest_designs
from dse.samplers.design import Genome, Genomes, GenomeSpace
from dse.samplers.mending import USE, Mender, Wants
from dse.samplers.nearest_designs import NearestDesigns
from dse.space import Design, RunFacts, SpaceFile, build_space

FILE = {
    "products": [
        {"of": ["tp", "pp", "dp"], "equals": 12},
        {"of": ["platform.dimensions[*].npus"], "equals": 12, "dimensions": [2, 3]},
    ],
    "axes": {
        "bandwidth[*]": {"ladder": [1, 2, 4, 9, 11]},
        "kind[*]": {"choices": ["ring", "switch", "mesh"]},
        "share": {"low": 0.1, "high": 10.0, "log": True},
        "stages": {"ladder": [1, 2, 4], "when": "pp > 1"},
    },
    "require": ["12 % pp == 0"],
}
FACTS = RunFacts(dimensions=3, npus=12, fixed={})
SPACE = GenomeSpace(build_space(SpaceFile.model_validate(FILE), FACTS))
NAMES = [knob.name for knob in SPACE.knobs]
MEANT = [
    genome
    for count in (2, 3)
    for genome in SPACE.draw_many(40, np.random.default_rng(3)).each()
    if genome.dimensions == count
][::8]


def distance(one: Genome, other: Genome) -> tuple[int, float]:
    """Knobs in which designs differ, and steps between: of words, and of no meaning, one each."""
    knobs, steps = 0, 0.0
    for name, a, b in zip(NAMES, one.codes, other.codes, strict=True):
        knobs += a != b
        is_word = name.startswith("kind") or min(a, b) < 0
        steps += float(a != b) if is_word else abs(a - b)
    return knobs, steps


def near(meant: Genome) -> set[Genome]:
    """All designs in which one block of knobs differs, or two do."""
    rows = [span.block.tables[meant.dimensions].tolist() for span in SPACE.spans]
    found = set[Genome]()
    for pair in combinations(range(len(rows)), 2):
        for first in rows[pair[0]]:
            for second in rows[pair[1]]:
                codes = list(meant.codes)
                for number, row in zip(pair, (first, second), strict=True):
                    codes[SPACE.spans[number].first : SPACE.spans[number].end] = row
                found.add(meant._replace(codes=tuple(codes)))
    return found - {meant}


@pytest.mark.parametrize("meant", MEANT)
def test_near_designs_come_once_each_in_the_order_of_knobs_and_steps(meant: Genome) -> None:
    lots = list(NearestDesigns(SPACE).lots(meant))
    found = [genome for lot in lots for genome in lot.each()]
    assert max(map(len, lots)) <= 256
    assert len(found) == len(set(found))
    assert set(found) == near(meant)
    apart = [distance(genome, meant) for genome in found]
    assert all(before <= after for before, after in pairwise(apart))


def test_of_many_rows_of_a_block_the_nearest_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nearest_designs, "_OF_ONE", 3)
    monkeypatch.setattr(nearest_designs, "_OF_TWO", 0)
    for meant in MEANT:
        found = {one for lot in NearestDesigns(SPACE).lots(meant) for one in lot.each()}
        for span in SPACE.spans:
            rows = span.block.tables[meant.dimensions].tolist()
            codes = [(*meant.codes[: span.first], *row, *meant.codes[span.end :]) for row in rows]
            own = {meant._replace(codes=one) for one in codes} - {meant}
            apart = sorted(distance(one, meant) for one in own)
            assert sorted(distance(one, meant) for one in own & found) == apart[:3]


class Picky:
    """What is asked about designs, and the answers; notes what was asked."""

    def __init__(self, *, admits: Any = None, left: Any = None, new: Any = None, hope: Any = None):
        self._admits, self._left, self._new, self._hope = admits, left, new, hope
        self.told, self.asked = list[int](), list[Design]()

    def admits(self, genomes: Genomes) -> NDArray[np.bool_]:
        return np.array([not self._admits or self._admits(g) for g in genomes.each()], bool)

    def of(self, genomes: Genomes, since: int) -> Any:
        self.told.append(since)
        return np.array([not self._left or self._left(g) for g in genomes.each()], bool)

    def are_left(self, least: Any) -> Any:
        return least

    def is_new(self, design: Design) -> bool:
        self.asked.append(design)
        return not self._new or bool(self._new(self.genome(design)))

    def is_hopeful(self, design: Design) -> bool:
        return not self._hope or bool(self._hope(self.genome(design)))

    def genome(self, design: Design) -> Genome:
        found = SPACE.genome(design)
        assert found is not None
        return found

    def mender(self, seed: int = 1) -> Mender:
        hopes: Any = self
        return Mender(SPACE, self.admits, self.is_hopeful, hopes, seed)

    def mended(self, mender: Mender, meant: Genome, wants: Wants) -> Genome | None:
        found = mender.mended(SPACE.design(meant), self.is_new, wants)
        return None if found is None else self.genome(found)


def far(least: int) -> Any:
    return lambda genome: distance(genome, MEANT[0])[0] >= least


@pytest.mark.parametrize("wants", USE)
@pytest.mark.parametrize("rule", ["admits", "left", "hope", "new"])
def test_each_rule_counts_where_it_is_wanted_and_only_there(rule: str, wants: Wants) -> None:
    picky = Picky(**{rule: far(3)})
    mender = picky.mender()
    mender.told = 17
    found = picky.mended(mender, MEANT[0], wants)
    assert found is not None
    counts = {"admits": wants.admitted, "left": wants.hopeful, "hope": wants.hopeful, "new": True}
    assert distance(found, MEANT[0])[0] == (3 if counts[rule] else 1)
    assert set(picky.told) == ({17} if wants.hopeful else set())
    assert picky.mended(mender, MEANT[0], wants) == found, "what was found may be found again"


def test_what_is_known_is_asked_about_once() -> None:
    picky = Picky(new=far(3))
    mender = picky.mender()
    for _ in range(2):
        picky.mended(mender, MEANT[0], USE[2])
    known = [str(d) for d in picky.asked if distance(picky.genome(d), MEANT[0])[0] < 3]
    assert len(known) == len(set(known)) > 10


def test_the_nearest_of_drawn_designs_takes_back_all_that_it_can(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mending, "_NEAR", 0)
    meant, number = MEANT[0], NAMES.index("bandwidth[0]")
    other = Picky(admits=lambda genome: genome.codes[number] != meant.codes[number])
    for seed in range(3):
        found = other.mended(other.mender(seed), meant, USE[0])
        assert found is not None
        assert found.dimensions != meant.dimensions or distance(found, meant)[0] == 1
        assert SPACE.is_valid(found)
    monkeypatch.setattr(Mender, "_nearer", lambda self, found, *given: found)
    for seed in range(3):
        first = SPACE.settle(SPACE.draw_many(256, np.random.default_rng([seed, 2]))).each()
        able = [one for one in first if one.codes[number] != meant.codes[number]]
        drawn = other.mended(other.mender(seed), meant, USE[0])
        assert drawn in able
        differing = [sum(a != b for a, b in zip(g.codes, meant.codes, strict=True)) for g in able]
        assert sum(a != b for a, b in zip(drawn.codes, meant.codes, strict=True)) == min(differing)


def test_where_no_design_is_of_use_none_is_found() -> None:
    for rule in ("admits", "left", "hope", "new"):
        picky = Picky(**{rule: lambda genome: False})
        assert picky.mended(picky.mender(), MEANT[0], USE[0]) is None
