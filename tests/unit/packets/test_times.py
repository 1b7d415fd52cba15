"""Times of packets against arithmetic by hand, on paths without rivals."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packet_cases import GBPS, case, chain, star

from simcore.packets.case import case_of
from simcore.packets.run import Outcome, run_case

HEADERS, ACK = 36, 48


def run(data: dict[str, Any], seed: int = 1) -> Outcome:
    return run_case(case_of(data), seed)


def sending_ns(size: int, rate: int) -> int:
    """Time of a packet, to the nearest ns, halves down."""
    return (2 * 8 * size * 10**9 + rate - 1) // (2 * rate)


def crossed(ready: list[int], sizes: list[int], links: list[tuple[int, int]]) -> list[int]:
    """Times at which packets that are ready one after the other have crossed all links."""
    for rate, delay in links:
        free, arrivals = 0, []
        for start, size in zip(ready, sizes, strict=True):
            free = max(start, free) + sending_ns(size, rate)
            arrivals.append(free + delay)
        ready = arrivals
    return ready


def alone_ns(rates: list[int], delays: list[int], size: int, payload: int) -> tuple[int, int]:
    """Arrival of the last byte, and of its ACK, of a flow on an idle path: store and forward."""
    sizes = [payload] * (size // payload) + ([size % payload] if size % payload else [])
    links = list(zip(rates, delays, strict=True))
    there = crossed([0] * len(sizes), [part + HEADERS for part in sizes], links)
    back = crossed(there, [ACK] * len(sizes), links[::-1])
    return there[-1], back[-1]


def test_one_megabyte_over_one_switch_takes_what_the_formula_says() -> None:
    outcome = run(chain([100 * GBPS] * 2, [1000, 1000], 1_000_000))
    assert outcome.flows[0][3] == 1000 * 83 + 83 + 2000 + 2 * 4 + 2000


def test_a_half_of_a_nanosecond_is_rounded_down() -> None:
    outcome = run(chain([64 * GBPS], [0], 1044 - HEADERS, packet_payload_size=2000))
    assert outcome.flows[0][4] == 130  # 1044 bytes take 130.5 ns


@settings(max_examples=40, deadline=None)
@given(
    hops=st.lists(
        st.tuples(st.sampled_from([10, 25, 100, 400]), st.integers(0, 5000)), min_size=1, max_size=5
    ),
    size=st.integers(1, 60_000),
    payload=st.sampled_from([256, 1000, 4096]),
)
def test_a_flow_alone_takes_the_time_of_its_path(
    hops: list[tuple[int, int]], size: int, payload: int
) -> None:
    rates, delays = [rate * GBPS for rate, _ in hops], [delay for _, delay in hops]
    data = chain(rates, delays, size, packet_payload_size=payload, enable_qcn=0)
    flow = run(data).flows[0]
    assert (flow[4], flow[3]) == alone_ns(rates, delays, size, payload)


@pytest.mark.parametrize("control", [0, 1, 3, 7, 8])
def test_two_flows_share_a_link_and_all_bytes_arrive(control: int) -> None:
    flows = [[0, 2, 300_000, 0, []], [1, 2, 300_000, 0, []]]
    outcome = run(star(3, flows, cc_mode=control, has_win=1, var_win=1))
    assert outcome.is_complete
    assert [row[5] for row in outcome.flows] == [300, 300]
    least = 600 * sending_ns(1000 + HEADERS, 100 * GBPS)
    assert all((row[3] or 0) >= least / 2 for row in outcome.flows)
    assert max(row[3] or 0 for row in outcome.flows) >= least


def test_a_flow_starts_its_delay_after_the_last_flow_before_it() -> None:
    flows = [[0, 2, 5000, 0, []], [1, 2, 9000, 100, []], [2, 0, 1, 700, [0, 1]]]
    outcome = run(star(3, flows))
    assert outcome.flows[2][1] == max(row[2] or 0 for row in outcome.flows[:2]) + 700


def test_a_window_limits_the_rate_to_itself_per_round_trip() -> None:
    """One packet of 1000 bytes in flight: a window of pair 80 ns x 100 Gb/s, without delay."""
    data = chain([100 * GBPS], [0], 100_000, has_win=1)
    flow = run(data).flows[0]
    assert flow[3] == 100 * (sending_ns(1000 + HEADERS, 100 * GBPS) + sending_ns(ACK, 100 * GBPS))


def test_more_bandwidth_or_buffer_changes_no_count_of_packets() -> None:
    flows = [[host, 8, 100_000, 0, []] for host in range(8)]
    counts = set()
    for buffer in (1, 4, 32):
        outcome = run(star(9, flows, buffer_size=buffer))
        counts.add(tuple(row[5] for row in outcome.flows))
        assert outcome.drops == 0
    assert counts == {(100,) * 8}


def test_a_small_buffer_pauses_senders_and_a_large_one_does_not() -> None:
    flows = [[host, 8, 300_000, 0, []] for host in range(8)]
    small, large = (run(star(9, flows, buffer_size=size)) for size in (1, 64))
    assert small.pauses > 0
    assert large.pauses == 0
    assert max(row[2] for row in small.queues) < max(row[2] for row in large.queues)


@pytest.mark.parametrize("control", [0, 1])
def test_a_seed_gives_the_same_run_again_and_another_one_other_losses(control: int) -> None:
    flows = [[0, 2, 400_000, 0, []], [1, 2, 400_000, 0, []]]
    data = star(3, flows, cc_mode=control, link_error_rate=0.005)
    assert run(data, 3) == run(data, 3)
    assert run(data, 3) != run(data, 4)
    assert run(data, 3).lost > 0


def test_a_flow_whose_tail_is_lost_waits_for_ever_and_says_for_what() -> None:
    flows = [[0, 1, 3_000, 0, []], [1, 0, 500, 10, [0]]]
    outcome = run(star(2, flows, cc_mode=1, link_error_rate=1.0))
    assert not outcome.is_complete
    assert "2 of 2 flows never end" in outcome.message
    assert "flow 0 waits for an ACK of bytes 0 to 3000 of 3000" in outcome.message
    assert "flow 1 waits for the end of flow 0" in outcome.message
    assert outcome.flows[0][1:] == [0, None, None, None, None, None]


def test_pauses_around_a_ring_of_switches_lock_it_and_the_ports_are_named() -> None:
    """Five switches in a ring, every flow two links on: each link waits for the one after it."""
    links = [[host, 5 + host, 100 * GBPS, 1000] for host in range(5)]
    links += [[5 + switch, 5 + (switch + 1) % 5, 100 * GBPS, 1000] for switch in range(5)]
    flows = [[host, (host + 2) % 5, 4_000_000, 0, []] for host in range(5)]
    outcome = run(case(links, flows, [5, 6, 7, 8, 9], buffer_size=1))
    assert not outcome.is_complete
    assert outcome.drops == 0
    assert "5 of 5 flows never end" in outcome.message
    for switch in range(5):
        assert f"{5 + switch} to {5 + (switch + 1) % 5}" in outcome.message
