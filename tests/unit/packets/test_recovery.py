"""Timers, selective repeat, paced notifications, held-back ACKs, drops, and links that fail."""

from typing import Any

import pytest
from packet_cases import GBPS, case, star

from simcore.errors import ConfigError
from simcore.packets.case import case_of
from simcore.packets.run import Outcome, run_case

SENDING_NS = 83  # 1036 bytes at 100 Gb/s
ACK_NS = 4  # 48 bytes
WAY_NS = 2 * (SENDING_NS + 1000)  # of one packet over a star's two links


def run(data: dict[str, Any], seed: int = 1) -> Outcome:
    return run_case(case_of(data), seed)


def test_a_packet_that_is_lost_whatever_one_does_is_sent_so_often_and_given_up() -> None:
    flow = [[0, 1, 1000, 0, []]]
    outcome = run(star(2, flow, link_error_rate=1.0, retry_ns=50_000, retries=3))
    assert not outcome.is_complete
    assert outcome.lost == 4  # the first time and three more
    assert "gave up after 3 retries" in outcome.message


@pytest.mark.parametrize("selective", [0, 1])
def test_a_flow_whose_packets_get_lost_ends_once_a_timer_sends_them_again(selective: int) -> None:
    flows = [[0, 1, 300_000, 0, []]]
    told = {"link_error_rate": 0.02, "retry_ns": 100_000, "retries": 1000}
    outcome = run(star(2, flows, selective_repeat=selective, **told))
    assert outcome.is_complete
    assert outcome.lost > 0


def test_selective_repeat_sends_only_what_was_lost() -> None:
    flows = [[0, 1, 2_000_000, 0, []]]
    told = {"link_error_rate": 0.005, "retry_ns": 100_000, "retries": 1000}
    taken = [run(star(2, flows, selective_repeat=one, **told)).flows[0][5] for one in (0, 1)]
    back, selective = taken
    assert selective is not None
    assert back is not None
    # each packet once, and few more where what was sent again got lost and a timer asks for all
    assert 2000 <= selective <= 2040
    assert back > 1.2 * selective


def test_a_switch_that_drops_loses_packets_and_flows_end_all_the_same() -> None:
    flows = [[host, 8, 400_000, 0, []] for host in range(8)]
    told = {"link_control": "drop", "buffer_size": 1, "enable_qcn": 0}
    waits = run(star(9, flows, **told))
    assert not waits.is_complete
    for control in ("reno", "cubic"):
        outcome = run(
            star(9, flows, control=control, selective_repeat=1, retry_ns=200_000, retries=100,
                 tcp_first_window=200, **told)
        )  # fmt: skip
        assert outcome.is_complete, outcome.message
        assert outcome.drops > 0
        assert outcome.pauses == 0
        finish = max(row[2] or 0 for row in outcome.flows)
        assert finish >= 8 * 400 * SENDING_NS  # the one link that all share
    # of two switches the queue of one port may take what is free: half of it where nothing else is
    assert max(queue[2] for queue in waits.queues) <= (1 << 20) // 2


def test_one_ack_answers_for_so_many_bytes() -> None:
    flows = [[0, 1, 64_000, 0, []]]
    each, held = (run(star(2, flows, ack_coalesce_bytes=size)) for size in (0, 16_000))
    assert held.is_complete
    assert each.events - held.events > 4 * (64 - 4) - 8  # two links, two events each
    assert held.flows[0][2] == each.flows[0][2]  # the last byte is answered at once


def test_notifications_are_a_time_apart() -> None:
    flows = [[host, 4, 2_000_000, 0, []] for host in range(4)]
    marks = {"kmin_kb": {str(100 * GBPS): 5}, "kmax_kb": {str(100 * GBPS): 200}}
    told = {"control": "dcqcn_paper", "rp_timer": 55, "alpha_resume_interval": 55, **marks}
    outcome = run(star(5, flows, cnp_interval_ns=50_000, buffer_size=32, **told))
    assert outcome.is_complete
    silent = run(star(5, flows, cnp_interval_ns=10**9, **told))
    # one each at the first mark, and no other: alpha is 1, so that each rate is halved once
    assert silent.is_complete
    first_ns = min(row[2] or 0 for row in silent.flows)
    assert first_ns > 4 * 2000 * SENDING_NS * 0.5
    with pytest.raises(ConfigError, match=r"cnp_interval_ns: must be 0"):
        run(star(2, [[0, 1, 1000, 0, []]], cc_mode=8, cnp_interval_ns=1))


def two_ways(rate: int = 100 * GBPS, **params: Any) -> dict[str, Any]:
    """A host at a switch, two switches in the middle, a switch with a host."""
    links = [[0, 2, rate, 1000], [2, 3, rate, 1000], [2, 4, rate, 1000], [3, 5, rate, 1000],
             [4, 5, rate, 1000], [5, 1, rate, 1000]]  # fmt: skip
    return case(links, [[0, 1, 1_000_000, 0, []]], [2, 3, 4, 5], enable_qcn=0, **params)


@pytest.mark.parametrize("routing", ["ecmp", "flowlet", "spray", "adaptive"])
def test_flows_go_another_way_once_their_link_has_failed(routing: str) -> None:
    told: dict[str, Any] = {"routing": routing, "retry_ns": 50_000, "reroute_ns": 20_000}
    if routing in ("spray", "adaptive"):
        told["selective_repeat"] = 1
    data = two_ways(**told)
    whole = run(data)
    data["link_changes"] = [[30_000, 2, middle, 0] for middle in (3,)]
    failed = [run(data)]
    data["link_changes"] = [[30_000, 4, 2, 0]]
    failed.append(run(data))
    assert all(one.is_complete for one in (whole, *failed)), failed
    assert max(one.lost for one in failed) > 0
    took = [one.flows[0][3] or 0 for one in (whole, *failed)]
    assert max(took[1:]) > took[0]
    assert max(took[1:]) < took[0] + 200_000  # a timer's wait, and what was lost once more


def test_a_link_that_gets_slower_takes_its_time() -> None:
    flow = [[0, 1, 1_000_000, 0, []]]
    data = star(2, flow)
    data["link_changes"] = [[40_000, 0, 2, 50 * GBPS]]
    half_ns = 166  # 1036 bytes at 50 Gb/s
    sent = -(-40_000 // SENDING_NS)
    last_start = sent * SENDING_NS + (999 - sent) * half_ns
    assert run(data).flows[0][4] == last_start + half_ns + SENDING_NS + 2000


def test_a_flow_whose_only_link_fails_gives_up_and_says_so() -> None:
    data = star(2, [[0, 1, 1_000_000, 0, []]], retry_ns=50_000)
    data["link_changes"] = [[40_000, 1, 2, 0]]
    outcome = run(data)
    assert not outcome.is_complete
    assert "gave up after 7 retries" in outcome.message
    data["link_changes"].append([300_000, 1, 2, 100 * GBPS])
    assert run(data).is_complete


def test_a_change_of_no_link_is_refused() -> None:
    data = star(2, [[0, 1, 1000, 0, []]])
    data["link_changes"] = [[40_000, 0, 1, 0]]
    with pytest.raises(ConfigError, match="must name the two ends of a link"):
        run(data)


def test_credits_of_lost_packets_come_back() -> None:
    flows = [[0, 1, 500_000, 0, []]]
    told = {"link_control": "credits", "link_error_rate": 0.02, "retry_ns": 50_000, "retries": 99}
    assert run(star(2, flows, **told)).is_complete
