"""What a bounded memory keeps and lets go."""

from dataclasses import dataclass
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simcore.memo import SMALL_BYTES, Key, Memo, key_of, key_of_one


@dataclass
class Block:
    size_bytes: int


def fresh() -> Block:
    return Block(0)


def test_the_answer_unused_the_longest_goes_first() -> None:
    memo = Memo(2 * SMALL_BYTES)
    memo.put("step", "a", "first")
    memo.put("step", "b", "second")
    assert memo.of("step", "a", lambda: "anew") == "first"
    memo.put("step", "c", "third")
    assert memo.of("step", "a", lambda: "anew") == "first"
    assert memo.of("step", "b", lambda: "anew") == "anew"


def test_a_kept_answer_is_not_made_again_even_if_there_is_none() -> None:
    memo, made = Memo(), list[int]()
    for _ in range(3):
        assert memo.of("step", "a", lambda: made.append(1)) is None
    assert made == [1]


def test_steps_do_not_share_their_keys() -> None:
    memo = Memo()
    memo.put("one", "a", 1)
    assert memo.of("other", "a", lambda: 2) == 2
    assert memo.of("one", "a", lambda: 3) == 1


def test_the_last_answer_is_kept_even_if_it_takes_more_than_the_limit() -> None:
    memo = Memo(10)
    small, large = Block(4), Block(40)
    memo.put("step", "small", small)
    memo.put("step", "large", large)
    assert memo.of("step", "large", fresh) is large
    assert memo.of("step", "small", fresh) is not small


def test_what_is_put_again_is_weighed_anew() -> None:
    memo, first, second = Memo(10), Block(4), Block(4)
    memo.put("step", "a", first)
    memo.put("step", "b", second)
    second.size_bytes = 8
    memo.put("step", "b", second)
    assert memo.of("step", "a", fresh) is not first


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 12)), max_size=40))
def test_all_but_the_last_take_no_more_than_the_limit(puts: list[tuple[int, int]]) -> None:
    memo, blocks = Memo(20), dict[int, Block]()
    for key, size in puts:
        blocks[key] = memo.put("step", key, Block(size))
    kept = [key for key, block in blocks.items() if memo.of("step", key, fresh) is block]
    assert sum(blocks[key].size_bytes for key in kept) <= 20 or len(kept) == 1


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=12))
def test_keys_are_equal_where_their_parts_are(pairs: list[tuple[int, int]]) -> None:
    memo = Memo()
    for pair in pairs:
        assert key_of(*pair) == Key(*pair)
        assert (key_of(*pair) == Key(0, 0)) == (pair == (0, 0))
        assert memo.of("pairs", key_of(*pair), partial(tuple, pair)) == pair


def test_a_thing_that_is_in_a_new_place_has_a_new_key() -> None:
    one, other = frozenset({1}), frozenset({2})
    assert key_of(one, other) is key_of(one, other)
    assert key_of(other, one) != key_of(one, other)
    assert Key(1) != 1


class Counted:
    """A thing that counts how often it is hashed."""

    def __init__(self, value: int) -> None:
        self.value, self.hashed = value, 0

    def __hash__(self) -> int:
        self.hashed += 1
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counted) and self.value == other.value


def test_things_that_were_asked_for_last_are_not_hashed_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("simcore.memo._ones", {})  # what other tests asked for last takes no part
    things = [Counted(1), Counted(2)]
    keys = [key_of_one(thing) for _ in range(3) for thing in things]
    assert [thing.hashed for thing in things] == [1, 1]
    assert keys[0] == keys[2] == Key(Counted(1)) != keys[1]
    # many others in between, one after the other at the same place in memory
    others = [key_of_one(Counted(value)).parts[0] for value in range(100)]
    assert [other.value for other in others if isinstance(other, Counted)] == [*range(100)]
    assert key_of_one(things[0]) == keys[0]
