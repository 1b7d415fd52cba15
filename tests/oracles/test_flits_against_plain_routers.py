"""Batches on random grids take what a plain program finds that follows every flit and cycle."""

from hypothesis import given, settings
from hypothesis import strategies as st
from plain_flits import Grid, drain_time

from simcore.flits.case import read_case
from simcore.flits.simulate import batch


@settings(max_examples=40, deadline=None)
@given(data=st.data(), wraps=st.booleans())
def test_batches_drain_when_a_plain_program_says(data: st.DataObject, wraps: bool) -> None:
    side, dimensions = data.draw(st.sampled_from([(2, 1), (5, 1), (3, 2), (2, 3)]))
    if wraps:  # an even way round is a toss-up halfway
        side = 3 if side == 2 else side
        dimensions = min(dimensions, 2)
    nodes = side**dimensions
    targets = data.draw(st.permutations(range(nodes)))
    each = data.draw(st.sampled_from([2, 4] if wraps else [1, 2, 3]))
    depth, size, count = (data.draw(st.integers(1, most)) for most in (6, 5, 6))
    config = {
        "topology": "torus" if wraps else "mesh", "k": side, "n": dimensions,
        "routing_function": "dim_order" if wraps else "dor", "num_vcs": each,
        "vc_buf_size": depth, "packet_size": size, "batch_size": count, "traffic": "mine",
    }  # fmt: skip
    found = batch(read_case(config), {"mine": targets}, seed=1)
    grid = Grid(side, dimensions, wraps, each, depth, 2 if wraps else 1)
    assert found["batch_duration"] == drain_time(grid, targets.__getitem__, size, count)
