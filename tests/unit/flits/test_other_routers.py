"""Allocators, allocations of several cycles, bursts and dragonflies.

Outside truth: numbers of BookSim 2 (2017 source state), measured for these tests, where nothing is
drawn; else the time of a lone packet's path, and the chances of a burst.
"""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore.errors import ConfigError
from simcore.flits.bursts import read_bursts
from simcore.flits.case import read_case
from simcore.flits.simulate import batch, steady
from simcore.flits.waiting import possible_circle

MESH: dict[str, Any] = {
    "topology": "mesh", "k": 4, "n": 2, "routing_function": "dor", "num_vcs": 4,
    "vc_buf_size": 8, "packet_size": 4, "traffic": "uniform",
}  # fmt: skip
BATCH = {**MESH, "traffic": "transpose", "batch_size": 32}
SHORT = {**BATCH, "traffic": "bitcomp", "num_vcs": 2, "packet_size": 1}
DRAGONFLY = {
    **MESH, "topology": "dragonflynew", "routing_function": "min", "k": 2, "n": 1, "packet_size": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "cycles", "latency", "short_cycles", "short_latency"),
    [
        ("wavefront", 418, 74.376953125, 152, 63.55859375),
        ("rr_wavefront", 417, 74.646484375, 146, 60.30859375),
        ("loa", 414, 72.728515625, 150, 64.712890625),
        ("max_size", 421, 74.26953125, 153, 65.021484375),
        ("select", 413, 75.3828125, 132, 59.25),
    ],
)
def test_allocators_match_as_booksim_s_do(
    kind: str, cycles: int, latency: float, short_cycles: int, short_latency: float
) -> None:
    both = {"vc_allocator": kind, "sw_allocator": kind}
    for config, *told in ((BATCH, cycles, latency), (SHORT, short_cycles, short_latency)):
        found = batch(read_case({**config, **both}), {}, 1)
        assert [found["batch_duration"], found["network_latency"]] == told


def test_random_matching_saturates_where_booksim_s_does_and_later_with_two_rounds() -> None:
    for kind, accepted in (("pim", 0.668375), ("pim(2)", 0.785896)):
        case = read_case({**MESH, "vc_allocator": kind, "sw_allocator": kind})
        found = steady(case, {}, 1, 1.0, is_throughput=True)
        assert found is not None
        assert found["accepted"] == pytest.approx(accepted, rel=0.03)


