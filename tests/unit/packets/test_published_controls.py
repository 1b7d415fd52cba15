"""Congestion controls beyond the reference, against their own arithmetic."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from packet_cases import GBPS, case, star

from simcore.errors import ConfigError
from simcore.kernels.packets import layout as f
from simcore.kernels.packets.controls import tcp
from simcore.packets.case import case_of
from simcore.packets.controls import CONTROLS
from simcore.packets.image import build_image
from simcore.packets.run import Outcome, run_case
from simcore.packets.views.series import Series

SENDING_NS = 83  # 1036 bytes at 100 Gb/s
RATE = str(100 * GBPS)


def run(data: dict[str, Any]) -> Outcome:
    outcome = run_case(case_of(data))
    assert outcome.is_complete, outcome.message
    return outcome


def incast(hosts: int, size: int, **params: Any) -> dict[str, Any]:
    flows = [[host, hosts, size, 0, []] for host in range(hosts)]
    return star(hosts + 1, flows, **params)


def goodput(outcome: Outcome, size: int) -> float:
    """Share of a link of 100 Gb/s that all flows' payload made up."""
    last_ns = max(row[4] or 0 for row in outcome.flows)
    return len(outcome.flows) * size * 8 / last_ns / 100


def fullest(outcome: Outcome) -> int:
    return max(queue[2] for queue in outcome.queues)


def usual_depth(data: dict[str, Any], hosts: int, from_ns: int) -> float:
    """Median depth in bytes of the queue that all flows share, once they have reacted."""
    case = case_of(data)
    series = Series(case, 2_000)
    run_case(case, watch=series)
    times, depths = series.queues()[hosts + 1, hosts]
    return float(np.median(depths[times > from_ns]))


def test_a_window_of_tcp_doubles_each_round_trip_in_slow_start() -> None:
    delay_ns = 100_000
    links = [[0, 2, 100 * GBPS, delay_ns], [1, 2, 100 * GBPS, delay_ns]]
    packets = 10 + 20 + 40
    data = case(links, [[0, 1, packets * 1000, 0, []]], [2], control="reno", enable_qcn=0)
    one_way = 2 * (SENDING_NS + delay_ns)
    round_ns = one_way + 2 * (4 + delay_ns)
    # two whole round trips; each ACK lets two packets go, so that the last round is 40 in a row
    expected = 2 * round_ns + one_way + 39 * SENDING_NS
    assert run(data).flows[0][4] == pytest.approx(expected, abs=20 * SENDING_NS)


def test_cubic_comes_back_to_its_plateau_when_its_formula_says() -> None:
    image = build_image(case_of(star(2, [[0, 1, 10**10, 0, []]], control="cubic")), 1)
    arena, reals, flow = image.arena, image.reals, image.flows
    tcp.on_start(arena, reals, flow)
    rtt_ns, most = 100_000_000, 1000.0  # so long that Reno is slower
    arena[flow + f.Q_BASE_RTT_NS] = arena[flow + tcp._RTT_NS] = rtt_ns
    tcp._open(arena, reals, flow, most)
    tcp._close(arena, reals, flow, True)
    assert reals[flow + tcp._WINDOW] == pytest.approx(700.0)
    packet = image.take_words(f.SHORT_PACKET_WORDS)
    arena, reals = image.arena, image.reals
    arena[packet + f.P_TYPE] = f.ACK
    span_s = (most * 0.3 / 0.4) ** (1 / 3)
    for _ in range(round(span_s * 1e9 / rtt_ns)):
        arena[f.NOW_NS] += rtt_ns
        arena[packet + f.P_STAMP] = arena[f.NOW_NS] - rtt_ns
        arena[flow + f.Q_ACKED] += arena[flow + f.Q_WINDOW_NOW]
        tcp.on_ack(arena, reals, flow, packet)
    assert reals[flow + tcp._WINDOW] == pytest.approx(most, rel=0.01)


def test_dctcp_as_a_window_keeps_the_queue_at_the_mark() -> None:
    marks = {"kmin_kb": {RATE: 65}, "kmax_kb": {RATE: 65}, "pmax": {RATE: 1.0}}
    size = 3_000_000
    data = incast(4, size, control="dctcp_window", **marks)
    assert goodput(run(data), size) > 0.85
    assert 20_000 < usual_depth(data, 4, from_ns=400_000) < 130_000


def test_hpcc_as_published_uses_what_it_aims_at() -> None:
    size, told = 4_000_000, {"control": "hpcc_paper", "has_win": 1, "enable_qcn": 0, "int_multi": 4}
    shares = []
    for aim in (0.95, 0.8):
        outcome = run(incast(2, size, u_target=aim, min_rate=10**8, **told))
        shares.append(goodput(outcome, size) * 1078 / 1000)  # of the wire
        assert fullest(outcome) < 200_000
    assert shares[0] == pytest.approx(0.95, abs=0.03)
    assert shares[1] == pytest.approx(0.80, abs=0.03)


