"""Spaces in which few of many combinations are valid are listed without forming them all."""

import tracemalloc
from itertools import product

import pytest

from dse.space import RunFacts, SpaceFile, build_space
from dse.space.space import Space
from simcore import ConfigError

VALUES = list(range(1, 48))


def space(knobs: str, rule: str, values: list[int] = VALUES) -> Space:
    axes = {name: {"choices": values} for name in knobs}
    file = SpaceFile.from_file_data({"axes": axes, "require": [rule]}, at="space")
    return build_space(file, RunFacts(dimensions=0, npus=None, fixed={}))


def test_millions_of_combinations_leave_some_thousands() -> None:
    tracemalloc.start()
    found = space("abcd", "a * b * c * d == 5040")  # 47^4 = 4,879,681
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    table = found.blocks[0].tables[0]
    wanted = sum(5040 % (a * b * c) == 0 and 5040 // (a * b * c) <= 47
                 for a, b, c in product(VALUES, repeat=3))  # fmt: skip
    assert table.shape[0] == found.counts.valid == wanted
    assert all(
        design["a"] * design["b"] * design["c"] * design["d"] == 5040  # type: ignore[operator]
        for design in found.designs()
    )
    assert peak_bytes < 47**4 * 4 * 4, "less than the codes of all combinations"


def test_what_is_left_has_the_order_that_all_combinations_have() -> None:
    found = space("abc", "a + b + c == 30")
    rows = found.blocks[0].tables[0].tolist()
    assert rows == sorted(rows)
    assert len(rows) == sum(a + b + c == 30 for a, b, c in product(VALUES, repeat=3))


@pytest.mark.parametrize(
    ("knobs", "rule"), [("abcd", "a + b + c + d > 0"), ("abcde", "a + e == b + c * d")]
)
def test_too_many_are_refused(knobs: str, rule: str) -> None:
    with pytest.raises(ConfigError, match="at most 2,000,000 combinations that keep them"):
        space(knobs, rule)
