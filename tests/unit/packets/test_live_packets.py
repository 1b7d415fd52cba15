"""Flows that begin as a run goes: what is told where nothing gets on any more."""

import pytest

from simcore.kernels.packets import layout as f
from simcore.packets import live, waiting
from simcore.packets.case import Topology
from simcore.packets.live import LivePackets
from simcore.packets.parameters import Parameters

STAR = Topology(3, (2,), ((0, 2, 10**11, 1000), (1, 2, 10**11, 1000)), 32 << 20, {})


def packets() -> LivePackets:
    return LivePackets(STAR, Parameters(enable_qcn=0), 1)


def test_packets_that_go_round_without_a_byte_acknowledged_end_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    network = packets()
    network.begin(0, 0, 1, 5000)
    monkeypatch.setattr(waiting, "MOST_IDLE_PACKETS", 0)
    monkeypatch.setattr(live, "run_until", lambda *_: f.PAUSED)  # very many events, again and again
    assert network.advance(10**9) == []
    assert network.next_event_ns() is None
    assert "from host 0 to host 1 never ends" in network.waiting()[0]


def test_lists_of_flows_grow_with_the_flows_that_are_under_way() -> None:
    network = packets()
    for number in range(40):
        assert network.begin(number, number % 2, 1 - number % 2, 3000) == number
    ended = []
    while network.next_event_ns() is not None:
        ended += network.advance(10**9)
    assert sorted(flow.number for flow in ended) == list(range(40))
    starts = [network.row(number)[3] for number in range(40)]
    assert starts == [3000] * 40
    assert [network.row(number)[4] for number in range(40)] == list(range(40))


def test_a_flow_can_end_when_its_last_byte_has_come() -> None:
    ends = []
    for at_receiver in (False, True):
        network = LivePackets(STAR, Parameters(enable_qcn=0), 1, ends_at_receiver=at_receiver)
        network.begin(0, 0, 1, 1000)
        ends.append(network.advance(10**9)[0].finish_ns)
    data_ns, ack_ns = 2 * (83 + 1000), 2 * (4 + 1000)
    assert ends == [data_ns + ack_ns, data_ns]
