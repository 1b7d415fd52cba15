"""Garnet as a configuration of the flit engine: times by formula, the shortcut, lanes, its file.

The formula is that of Garnet's routers of one stage: 1, both links of nodes, routers, links, and
the flits behind the first, each as long as its link is narrower than a flit; a message begins in
the cycle after it is sent.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore import ConfigError
from simcore.flits.garnet import Garnet, GarnetNetwork
from simcore.formats.astra.garnet import dimensions_of
from simcore.formats.astra.garnet.files import read_garnet
from simcore.formats.astra.garnet.network import GarnetMessages

SAMPLE = """num-npus: 8
num-packages: 4
package-rows: 2
topology: Torus3D
local-rings: 2
vertical-rings: 2
horizontal-rings: 2
links-per-tile: 2
flit-width: 2048
local-packet-size: 4096
package-packet-size: 4096
tile-link-width: 256
package-link-width: 256
vcs-per-vnet: 50
routing-algorithm: Ring_XY
router-latency: 1
local-link-latency: 90
package-link-latency: 200
buffers-per-vc: 5000
local-link-efficiency: 1.0
package-link-efficiency: 1.0
"""
WIDE = {"tile-link-width": "2048", "package-link-width": "2048"}
Message = tuple[int, int, int, int]


def _network(folder: Path, **told: str) -> GarnetNetwork:
    lines = dict(line.split(": ") for line in SAMPLE.splitlines())
    lines |= {key.replace("_", "-"): value for key, value in told.items()}
    file = folder / "network.txt"
    file.write_text("".join(f"{key}: {value}\n" for key, value in lines.items()))
    notes: list[str] = []
    network = read_garnet(file, notes)
    assert not notes
    return network


def _arrivals(
    network: GarnetNetwork, messages: Sequence[Message], is_shortened: bool = True
) -> list[int]:
    net = GarnetMessages(dimensions_of(network), network)
    if not is_shortened:
        net._flits._alone = lambda way, flits: None
    for number, message in enumerate(messages):
        assert message[0] == 0
        net.send(0, number, *message[1:])
    found = dict[int, int]()
    while net.next_event_ns() is not None:
        for arrival in net.advance(1 << 50):
            assert arrival.message not in found
            found[arrival.message] = arrival.time_ns
    return [found[number] for number in range(len(messages))]


@pytest.mark.parametrize("router", [1, 3])
@pytest.mark.parametrize("widths", [{}, WIDE])
def test_a_message_takes_its_routers_links_and_full_packets(
    tmp_path: Path, router: int, widths: dict[str, str]
) -> None:
    network = _network(tmp_path, num_npus="16", router_latency=str(router), **widths)
    phits, bridge = (1, 0) if widths else (8, 4)
    # NPU 0 to the one beside it, the one across its package, and the next package
    for target, hops, link in ((1, 1, 90), (2, 2, 90), (4, 1, 200)):
        for size, packets in ((1, 1), (4096, 1), (4097, 2), (40_960, 10)):
            zero = 1 + 2 * 90 + (hops + 1) * router + hops * (link + bridge + phits - 1)
            flits = 16 * packets
            (found,) = _arrivals(network, [(0, 0, target, size)])
            assert found == 1 + zero + (flits - 1) * phits


def test_messages_through_several_dimensions_go_from_one_to_the_next(tmp_path: Path) -> None:
    network = _network(tmp_path)
    legs = [_arrivals(network, [(0, 0, to, 100)])[0] for to in (1, 2, 4)]
    assert _arrivals(network, [(0, 0, 7, 100)]) == [sum(legs)]
    assert _arrivals(network, [(0, 3, 3, 100)]) == [0]


def test_messages_of_an_npu_take_the_rings_in_turn_and_those_of_one_ring_share_it(
    tmp_path: Path,
) -> None:
    network = _network(tmp_path, **WIDE)
    (alone,) = _arrivals(network, [(0, 0, 1, 65_536)])
    # two local rings; the third message waits for its link
    found = _arrivals(network, [(0, 0, 1, 65_536)] * 3)
    assert found[:2] == [alone, alone] or found[1:] == [alone, alone]
    assert alone + 200 < max(found) <= alone + 256 + 1
    # to a package beside it: two rings each way where there are two columns
    assert len(set(_arrivals(network, [(0, 0, 2, 65_536)] * 4))) == 1


@pytest.mark.parametrize("topology", ["NV_Switch", "AllToAll"])
@pytest.mark.parametrize("links", [1, 2])
def test_packages_are_joined_by_switches_or_by_links_of_each_pair(
    tmp_path: Path, topology: str, links: int
) -> None:
    network = _network(tmp_path, topology=topology, links_per_tile=str(links), **WIDE)
    routers, hops = (3, 2) if topology == "NV_Switch" else (2, 1)
    for package in (1, 2, 3):
        (found,) = _arrivals(network, [(0, 0, 2 * package, 4096)])
        assert found == 1 + 1 + 180 + routers + hops * 200 + 15
    Garnet(network).live()


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_shortcut_and_the_flits_agree(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    folder = tmp_path_factory.mktemp("garnet")
    topology = data.draw(st.sampled_from(["Torus3D", "NV_Switch", "AllToAll"]))
    channels = data.draw(st.sampled_from(["4", "50"]))
    network = _network(
        folder, topology=topology, vcs_per_vnet=channels, **data.draw(st.sampled_from([{}, WIDE]))
    )
    npu = st.integers(0, 7)
    messages = data.draw(
        st.lists(st.tuples(st.just(0), npu, npu, st.integers(1, 60_000)), min_size=1, max_size=6)
    )
    assert _arrivals(network, messages) == _arrivals(network, messages, False)


def test_flits_of_messages_that_follow_each_other_go_in_turn_before_a_slow_link(
    tmp_path: Path,
) -> None:
    messages = [(0, 0, 1, 1)] * 20
    network = _network(tmp_path)
    found = _arrivals(network, messages)
    assert found == _arrivals(network, messages, False)
    assert found[7] > 405 + 3 * 128  # when it would end if the fourth of its ring went alone


REFUSED = {
    "topology": ("Torus9D", "topology: must be one of Torus3D, NV_Switch, AllToAll"),
    "num-packages": ("3", "num-packages: must divide num-npus, 8"),
    "package-rows": ("3", "package-rows: must divide num-packages, 4"),
    "router-latency": ("0", "router-latency: must be a whole number from 1"),
    "flit-width": ("wide", "flit-width: must be a whole number from 1"),
}


@pytest.mark.parametrize("key", REFUSED)
def test_a_file_that_breaks_a_rule_is_refused_by_its_key(tmp_path: Path, key: str) -> None:
    value, sentence = REFUSED[key]
    with pytest.raises(ConfigError) as caught:
        _network(tmp_path, **{key: value})
    assert sentence in str(caught.value)
