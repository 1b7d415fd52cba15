"""Links with credits, switches that choose a way per packet, and headroom, against arithmetic."""

from typing import Any

import pytest
from packet_cases import GBPS, case, star

from simcore.errors import ConfigError
from simcore.packets.case import case_of
from simcore.packets.run import Outcome, run_case

WIRE, ACK = 1036, 48
SENDING_NS = 83  # 1036 bytes at 100 Gb/s
LEAVES, SPINES, HOSTS = 2, 4, 8


def run(data: dict[str, Any]) -> Outcome:
    return run_case(case_of(data))


def leaf_spine(**params: Any) -> dict[str, Any]:
    """Every host of one leaf sends to one of the other; as many links up as hosts."""
    links = [[host, HOSTS + host // SPINES, 100 * GBPS, 500] for host in range(HOSTS)]
    first_spine = HOSTS + LEAVES
    links += [
        [HOSTS + leaf, first_spine + spine, 100 * GBPS, 500]
        for leaf in range(LEAVES)
        for spine in range(SPINES)
    ]
    flows = [[host, (host + SPINES) % HOSTS, 100_000, 0, []] for host in range(HOSTS)]
    switches = list(range(HOSTS, first_spine + SPINES))
    made: dict[str, Any] = case(links, flows, switches, enable_qcn=0, **params)
    return made


@pytest.mark.parametrize("held", [1, 2])
def test_credits_of_few_packets_let_through_so_many_per_round_trip(held: int) -> None:
    blocks = -(-WIRE // 64)
    packets = 40
    data = star(
        2, [[0, 1, packets * 1000, 0, []]], link_control="credits", credit_bytes=64 * blocks * held
    )
    # a packet leaves the switch when it has come; its credit is back a delay later
    round_ns = SENDING_NS + 2 * 1000
    rounds, rest = divmod(packets - 1, held)
    last_start = rounds * round_ns + rest * SENDING_NS
    assert run(data).flows[0][4] == last_start + 2 * (SENDING_NS + 1000)


def test_credits_for_a_round_trip_cost_no_time() -> None:
    flows = [[0, 1, 60_000, 0, []]]
    paused, credited = (run(star(2, flows, link_control=kind)) for kind in ("pfc", "credits"))
    assert credited.flows[0][1:5] == paused.flows[0][1:5]


def test_nothing_is_dropped_or_paused_where_links_have_credits() -> None:
    flows = [[host, 8, 30_000, 0, []] for host in range(8)]
    outcome = run(star(9, flows, link_control="credits", buffer_size=1))
    assert outcome.is_complete
    assert (outcome.drops, outcome.pauses) == (0, 0)


def test_a_credit_buffer_must_hold_a_packet() -> None:
    with pytest.raises(ConfigError, match=r"credit_bytes: must hold a packet: 1088 bytes"):
        run(star(2, [[0, 1, 1000, 0, []]], link_control="credits", credit_bytes=1000))


@pytest.mark.parametrize("routing", ["spray", "adaptive"])
def test_a_permutation_sprayed_over_as_many_links_up_as_hosts_runs_at_their_rate(
    routing: str,
) -> None:
    sprayed, hashed = run(leaf_spine(routing=routing)), run(leaf_spine())
    assert sprayed.is_complete
    took, hashed_ns = ([row[3] or 0 for row in outcome.flows] for outcome in (sprayed, hashed))
    # packets at the line's rate, four links there and back; ACKs take a twentieth of a link more
    ideal = 100 * SENDING_NS + 3 * SENDING_NS + 8 * 500 + 4 * 4
    assert ideal <= max(took) <= 1.08 * ideal
    assert max(hashed_ns) > 1.5 * ideal  # two flows share a link


def test_records_of_hops_are_not_compared_across_ways() -> None:
    with pytest.raises(ConfigError, match=r"params.routing: must be ecmp"):
        run(leaf_spine(routing="spray", cc_mode=3, has_win=1))


def test_headroom_of_whole_packets_loses_none_on_short_links() -> None:
    flows = [[host, 8, 400_000, 0, []] for host in range(8)]
    links = [[host, 9, 100 * GBPS, 50] for host in range(9)]
    tight = {"packet_payload_size": 9000, "buffer_size": 1, "enable_qcn": 0}
    reference = run(case(links, flows, [9], **tight))
    assert reference.drops > 0  # three times 50 ns at 100 Gb/s hold no packet
    kept = run(case(links, flows, [9], headroom_factor=2, headroom_packets=3, **tight))
    assert kept.pauses > 0
    assert kept.drops == 0
    assert kept.is_complete


def crossing(lanes: list[int]) -> Outcome:
    """Two flows over one link between switches: one to a host that others send to, one to another.

    Hosts 0 and 1 are at switch 8, hosts 2 to 7 at switch 9.
    """
    links = [[host, 8 if host < 2 else 9, 100 * GBPS, 500] for host in range(8)]
    links.append([8, 9, 100 * GBPS, 500])
    flows: list[list[Any]] = [[0, 2, 500_000, 0, []], [1, 3, 250_000, 0, []]]
    flows += [[host, 2, 500_000, 0, []] for host in (4, 6)]
    return run(case(links, flows, [8, 9], link_control="credits", lane_weights=lanes, enable_qcn=0))


def test_a_lane_of_its_own_spares_a_flow_the_congestion_of_others() -> None:
    together, apart = (crossing(lanes).flows[1][4] or 0 for lanes in ([1], [1, 1]))
    packets_ns = 250 * SENDING_NS
    # behind the other's packets it gets as much as it: a third of the link, less what its own
    # packets take of the buffer that they share
    assert 3 <= together / packets_ns <= 4
    # by itself what they leave: they have a third, it has the rest
    assert apart == pytest.approx(1.5 * packets_ns, rel=0.1)


@pytest.mark.parametrize("weights", [[1, 1], [3, 1], [1, 5]])
def test_lanes_share_a_link_by_their_weights(weights: list[int]) -> None:
    links = [[host, 4, 100 * GBPS, 500] for host in (0, 1)] + [[4, 5, 100 * GBPS, 500]]
    links += [[host, 5, 100 * GBPS, 500] for host in (2, 3)]
    flows = [[0, 2, 800_000, 0, []], [1, 3, 800_000, 0, []]]
    outcome = run(
        case(links, flows, [4, 5], link_control="credits", lane_weights=weights, enable_qcn=0)
    )
    ends = [row[4] or 0 for row in outcome.flows]
    faster, slower = max(weights), min(weights)
    assert min(ends) == pytest.approx(800 * SENDING_NS * (faster + slower) / faster, rel=0.03)
    assert max(ends) == pytest.approx(1600 * SENDING_NS, rel=0.03)
    if faster > slower:  # hosts 2 and 3: lanes 0 and 1
        assert ends.index(min(ends)) == weights.index(faster)


def test_lanes_need_credits() -> None:
    with pytest.raises(ConfigError, match=r"params.lane_weights: must be one weight"):
        run(leaf_spine(lane_weights=[1, 1]))
