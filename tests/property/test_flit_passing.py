"""Flits that pass a router in the cycle of their arrival, against routers run cycle by cycle."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import ConfigError
from simcore.flits.case import read_case
from simcore.flits.simulate import Network
from simcore.kernels.flits import network as words

NETWORKS: list[dict[str, Any]] = [
    {"topology": "mesh", "k": 4, "n": 2, "routing_function": "dor"},
    {"topology": "mesh", "k": 3, "n": 2, "routing_function": "min_adapt"},
    {"topology": "torus", "k": 3, "n": 2, "routing_function": "dim_order"},
    {"topology": "fly", "k": 2, "n": 3, "routing_function": "dest_tag"},
]
"""Networks whose routers draw nothing."""
SUMS = words.PACKETS, words.LATENCY, words.NETWORK_LATENCY, words.PASSED, words.ARRIVALS


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_passing_a_router_changes_no_packet(data: st.DataObject) -> None:
    kinds = st.sampled_from(["islip", "separable_input_first", "separable_output_first"])
    config = data.draw(st.sampled_from(NETWORKS)) | {
        "num_vcs": data.draw(st.sampled_from([2, 4])),
        "vc_buf_size": data.draw(st.sampled_from([1, 2, 3, 8])),
        "packet_size": data.draw(st.integers(1, 6)),
        "vc_allocator": data.draw(kinds),
        "sw_allocator": data.draw(kinds),
        "input_speedup": data.draw(st.sampled_from([1, 2])),
        "credit_delay": data.draw(st.integers(0, 2)),
    }
    rate, seed = data.draw(st.sampled_from([0.01, 0.05, 0.2, 0.5])), data.draw(st.integers(1, 99))
    try:
        case = read_case(config)
    except ConfigError:
        return
    found = []
    for may_pass in (1, 0):
        one = Network(case, {}, seed)
        assert one.memory.words[words.MAY_PASS] == 1
        one.memory.words[words.MAY_PASS] = may_pass
        one.offer(rate)
        one.run(rate, 400, (0, 1 << 60))
        found.append([*(one.total(word) for word in SUMS), *one.arrived().tolist()])
    assert found[0] == found[1]
