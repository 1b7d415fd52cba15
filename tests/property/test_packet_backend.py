"""The network backend ``packet``: idle ways by formula, contention, and what it refuses."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any, get_args

import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send
from hypothesis import given, settings
from hypothesis import strategies as st

from simcore import ConfigError
from simcore.config import load_run
from simcore.engines.events.input import SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.graphs.network_table import NetworkFile
from simcore.graphs.stack import StackedGraph
from simcore.machine.graph_dimensions import network_dimensions
from simcore.network import NetworkDimension, Packet
from simcore.network.dimensions import engine_dimensions
from simcore.network.lines import lines_of
from simcore.packets.controls import CONTROLS
from simcore.packets.fabric import ControlName, PacketNetwork
from simcore.simulation import simulate_run
from simcore.terms import CollectiveKind

ROCE, INFINIBAND = 82, 26
"""Bytes of headers on the wire."""
SHAPES = ("ring", "switch", "fully_connected")


def arrival_ns(
    dimensions: Sequence[NetworkDimension], ends: tuple[int, int], size: int, **settings: Any
) -> int:
    """Time of one message by itself."""
    network = Packet(dimensions, PacketNetwork.from_file_data(settings, at="network"))
    network.send(0, 1, *ends, size)
    while True:
        assert network.next_event_ns() is not None
        if arrivals := network.advance(10**12):
            return arrivals[0].time_ns


def sending_ns(size: int, bytes_per_ns: float) -> int:
    """Time of a packet, to the nearest ns, halves down."""
    rate = round(bytes_per_ns * 8e9)
    return (2 * 8 * size * 10**9 + rate - 1) // (2 * rate)


def formula_ns(
    dimensions: Sequence[NetworkDimension], ends: tuple[int, int], size: int, mtu: int, headers: int
) -> int:
    """Store and forward of every packet over every link of the way."""
    graph = StackedGraph(lines_of(dimensions))
    ready = [0] * -(-size // mtu)
    sizes = [min(mtu, size - at) + headers for at in range(0, size, mtu)]
    for link in graph.way(*ends)[0].tolist():
        free = 0
        for packet, start in enumerate(ready):
            free = max(start, free) + sending_ns(sizes[packet], graph.bytes_per_ns[link])
            ready[packet] = free + round(graph.latency_ns[link])
    return ready[-1]


@settings(max_examples=25, deadline=None)
@given(
    stack=st.lists(
        st.tuples(
            st.sampled_from(SHAPES),
            st.integers(2, 4),
            st.sampled_from([12.5, 25.0, 50.0]),
            st.integers(0, 3000),
        ),
        min_size=1,
        max_size=3,
    ),
    pair=st.tuples(st.integers(0, 10**6), st.integers(1, 10**6)),
    size=st.integers(1, 60_000),
    mtu=st.sampled_from([1024, 4096]),
    transport=st.sampled_from(["roce", "infiniband"]),
)
def test_a_message_alone_takes_the_idle_time_and_what_its_packets_add(
    stack: list[tuple[str, int, float, int]],
    pair: tuple[int, int],
    size: int,
    mtu: int,
    transport: str,
) -> None:
    network = [dimension(name, n, bytes_per_ns=b, latency_ns=ns) for name, n, b, ns in stack]
    npus = prod(one.npus for one in network)
    source = pair[0] % npus
    ends = source, (source + 1 + pair[1] % (npus - 1)) % npus
    headers = ROCE if transport == "roce" else INFINIBAND
    found = arrival_ns(network, ends, size, mtu=f"{mtu} B", transport=transport)
    assert found == formula_ns(network, ends, size, mtu, headers)


def test_on_equal_links_packets_add_headers_and_one_packet_per_further_link() -> None:
    network = [dimension("switch", 4, bytes_per_ns=12.5)]
    packets, idle_ns = 20, 2 * 500 + 20 * 4096 / 12.5
    packet_ns = sending_ns(4096 + ROCE, 12.5)
    found = arrival_ns(network, (0, 3), packets * 4096)
    assert found == packets * packet_ns + packet_ns + 2 * 500
    assert found - idle_ns == pytest.approx(packets * ROCE / 12.5 + packet_ns, abs=packets)


def test_messages_to_one_npu_share_its_link() -> None:
    network = [dimension("switch", 4)]
    size = 40 * 4096
    both = [
        program([receive(1, size), receive(2, size)]),
        *[program([send(0, size)])] * 2,
        program([]),
    ]
    alone = arrival_ns(network, (1, 0), size)
    found = run_unfolded(run_of(network, both, SystemOptions(), backend="packet"))
    packet_ns = sending_ns(4096 + ROCE, 50.0)
    # both flows' packets leave the switch one after the other
    assert found.finish_ns[0] == alone + 40 * packet_ns


def test_messages_inside_the_first_dimension_need_no_packets() -> None:
    network = [dimension("ring", 4), dimension("switch", 4)]
    inside = {"from_dimension": 1}
    settings = PacketNetwork.from_file_data(inside, at="network")
    nodes = [program([send(2, 10_000)]), program([]), program([receive(0, 10_000)]), program([])]
    inputs = run_of(network, nodes + [program([])] * 12, SystemOptions())
    found = run_unfolded(replace(inputs, network=Packet(network, settings)))
    assert found.finish_ns[2] == 2 * 500 + 10_000 // 50
    across = arrival_ns(network, (0, 4), 10_000)
    assert arrival_ns(network, (0, 4), 10_000, **inside) == across


def all_to_all_of(**told: Any) -> Packet:
    """An all-to-all of eight NPUs on a leaf-spine, after it has ended."""
    table = {
        "family": "leaf_spine",
        "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 2},
        "bandwidth": "50 GB/s",
        "latency": "500 ns",
    }
    network = engine_dimensions(network_dimensions(NetworkFile.from_file_data(table, at=""), ""))
    settings = PacketNetwork.from_file_data(told, at="network")
    nodes = [program([collective(CollectiveKind.ALL_TO_ALL, 1 << 16)])]
    inputs = run_of(list(network), nodes, options(["direct"] * len(network)))
    packets = Packet(network, settings)
    found = run_unfolded(replace(inputs, network=packets))
    assert not found.waiting
    assert found.sent_bytes == found.received_bytes == run_unfolded(inputs).sent_bytes
    return packets


@pytest.mark.parametrize("transport", ["roce", "infiniband"])
@pytest.mark.parametrize("routing", ["ecmp", "spray", "adaptive", "flowlet", "valiant", "ugal"])
def test_an_all_to_all_on_a_leaf_spine_ends_on_every_fabric(transport: str, routing: str) -> None:
    packets = all_to_all_of(transport=transport, routing=routing, congestion_control="none")
    assert packets.account().figures["packets_dropped"] == 0


@pytest.mark.parametrize("control", [name for name in get_args(ControlName) if name != "window"])
def test_an_all_to_all_ends_with_every_congestion_control(control: str) -> None:
    told: dict[str, Any] = {"transport": "tcp" if control in ("reno", "cubic") else "roce"}
    figures = all_to_all_of(routing="ecmp", congestion_control=control, **told).account().figures
    assert figures["packets"] >= 7 * 8 * 2
    assert control in CONTROLS


def test_messages_of_a_run_get_over_losses_and_a_failed_link() -> None:
    lost = all_to_all_of(routing="spray", congestion_control="none", loss=0.01, retry="20 us")
    assert lost.account().figures["packets_resent"] > 0
    change = {"at": "1 us", "between": [8, 10], "rate": "0 B/s"}  # a leaf's cable to a spine
    all_to_all_of(
        routing="ecmp", congestion_control="none", retry="50 us", link_changes=[change]
    )  # fmt: skip


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "routing": ({"routing": "spray"}, "network.routing: must be network where NPUs pass on"),
    "marks": ({"ecn": {"kmin": "2 MB", "kmax": "1 MB"}}, "network.ecn.kmin: must be at most kmax"),
    "unknown": ({"transprot": "roce"}, "did you mean 'transport'"),
    "fabric": ({"transport": "token_ring"}, "network.transport"),
    "buffer": ({"buffer": "100 KB"}, "network.buffer: must be more than"),
    "train": ({"transport": "tcp", "train": 8}, "network.train: must be followed one by one"),
    "lanes": ({"lanes": 2}, "network.lanes: must be one weight where links have no credits"),
    "told": (
        {"link_changes": [{"at": "1 us", "between": [0, 1], "rate": "0 B/s"}]},
        "network.link_changes: must be none where pairs of hosts keep the ways",
    ),
    "unit": ({"buffer": 5}, "must have a unit"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_cannot_be_are_refused_in_one_sentence(case: str) -> None:
    told, sentence = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        arrival_ns([dimension("ring", 4), dimension("switch", 4)], (0, 2), 1000, **told)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_file_tells_the_network_of_its_packets() -> None:
    told = {
        "workload": {"model": "gpt3_13b", "sequence": 2048, "global_batch": 8},
        "platform": {
            "npu": "h100_80",
            "dimensions": [
                {"topology": "switch", "npus": 8, "bandwidth": "50 GB/s", "latency": "500 ns"}
            ],
        },
        "plan": {"tp": 8},
        "backend": "packet",
        "network": {"transport": "infiniband", "mtu": "2048 B", "buffer": "64 KiB"},
    }
    run = load_run(told)
    assert run.network.control == "none"
    parameters = run.network.parameters([400 * 10**9])
    assert parameters.link_control == "credits"
    assert (parameters.credit_bytes, parameters.header_bytes) == (64 << 10, 26)


def test_rails_are_simulated_once_and_the_result_says_so() -> None:
    rails = {"servers": 4, "npus_per_server": 4, "servers_per_pod": 4, "nvswitches": 1, "spines": 1}
    model = {"name": "small", "kind": "gpt", "layers": 1, "hidden": 256, "heads": 4, "ffn": 1024}
    told = {
        "workload": {"model": {**model, "vocabulary": 0}, "sequence": 128, "global_batch": 4},
        "platform": {
            "npu": "a100_80",
            "network": {
                "family": "rails", "params": rails, "bandwidth": "25 GB/s", "latency": "500 ns",
                "cables": {"npu-nvswitch": {"bandwidth": "300 GB/s", "latency": "350 ns"}},
            },
        },
        "plan": {"tp": 4, "dp": 4},
        "backend": "packet",
    }  # fmt: skip
    plain, folded = (
        simulate_run(load_run({**told, "network": {"fold": fold}})) for fold in (False, True)
    )
    # rails alone: a link of NVLink may deliver several packets in a ns, so that marks may be drawn
    figures = dict(folded.traffic)
    assert figures.pop("messages_folded") >= 3 * 4 * 2
    assert "one for up to 4" in folded.notes[0]
    assert folded.iteration_time_s == plain.iteration_time_s
    assert figures == plain.traffic
    assert folded.notes[1:] == plain.notes
