"""A lone packet takes the time of its path, whatever the routers, and whatever the path.

Formula: in and out of the network 3 cycles, the stages of each router, the links between them, and
a cycle for each flit behind the first.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.flits.case import read_case
from simcore.flits.simulate import batch

ROUTES = {
    "mesh": ("dor", "planar_adapt", "min_adapt", "xy_yx", "romm"),
    "torus": ("dim_order", "dim_order_bal", "min_adapt"),
}


def _hops(side: int, source: int, target: int, wraps: bool) -> int:
    count = 0
    while source or target:
        far = abs(source % side - target % side)
        count += min(far, side - far) if wraps else far
        source, target = source // side, target // side
    return count


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_lone_packet_takes_the_formula_s_time(data: st.DataObject) -> None:
    topology = data.draw(st.sampled_from(sorted(ROUTES)))
    side, dimensions = data.draw(st.sampled_from([(2, 1), (7, 1), (3, 2), (4, 2), (3, 3)]))
    routing, prepare, final = (data.draw(st.integers(*ends)) for ends in ((0, 3), (0, 2), (1, 3)))
    # flits of a packet that meet a crossbar of several cycles wait for each other
    guesses, size = data.draw(st.integers(0, 1)), data.draw(st.integers(1, 3))
    if size > 1:
        prepare, final = 0, 1
    config: dict[str, Any] = {
        "topology": topology, "k": side, "n": dimensions, "traffic": "mine", "batch_size": 1,
        "routing_function": data.draw(st.sampled_from(ROUTES[topology])), "num_vcs": 4,
        "vc_buf_size": 16, "packet_size": size, "routing_delay": routing,
        "st_prepare_delay": prepare, "st_final_delay": final, "speculative": guesses,
    }  # fmt: skip
    nodes = side**dimensions
    source = data.draw(st.integers(0, nodes - 1))
    target = data.draw(st.integers(0, nodes - 1))
    # all others send to themselves, which nobody meets
    targets = [target if node == source else node for node in range(nodes)]
    found = batch(read_case(config), {"mine": targets}, seed=1)
    hops = 1 + _hops(side, source, target, topology == "torus")
    stages = routing + (1 if guesses else 2) + prepare + final
    links = (2 if topology == "torus" else 1) * (hops - 1)
    assert found["batch_duration"] == 1 + 3 + stages * hops + links + size - 1