@settings(max_examples=25, deadline=None)
@given(
    channel=st.integers(1, 4),
    switch=st.integers(1, 4),
    pair=st.tuples(st.integers(0, 15), st.integers(0, 15)),
)
def test_allocations_of_several_cycles_take_them_at_each_router(
    channel: int, switch: int, pair: tuple[int, int]
) -> None:
    source, target = pair
    change = {
        "vc_alloc_delay": channel, "sw_alloc_delay": switch, "packet_size": 1, "traffic": "mine",
        "batch_size": 1,
    }  # fmt: skip
    table = [target if node == source else node for node in range(16)]
    found = batch(read_case({**MESH, **change}), {"mine": table}, 1)
    hops = 1 + sum(abs(source // 4**d % 4 - target // 4**d % 4) for d in range(2))
    assert found["batch_duration"] == 1 + 3 + (2 + channel + switch) * hops + hops - 1


@pytest.mark.parametrize(
    ("channel", "switch", "size", "holds", "latency"),
    [(1, 2, 2, 0, 16), (1, 2, 65, 0, 142), (3, 3, 5, 1, 24), (3, 3, 5, 0, 32)],
)
def test_flits_of_a_packet_ask_for_a_slow_switch_one_after_the_other(
    channel: int, switch: int, size: int, holds: int, latency: int
) -> None:
    change = {
        "vc_alloc_delay": channel, "sw_alloc_delay": switch, "packet_size": size, "k": 2, "n": 1,
        "traffic": "bitcomp", "vc_buf_size": 32, "batch_size": 1, "hold_switch_for_packet": holds,
    }  # fmt: skip
    assert batch(read_case({**MESH, **change}), {}, 1)["network_latency"] == latency


def test_longer_allocations_slow_a_full_network_and_lose_nothing() -> None:
    times = [
        batch(read_case({**BATCH, "vc_alloc_delay": d, "sw_alloc_delay": d}), {}, 1)
        for d in (1, 2, 3)
    ]
    assert [found["hops"] for found in times] == [3.5] * 3  # the mean over a transpose
    for one, next_ in pairwise(found["batch_duration"] for found in times):
        assert next_ > one


def test_several_outputs_of_the_switch_take_the_load_sooner_as_in_booksim() -> None:
    latencies = []
    for change, latency in (
        ({"output_speedup": 2}, 27.219),
        ({"output_speedup": 4, "input_speedup": 2}, 26.0574),
    ):
        found = steady(read_case({**MESH, **change}), {}, 1, 0.5, is_throughput=False)
        assert found is not None
        assert found["network_latency"] == pytest.approx(latency, rel=0.02)
        latencies.append(found["network_latency"])
    plain = steady(read_case(MESH), {}, 1, 0.5, is_throughput=False)
    assert plain is not None
    assert plain["network_latency"] > latencies[0] > latencies[1]


@pytest.mark.parametrize(
    ("change", "rate", "latency"),
    [
        ({}, 0.1, 22.9479),
        ({"burst_alpha": 0.05, "burst_beta": 0.1}, 0.3, 25.5143),
    ],
)
def test_bursts_offer_the_rate_and_wait_as_in_booksim(
    change: dict[str, float], rate: float, latency: float
) -> None:
    case = read_case({**MESH, "injection_process": "on_off", **change})
    found = steady(case, {}, 1, rate, is_throughput=False)
    assert found is not None
    assert found["accepted"] == pytest.approx(rate, rel=0.05)
    assert found["network_latency"] == pytest.approx(latency, rel=0.03)


@given(begins=st.floats(0.01, 0.99), ends=st.floats(0.01, 0.99), sends=st.floats(0.01, 0.99))
def test_any_two_chances_and_the_rate_give_the_third(
    begins: float, ends: float, sends: float
) -> None:
    rate = sends * begins / (begins + ends)  # part of the time in a burst, times packets in it
    chances = begins, ends, sends
    for left_out in range(3):
        names = ("burst_alpha", "burst_beta", "burst_r1")
        given_ = {n: -1.0 if j == left_out else chances[j] for j, n in enumerate(names)}
        bursts = read_bursts({"injection_process": "on_off", **given_})
        assert bursts is not None
        assert bursts.chances(rate) == pytest.approx(chances)


def test_bursts_that_cannot_offer_a_rate_are_refused() -> None:
    case = read_case({**MESH, "packet_size": 1, "injection_process": "on_off"})
    with pytest.raises(ConfigError, match=r"^burst_r1: must"):
        steady(case, {}, 1, 0.8, is_throughput=False)


def test_a_rate_in_packets_offers_as_many_flits_as_they_have() -> None:
    found = [
        steady(
            read_case({**MESH, "injection_rate_uses_flits": flag}), {}, 1, rate, is_throughput=False
        )
        for flag, rate in ((0, 0.1), (1, 0.4))
    ]
    assert found[0] == found[1]


def test_a_lone_packet_in_a_dragonfly_takes_its_links_of_ten_and_a_hundred_cycles() -> None:
    for target, hops, links in ((0, 1, 0), (2, 2, 10), (8, 2, 100), (71, 4, 120)):
        table = [target, *range(1, 72)]
        case = read_case({**DRAGONFLY, "traffic": "mine", "batch_size": 1})
        found = batch(case, {"mine": table}, 1)
        assert found["batch_duration"] == 1 + 3 + 4 * hops + links, target


@pytest.mark.parametrize(("route", "accepted"), [("min", 0.07975), ("ugal", 0.30333)])
def test_dragonflies_saturate_where_booksim_s_do(route: str, accepted: float) -> None:
    # channels of 16 flits, and of 64 with detours, which 30 flits on the straight way ask for
    depth = 16 if route == "min" else 64
    change = {"routing_function": route, "num_vcs": 3, "vc_buf_size": depth}
    case = read_case({**DRAGONFLY, **change})
    found = steady(case, {}, 1, 1.0, is_throughput=True)
    assert found is not None
    assert found["accepted"] == pytest.approx(accepted, rel=0.03)
    assert (possible_circle(case) is None) == (route == "min")


@pytest.mark.parametrize(
    ("route", "traffic", "offered", "accepted", "latency"),
    [
        ("adaptive_xyyx", "transpose", 1.0, 0.493568, None),
        ("valiant", "uniform", 1.0, 0.350495, None),
        ("ugal", "uniform", 0.3, 0.301198, 16.6569),
        ("ugal", "transpose", 1.0, 0.43101, None),
    ],
)
def test_detours_of_flattened_butterflies_are_booksim_s(
    route: str, traffic: str, offered: float, accepted: float, latency: float | None
) -> None:
    change = {"topology": "flatfly", "c": 4, "x": 4, "y": 4, "xr": 2, "yr": 2, "packet_size": 1}
    case = read_case({**MESH, **change, "routing_function": route, "traffic": traffic})
    found = steady(case, {}, 1, offered, is_throughput=latency is None)
    assert found is not None
    assert found["accepted"] == pytest.approx(accepted, rel=0.03)
    assert latency is None or found["network_latency"] == pytest.approx(latency, rel=0.02)


def test_a_middle_on_a_torus_doubles_the_way_and_evens_out_a_tornado() -> None:
    change = {"topology": "torus", "k": 8, "traffic": "tornado", "packet_size": 1}
    straight, middle = (
        read_case({**MESH, **change, "routing_function": route})
        for route in ("dim_order", "valiant")
    )
    low = steady(middle, {}, 1, 0.02, is_throughput=False)
    assert low is not None
    assert low["hops"] == pytest.approx(1 + 2 * 4, rel=0.03)  # two ways of 2 per dimension
    # a tornado loads one direction alone, which a middle evens out: Dally, Towles, chapter 9
    full = [
        [
            found["accepted"]
            for seed in range(4)
            if (found := steady(case, {}, seed, 1.0, is_throughput=True))
        ]
        for case in (straight, middle)
    ]
    assert sum(full[1]) > 1.1 * sum(full[0])
