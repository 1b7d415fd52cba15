"""What takes the place of a proposal that is of no use, and when a sampler is taken at its word."""

from typing import Any

import numpy as np
import pytest

from dse.samplers import mending, screened
from dse.samplers.base import Proposal, ProposerInput
from dse.samplers.design import Genome, Genomes, GenomeSpace
from dse.samplers.mending import USE, Mender
from dse.samplers.screened import ScreenedProposer
from dse.space import Design, RunFacts, SpaceFile, build_space

AXES = {name: {"ladder": [1, 2, 3, 4, 5]} for name in ("bandwidth[*]", "latency[*]", "share[*]")}
FACTS = RunFacts(dimensions=2, npus=12, fixed={})
SPACE = build_space(SpaceFile.model_validate({"axes": AXES}), FACTS)
GENOMES = GenomeSpace(SPACE)
MEANT: Genome = GENOMES.draw_many(1, np.random.default_rng(3)).each()[0]


class Sampler:
    """Means the same design each time; notes what it is told about."""

    def __init__(self) -> None:
        self.asked = 0
        self.overwritten: list[int] = []

    def ask(self) -> Proposal[int]:
        self.asked += 1
        return Proposal(design=GENOMES.design(MEANT), handle=self.asked)

    def propose(self, design: Design, instead: Proposal[int]) -> Proposal[int]:
        self.overwritten.append(instead.handle)
        return Proposal(design=design, handle=instead.handle)

    def tell(self, *given: Any) -> None:
        return


class Known:
    """What is known of designs: from how many knobs on they keep the rules, and may be of use."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, fits: int = 0, useful: int = 0) -> None:
        self._fits, self._useful = fits, useful
        self.since: list[int] = []
        monkeypatch.setattr(screened, "screen_of", lambda space, checks: self.admits)
        monkeypatch.setattr(mending, "_LOTS", 2)
        goals: Any = None
        hopes: Any = self
        what = ProposerInput(
            space=SPACE, goals=goals, seed=1, is_hopeful=self.is_hopeful, hopes=hopes
        )
        sampler: Any = Sampler()
        self.sampler, self.screen = sampler, ScreenedProposer(sampler, what)

    def admits(self, genomes: Genomes) -> Any:
        return np.array([apart(one) >= self._fits for one in genomes.each()], bool)

    def is_hopeful(self, design: Design) -> bool:
        return apart(genome_of(design)) >= self._useful

    def of(self, genomes: Genomes, since: int) -> Any:
        self.since.append(since)
        return np.ones(len(genomes), bool)

    def are_left(self, least: Any) -> Any:
        return least

    def mender(self) -> Mender:
        hopes: Any = self
        return Mender(GENOMES, self.admits, self.is_hopeful, hopes, 1)


def genome_of(design: Design) -> Genome:
    found = GENOMES.genome(design)
    assert found is not None
    return found


def apart(one: Genome) -> int:
    """Knobs in which a design differs from the one that is meant."""
    return sum(a != b for a, b in zip(one.codes, MEANT.codes, strict=True))


NEVER = 99


@pytest.mark.parametrize(
    ("fits", "useful", "expected"),
    [
        (0, 0, 0),
        (2, 0, 2),
        (0, 2, 2),
        (1, 2, 2),
        (2, NEVER, 2),  # beaten for all that is known, but it may be feasible
        (0, NEVER, 0),  # as the sampler meant it: others are beaten too
        (NEVER, 0, 0),  # others break a rule too
        (NEVER, NEVER, 0),
    ],
)
def test_a_proposal_of_no_use_gives_way_to_the_nearest_that_is_better(
    fits: int, useful: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = Known(monkeypatch, fits=fits, useful=useful)
    found = known.screen.ask()
    assert found is not None
    assert apart(genome_of(found.design)) == expected
    assert found.handle == known.sampler.asked == 1
    assert known.sampler.overwritten == ([1] if expected else [])


@pytest.mark.parametrize(
    ("fits", "useful", "expected"), [(0, 0, 1), (2, 0, 2), (2, 3, 3), (2, NEVER, 2), (NEVER, 0, 1)]
)
def test_in_place_of_a_known_design_comes_the_best_that_there_is(
    fits: int, useful: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = Known(monkeypatch, fits=fits, useful=useful).screen
    given = Proposal(design=GENOMES.design(MEANT), handle=1)
    found = screen.vary(given, lambda design: apart(genome_of(design)) > 0)
    assert found is not None
    assert apart(genome_of(found.design)) == expected


def test_in_place_of_a_mended_design_comes_what_is_nearest_to_the_one_that_was_meant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Known(monkeypatch, fits=2)
    mended = known.screen.ask()
    assert mended is not None

    def is_new(design: Design) -> bool:
        return design != mended.design

    near = known.mender().mended(GENOMES.design(MEANT), is_new, USE[0])
    assert near != known.mender().mended(mended.design, is_new, USE[0]), "so that it can fail"
    varied = known.screen.vary(mended, is_new)
    assert varied is not None
    assert varied.design == near
    other = Proposal(design=mended.design, handle=mended.handle + 1)
    varied = known.screen.vary(other, is_new)
    assert varied is not None
    assert varied.design != near, "what was meant by another trial says nothing of this one"


def test_what_is_known_of_a_design_may_depend_on_the_outcomes_so_far(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Known(monkeypatch, fits=1)
    for told in range(3):
        proposal = known.screen.ask()
        assert proposal is not None
        assert set(known.since) == {told}
        known.since.clear()
        known.screen.tell(proposal, {}, 0.0)
