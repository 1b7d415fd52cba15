"""Rounds of islands whose shares differ: numbers stay whole, and all come to do as much."""

import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dse.run.islands.dealing import Dealing
from dse.run.islands.island import AHEAD
from dse.run.islands.rounds import Rounds


@st.composite
def dealt(draw: st.DrawFn) -> Rounds:
    """Rounds, some of which are settled with shares that differ."""
    rounds = Rounds(islands=draw(st.integers(1, 5)), length=draw(st.integers(2, 9)))
    for turn in range(draw(st.integers(0, 6))):
        shares = list(rounds.shares(turn))
        for one in range(0, rounds.islands - 1, 2):
            moved = draw(st.integers(0, shares[one] - 1))
            shares[one], shares[one + 1] = shares[one] - moved, shares[one + 1] + moved
        rounds.settle(turn, shares)
    return rounds


@given(dealt(), st.integers(0, 120))
def test_every_trial_is_one_island_s_and_more_trials_change_no_number(
    rounds: Rounds, limit: int
) -> None:
    turns = range(limit // rounds.size(0) + 1)
    found = {
        rounds.number(island, rounds.first(island, turn) + place): (turn, island)
        for turn in turns
        for island in range(rounds.islands)
        for place in range(rounds.share(island, turn, limit))
    }
    assert sorted(found) == list(range(limit))
    for turn in turns:
        for number, island in enumerate(rounds.owners(turn), rounds.begin(turn)):
            assert number >= limit or found[number] == (turn, island)


@given(dealt())
def test_a_round_is_found_by_its_trials_and_proposed_to_its_end_at_most(rounds: Rounds) -> None:
    for island in range(rounds.islands):
        for own in range(rounds.first(island, 8)):
            turn = rounds.turn(island, own)
            assert rounds.first(island, turn) <= own < rounds.first(island, turn + 1)
            assert own < rounds.proposed(island, own) <= rounds.first(island, turn + 1)


def lived(
    islands: int, made: Callable[[int, random.Random], bool], turns: int = 24
) -> tuple[Rounds, list[float]]:
    """Rounds that islands have been dealt, and what each had to do; *made*: what is evaluated."""
    rounds, luck = Rounds(islands=islands, length=16, grows=True), random.Random(0)
    dealing, work = Dealing(rounds), [0.0] * islands
    for turn in range(turns):
        are_cheap = []
        for island in rounds.owners(turn).tolist():
            are_cheap.append(not made(island, luck))
            work[island] += 1.0 if are_cheap[-1] else 5.0
        dealing.conclude(turn, np.array(are_cheap))
    return rounds, work


@pytest.mark.parametrize("islands", [2, 3, 16])
def test_islands_that_evaluate_more_get_fewer_trials_until_all_do_as_much(islands: int) -> None:
    def made(island: int, luck: random.Random) -> bool:
        return luck.random() < 0.3 + 0.2 * island / (islands - 1)

    rounds, work = lived(islands, made, turns=45)
    assert max(work) < 1.08 * min(work)  # by luck in the last rounds; 1.36 where all make as many
    shares = [rounds.first(island, 45) for island in range(islands)]
    assert shares[0] > 1.2 * shares[-1], "so that it can fail"


def test_a_round_is_settled_by_those_that_islands_hear_of_before_it_alone() -> None:
    def alike(island: int, luck: random.Random) -> bool:
        return False

    def unlike_late(island: int, luck: random.Random) -> bool:
        drawn.append(island)
        return island == 0 and len(drawn) > rounds.begin(22)

    drawn: list[int] = []
    rounds = Rounds(islands=2, length=16, grows=True)
    before, _ = lived(2, alike)
    after, _ = lived(2, unlike_late)
    assert [after.shares(turn) for turn in range(23 + AHEAD)] == [
        before.shares(turn) for turn in range(23 + AHEAD)
    ]
    assert after.shares(23 + AHEAD) != before.shares(23 + AHEAD), "so that it can fail"


def test_no_island_is_left_without_a_good_part_of_a_round() -> None:
    rounds, _ = lived(4, lambda island, luck: island == 0)
    for turn in range(rounds.settled):
        mean = rounds.size(turn) / 4
        assert min(rounds.shares(turn)) > mean / 3 - 1
        assert max(rounds.shares(turn)) < 1.9 * mean


def test_short_rounds_are_dealt_evenly() -> None:
    rounds, _ = lived(2, lambda island, luck: island == 0)
    assert {len(set(rounds.shares(turn))) for turn in range(18)} == {1}
    assert len(set(rounds.shares(rounds.settled - 1))) == 2, "so that it can fail"


def test_an_island_that_evaluates_less_is_dealt_more() -> None:
    found = []
    for cheap in ((), (0,), (0, 1)):
        rounds = Rounds(islands=2, length=2, grows=True)
        dealing = Dealing(rounds)
        for turn in range(180):
            dealing.conclude(turn, np.isin(rounds.owners(turn), cheap))
        found.append(rounds.shares(rounds.settled - 1))
    assert found[0][0] == found[0][1]
    assert found[1][0] > found[1][1]
    assert found[2][0] == found[2][1]
