"""Circles of switches that pauses or credits can stop for ever are found and named."""

import pytest

from simcore.packets.case import Topology
from simcore.packets.live import LivePackets
from simcore.packets.parameters import Parameters

RATE, DELAY_NS = 10**11, 1000
HOSTS = 4


def ring_of_switches(*, told: bool) -> Topology:
    """Host i at switch 4 + i; the switches in a ring: links 4 + i lead on."""
    links = [(host, HOSTS + host, RATE, DELAY_NS) for host in range(HOSTS)]
    links += [(HOSTS + i, HOSTS + (i + 1) % HOSTS, RATE, DELAY_NS) for i in range(HOSTS)]
    return Topology(2 * HOSTS, tuple(range(HOSTS, 2 * HOSTS)), tuple(links), 32 << 20, {}, told)


def clockwise(source: int, target: int) -> list[int]:
    """Ports of the way around the ring; link l has the ports 2 l and 2 l + 1."""
    hops = (target - source) % HOSTS
    return [
        2 * source,
        *(2 * (HOSTS + (source + hop) % HOSTS) for hop in range(hops)),
        2 * target + 1,
    ]


def along_the_line(source: int, target: int) -> list[int]:
    """Ports of a way that never takes the link from the last switch to the first."""
    if source < target:
        return clockwise(source, target)
    down = [2 * (HOSTS + at - 1) + 1 for at in range(source, target, -1)]
    return [2 * source, *down, 2 * target + 1]


def test_ways_around_a_ring_of_switches_make_a_circle_that_is_named() -> None:
    packets = LivePackets(ring_of_switches(told=True), Parameters(enable_qcn=0), 1, way=clockwise)
    packets.begin(0, 0, 1, 1000)  # of one link: its ACKs take the others
    packets.begin(0, 2, 3, 1000)
    circle = packets.circle()
    assert circle is not None
    assert circle[0] == circle[-1]
    assert sorted(circle[1:]) == [4, 5, 6, 7]


def test_ways_along_a_line_make_none() -> None:
    packets = LivePackets(
        ring_of_switches(told=True), Parameters(enable_qcn=0), 1, way=along_the_line
    )
    for source in range(HOSTS):
        packets.begin(0, source, (source + 1) % HOSTS, 1000)
    assert packets.circle() is None


@pytest.mark.parametrize(("pairs", "is_circle"), [([(0, 2), (1, 3)], True), ([(0, 1)], False)])
def test_shortest_ways_that_switches_choose_are_looked_at(
    pairs: list[tuple[int, int]], is_circle: bool
) -> None:
    packets = LivePackets(ring_of_switches(told=False), Parameters(enable_qcn=0), 1)
    for source, target in pairs:
        packets.begin(0, source, target, 1000)
    assert (packets.circle() is not None) == is_circle