def test_timely_as_published_keeps_round_trips_below_its_upper_threshold() -> None:
    told = {"control": "timely_paper", "enable_qcn": 0, "rate_ai": 10**9, "min_rate": 10**8}
    size = 6_000_000
    outcome = run(incast(4, size, timely_tlow_ns=20_000, timely_thigh_ns=60_000, **told))
    assert goodput(outcome, size) > 0.5
    free = run(incast(4, size, enable_qcn=0))
    assert fullest(outcome) < fullest(free)


def test_swift_keeps_the_delay_at_its_target_with_many_flows() -> None:
    told = {"control": "swift", "enable_qcn": 0, "swift_base_ns": 10_000, "swift_link_ns": 0,
            "swift_range_ns": 0}  # fmt: skip
    size = 3_000_000
    data = incast(8, size, **told)
    assert goodput(run(data), size) > 0.8
    queued_ns = usual_depth(data, 8, from_ns=500_000) * 8 / 100
    empty_ns = 2 * (84 + 1000) + 2 * (4 + 1000)  # with 8 bytes of telemetry
    assert queued_ns + empty_ns == pytest.approx(10_000, rel=0.25)


def test_dcqcn_as_published_shares_a_link_evenly() -> None:
    marks = {"kmin_kb": {RATE: 50}, "kmax_kb": {RATE: 200}, "pmax": {RATE: 0.1}}
    size = 8_000_000
    outcome = run(
        incast(4, size, control="dcqcn_paper", cnp_interval_ns=50_000, rp_timer=55,
               alpha_resume_interval=55, fast_recovery_times=5, rate_ai=400_000_000,
               rate_hai=2_000_000_000, min_rate=10**8, **marks)
    )  # fmt: skip
    assert goodput(outcome, size) > 0.6
    ends = sorted(row[2] or 0 for row in outcome.flows)
    assert ends[0] > 0.6 * ends[-1]


@pytest.mark.parametrize("increase", [40, 400])
def test_dcqcn_as_published_settles_where_its_fluid_model_says(increase: int) -> None:
    """Chance of a mark at the fixed point: Zhu et al., "ECN or delay", CoNEXT 2016, theorem 1."""
    flows, rate, size, kmin, kmax, pmax = 2, 40 * GBPS, 80_000_000, 5, 200, 0.01
    links = [[host, flows + 1, rate, 1000] for host in range(flows + 1)]
    key = str(rate)
    data = case(
        links, [[host, flows, size, 0, []] for host in range(flows)], [flows + 1],
        control="dcqcn_paper", cnp_interval_ns=50_000, rp_timer=55, alpha_resume_interval=55,
        fast_recovery_times=5, rate_ai=increase * 10**6, rate_hai=increase * 10**6,
        min_rate=10**7, kmin_kb={key: kmin}, kmax_kb={key: kmax}, pmax={key: pmax},
    )  # fmt: skip
    per_s = rate / 8 / 1036  # packets
    step = increase * 1e6 / 8 / 1036
    events = 1 / 10_000 + flows / (55e-6 * per_s)  # by the byte counter of 10 MB, and by the timer
    chance = (step * flows**2 / (50e-6 * per_s**2) * events**2) ** (1 / 3)
    series = Series(case_of(data), 5_000)
    last = run_case(case_of(data), watch=series).flows[0][2] or 0
    times, depths = series.queues()[flows + 1, flows]
    mean_kb = depths[times > last / 2].sum() / (last / 2 / 5_000) / 1000
    assert (mean_kb - kmin) / (kmax - kmin) * pmax == pytest.approx(chance, rel=0.35)


def test_marks_move_a_flow_of_infiniband_along_its_table() -> None:
    marks = {"kmin_kb": {RATE: 20}, "kmax_kb": {RATE: 20}, "pmax": {RATE: 1.0}}
    size = 2_000_000
    told = {"link_control": "credits", "credit_bytes": 200_000, **marks}
    free, held = (
        incast(4, size, **told),
        incast(4, size, control="infiniband", cnp_interval_ns=4_000, **told),
    )
    assert usual_depth(held, 4, 300_000) < 0.5 * usual_depth(free, 4, 300_000)
    one = run(star(2, [[0, 1, size, 0, []]], control="infiniband", **told))
    assert one.flows[0][4] == run(star(2, [[0, 1, size, 0, []]], **told)).flows[0][4]


@pytest.mark.parametrize("name", [name for name, _ in CONTROLS.items()])
def test_every_control_moves_the_same_bytes_whatever_the_rate_of_a_link(name: str) -> None:
    took = []
    for rate in (25, 50, 100):
        links = [[host, 4, rate * GBPS, 1000] for host in range(4)]
        flows = [[host, 3, 400_000, 0, []] for host in range(3)]
        outcome = run(case(links, flows, [4], control=name, has_win=1, min_rate=10**8))
        assert [row[5] for row in outcome.flows] == [400] * 3
        took.append(max(row[2] or 0 for row in outcome.flows))
    assert all(slow > fast for slow, fast in pairwise(took))


def test_an_unknown_control_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(ConfigError, match=r"params.control: .*dcqcn"):
        run(star(2, [[0, 1, 1000, 0, []]], control="dcqn"))
