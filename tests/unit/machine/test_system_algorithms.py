"""Algorithms that a system layer names."""

import pytest

from simcore import ConfigError
from simcore.machine.system import System


@pytest.mark.parametrize(
    ("name", "served"),
    [("bruck", "all_gather and all_to_all"), ("pairwise", "reduce_scatter and all_to_all")],
)
def test_an_algorithm_without_an_all_reduce_is_refused_for_one(name: str, served: str) -> None:
    rule = rf"all_reduce\[1\]: must be an algorithm that does an all-reduce; {name} serves {served}"
    with pytest.raises(ConfigError, match=rule):
        System.from_file_data({"all_reduce": ["ring", name]}, at="system")
    system = System.from_file_data({"all_to_all": name}, at="system")
    assert system.all_to_all == (name,)
