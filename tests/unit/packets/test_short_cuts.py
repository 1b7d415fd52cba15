"""Trains of packets and leaps over steady time: exact where nothing intervenes, told elsewhere."""

from typing import Any

import pytest

from simcore.network import NetworkDimension, Packet
from simcore.packets.fabric import PacketNetwork

HEADERS, MTU = 82, 4096


def network(**settings: Any) -> Packet:
    """Four NPUs at one switch, with links of 200 Gb/s and 700 ns."""
    dimension = NetworkDimension(topology="switch", npus=4, bytes_per_ns=25.0, latency_ns=1400.0)
    return Packet([dimension], PacketNetwork.from_file_data(settings, at="network"))


def times_ns(packets: Packet, messages: list[tuple[int, int, int, int]]) -> list[int]:
    """When each message (start, source, target, bytes) comes; starts must not fall."""
    came: dict[int, int] = {}

    def go_on(until_ns: int) -> None:
        while (due_ns := packets.next_event_ns()) is not None and due_ns <= until_ns:
            came.update((one.message, one.time_ns) for one in packets.advance(until_ns))

    for number, (start_ns, *rest) in enumerate(messages):
        go_on(start_ns - 1)
        packets.send(start_ns, number, *rest)
    go_on(1 << 60)
    return [came[number] for number in range(len(messages))]


@pytest.mark.parametrize("transport", ["roce", "infiniband"])
@pytest.mark.parametrize("train", [2, 8, 64])
def test_a_train_alone_takes_the_time_of_its_packets(transport: str, train: int) -> None:
    message = [(0, 0, 3, 500 * MTU + 17)]
    exact = times_ns(network(transport=transport), message)
    assert times_ns(network(transport=transport, train=train), message) == exact


def test_trains_on_a_faster_and_a_slower_link_wait_for_their_last_packet() -> None:
    dimensions = [
        NetworkDimension(topology="switch", npus=2, bytes_per_ns=rate, latency_ns=1000.0)
        for rate in (50.0, 12.5)
    ]
    for ends in ((0, 3), (3, 0)):
        exact, train = (
            Packet(dimensions, PacketNetwork(train=count, congestion_control="none"))
            for count in (1, 16)
        )
        message = [(0, *ends, 320 * MTU)]
        assert times_ns(train, message) == times_ns(exact, message)


def test_messages_that_share_a_link_have_it_in_turn_by_train_too() -> None:
    messages = [(0, source, 3, 256 * MTU) for source in (0, 1, 2)]
    told = {"congestion_control": "none"}
    exact, trains = times_ns(network(**told), messages), network(train=8, **told)
    found = times_ns(trains, messages)
    assert max(found) == pytest.approx(max(exact), rel=0.002)
    assert found == pytest.approx(exact, rel=0.03)
    account = trains.account()
    assert account.figures["sampled_messages"] == 3
    errors = [abs(one / two - 1) for one, two in zip(found, exact, strict=True)]
    assert account.figures["sample_error"] == pytest.approx(sum(errors) / 3)
    assert account.figures["sample_error_most"] == pytest.approx(max(errors))
    assert any("train: 8" in note for note in account.notes)


def test_leaps_keep_the_time_of_long_messages_and_follow_few_packets() -> None:
    size = 20_000 * MTU
    ring = [(0, npu, (npu + 1) % 4, size) for npu in range(4)]
    exact = times_ns(network(), ring)
    leaping = network(steady=True)
    assert times_ns(leaping, ring) == pytest.approx(exact, rel=0.003)
    figures = leaping.account().figures
    assert figures["packets"] == 4 * 20_000
    assert figures["packets_leapt_over"] > 0.95 * figures["packets"]


def test_leaps_see_what_begins_and_ends_between_them() -> None:
    told = {"congestion_control": "none"}
    messages = [
        (0, 0, 3, 4000 * MTU),
        (200_000, 1, 3, 1000 * MTU),
        (210_000, 2, 1, 1000 * MTU),
        (900_000, 1, 2, 17),
    ]
    exact = times_ns(network(**told), messages)
    assert times_ns(network(steady=True, **told), messages) == pytest.approx(exact, rel=0.01)


def test_a_message_that_nobody_meets_is_sampled_alone() -> None:
    leaping = network(steady=True)
    times_ns(leaping, [(0, 0, 1, 1 << 20)])
    assert leaping.account().figures["sample_error"] < 0.01


def test_a_run_without_short_cuts_tells_no_error() -> None:
    exact = network()
    times_ns(exact, [(0, 0, 1, MTU), (0, 2, 1, MTU)])
    figures = exact.account().figures
    assert "sample_error" not in figures
    assert figures["packets"] == 2
    assert figures["most_flows_into_npu"] == 2
    assert figures["largest_queue_bytes"] == MTU + HEADERS  # the other is being sent
