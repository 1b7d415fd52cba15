"""Groups of NPUs on mixed-radix dimensions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.engines.collectives.placement import place_group
from simcore.errors import InfeasibleError


def test_group_that_fills_the_first_dimension_lies_in_it_alone() -> None:
    placement = place_group("tp", 1, 8, (8, 16))
    assert placement.extent == (8, 1)
    assert placement.stride == (1, 1)


def test_group_larger_than_a_dimension_reaches_into_the_next() -> None:
    placement = place_group("tp", 1, 8, (4, 8))
    assert placement.extent == (4, 2)


def test_outer_group_takes_the_rest_of_a_dimension_at_a_stride() -> None:
    placement = place_group("dp", 2, 8, (8, 16))
    assert placement.extent == (4, 2)
    assert placement.stride == (2, 1)


@pytest.mark.parametrize(("stride", "size"), [(1, 6), (3, 2), (1, 3)])
def test_group_that_leaves_uneven_rows_is_infeasible(stride: int, size: int) -> None:
    with pytest.raises(InfeasibleError, match="do not tile the dimensions 4 x 8"):
        place_group("tp", stride, size, (4, 8))


@settings(derandomize=True, deadline=None, max_examples=300)
@given(
    dimensions=st.lists(st.sampled_from([2, 3, 4, 6, 8]), min_size=1, max_size=4),
    stride=st.integers(1, 24),
    size=st.integers(1, 24),
)
def test_members_of_a_placed_group_are_the_ids_of_the_group(
    dimensions: list[int], stride: int, size: int
) -> None:
    try:
        placement = place_group("g", stride, size, tuple(dimensions))
    except InfeasibleError:
        return
    ids, inner = np.zeros(1, int), 1
    for npus, extent, step in zip(dimensions, placement.extent, placement.stride, strict=True):
        ids = (np.arange(extent)[:, None] * step * inner + ids[None, :]).ravel()
        inner *= npus
    assert sorted(ids.tolist()) == [i * stride for i in range(size)]
