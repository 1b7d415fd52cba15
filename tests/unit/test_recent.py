"""What a bounded memory keeps and lets go."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from simcore.recent import Recent, in_bytes


@dataclass
class Block:
    size_bytes: int


def test_the_value_unused_the_longest_goes_first() -> None:
    known: Recent[str, int] = Recent(2)
    known.put("a", 1)
    known.put("b", 2)
    assert known.get("a") == 1
    known.put("c", 3)
    assert (known.get("a"), known.get("b"), known.get("c")) == (1, None, 3)


def test_a_kept_value_is_not_made_again() -> None:
    known: Recent[str, list[int]] = Recent(2)
    first = known.of("a", lambda: [1])
    assert known.of("a", lambda: [2]) is first


def test_the_last_value_is_kept_even_if_it_weighs_more_than_the_limit() -> None:
    known: Recent[str, Block] = Recent(10, in_bytes)
    known.put("small", Block(4))
    large = known.put("large", Block(40))
    assert known.get("small") is None
    assert known.get("large") is large


def test_a_value_that_grew_is_weighed_anew_when_it_is_put_again() -> None:
    known: Recent[str, Block] = Recent(10, in_bytes)
    known.put("a", Block(4))
    grown = known.put("b", Block(4))
    grown.size_bytes = 8
    known.put("b", grown)
    assert known.get("a") is None


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12)), max_size=40))
def test_all_but_the_last_weigh_no_more_than_the_limit(puts: list[tuple[int, int]]) -> None:
    known: Recent[int, Block] = Recent(20, in_bytes)
    for key, size in puts:
        known.put(key, Block(size))
        assert known.get(key) is not None
        kept = [found.size_bytes for other in range(6) if (found := known.get(other))]
        assert sum(kept) <= 20 or len(kept) == 1
