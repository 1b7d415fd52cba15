"""The network backend ``flit``: idle ways by formula, the shortcut, contention, refusals."""

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from engine_runs import collective, dimension, options, program, receive, run_of, send
from hypothesis import given, settings
from hypothesis import strategies as st
from small_models import DLRM

from simcore import ConfigError
from simcore.config import load_run
from simcore.engines.events.input import ListGroup, SystemOptions
from simcore.engines.events.run import run_unfolded
from simcore.flits.settings import FlitNetwork
from simcore.network import Flit, NetworkDimension
from simcore.simulation import simulate_run
from simcore.terms import CollectiveKind

SHAPES = ("ring", "switch", "fully_connected", "mesh")
Message = tuple[int, int, int, int]
"""Start in ns, source, target, bytes."""


def arrivals(
    stack: Sequence[NetworkDimension],
    messages: Sequence[Message],
    told: dict[str, Any] | None = None,
    is_shortened: bool = True,
) -> list[int]:
    """Times at which messages arrive."""
    network = Flit(stack, FlitNetwork.from_file_data(told or {}, at="routers"))
    if not is_shortened:
        network._flits._alone = lambda way, flits: None
    found, left = [-1] * len(messages), sorted(range(len(messages)), key=lambda i: messages[i][0])
    while left or network.next_event_ns() is not None:
        due_ns, start_ns = network.next_event_ns(), messages[left[0]][0] if left else 1 << 60
        if left and (due_ns is None or start_ns <= due_ns):
            number = left.pop(0)
            network.send(start_ns, number, *messages[number][1:])
            continue
        for arrival in network.advance(start_ns):
            assert found[arrival.message] == -1
            found[arrival.message] = arrival.time_ns
    return found


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_the_shortcut_and_the_flits_agree_on_every_message(data: st.DataObject) -> None:
    """Random messages, some of which meet: with the formula as without it."""
    stack = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(SHAPES),
                st.integers(2, 5),
                st.sampled_from([8.0, 12.8, 25.6, 32.0]),
                st.sampled_from([0.0, 1.0, 3.0, 40.0]),
            ),
            min_size=1,
            max_size=2,
        )
    )
    network = [dimension(name, n, bytes_per_ns=b, latency_ns=ns) for name, n, b, ns in stack]
    npu = st.integers(0, prod(one.npus for one in network) - 1)
    size = st.one_of(st.integers(0, 6000), st.sampled_from([512, 1024, 4096]))
    message = st.tuples(st.integers(0, 400), npu, npu, size)
    messages = data.draw(st.lists(message, min_size=1, max_size=8))
    told = {
        "packet_flits": data.draw(st.sampled_from([1, 4, 16])),
        "channels": data.draw(st.sampled_from([2, 4, 8])),
    }
    assert arrivals(network, messages, told) == arrivals(
        network, messages, told, is_shortened=False
    )


@pytest.mark.parametrize("size", [4, 8, 16])
@pytest.mark.parametrize("bytes_per_ns", [31.0, 30.0, 28.0, 25.6, 24.0, 12.8])
def test_the_shortcut_knows_links_a_little_slower_than_others(
    bytes_per_ns: float, size: int
) -> None:
    """Heads wait there for less than a cycle: some do, as fractions of cycles fall."""
    network = [
        dimension("ring", 3, bytes_per_ns=32.0),
        dimension("ring", 2, bytes_per_ns=bytes_per_ns),
    ]
    for flits in (5, 9, 17, 36, 137):
        told, messages = {"packet_flits": size}, [(0, 0, 3, 32 * flits)]
        assert arrivals(network, messages, told) == arrivals(
            network, messages, told, is_shortened=False
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_message_alone_takes_its_routers_links_and_flits(shape: str) -> None:
    """The formula of the semantics: 3 + 4 per router, the links, and the flits behind the first."""
    network = [dimension(shape, 5, bytes_per_ns=32.0, latency_ns=7.0)]
    for target in range(1, 5):
        for flits in (1, 16, 100):
            (found,) = arrivals(network, [(0, 0, target, 32 * flits)])
            links = {
                "ring": min(target, 5 - target), "mesh": target, "switch": 2, "fully_connected": 1,
            }[shape]  # fmt: skip
            # from the next cycle on: in and out, routers, links, flits behind the first
            assert found == 1 + 3 + 4 * (links + 1) + 7 * links + flits - 1


def test_messages_on_one_link_share_it_and_the_notes_say_where() -> None:
    network = [dimension("mesh", 3, bytes_per_ns=32.0, latency_ns=1.0)]
    size = 32 * 1600
    into = program([receive(0, size), receive(1, size)])
    both = [program([send(2, size)]), program([send(2, size)]), into]
    (alone,) = arrivals(network, [(0, 0, 2, size)])
    inputs = run_of(network, both, SystemOptions(), backend="flit")
    assert alone + 1600 <= run_unfolded(inputs).finish_ns[2] <= 1.01 * alone + 1600
    flit = Flit(network)
    flit.send(0, 1, 0, 2, size)
    flit.send(0, 2, 1, 2, size)
    while flit.next_event_ns() is not None:
        flit.advance(1 << 50)
    (note,) = flit.account().notes
    assert "2 of 2 waited for others" in note
    assert "the link from node 1 to 2" in note


def test_routers_lie_inside_another_network() -> None:
    """A message that leaves the routers goes on outside when all of it has come there."""
    network = [dimension("mesh", 3, bytes_per_ns=32.0), dimension("switch", 4, bytes_per_ns=4.0)]
    for outside in ("congestion_unaware", "flow"):
        told = {"dimensions": 1, "outside": outside}
        inner, outer, across = (
            arrivals(network, [(0, 0, target, 32_000)], told)[0] for target in (2, 9, 11)
        )
        assert outer == 2 * 500 + 32_000 / 4
        assert across == inner + outer
        assert arrivals(network, [(5, 7, 7, 10)], told) == [5]


@pytest.mark.parametrize("stack", [(("ring", 64),), (("mesh", 16), ("mesh", 16))])
def test_an_all_reduce_that_shares_no_link_takes_what_the_analytical_backend_says(
    stack: tuple[tuple[str, int], ...],
) -> None:
    """64 MB, around one ring through routers, and along both dimensions of 16 by 16."""
    network = [dimension(name, n, bytes_per_ns=64.0, latency_ns=1.0) for name, n in stack]
    nodes = [program([collective(CollectiveKind.ALL_REDUCE, 64 << 20)])]
    times = [
        run_unfolded(
            run_of(network, nodes, options(["ring"] * len(stack)), backend=backend)
        ).finish_ns.max()
        for backend in ("congestion_unaware", "flit")
    ]
    assert times[0] <= times[1] <= 1.05 * times[0]


def test_a_ring_of_neighbours_through_a_mesh_takes_what_the_analytical_backend_says() -> None:
    """One ring up the first column and back row by row; a list of all NPUs is no ring, so that
    a second mesh stands idle. Around a ring in a random order messages meet, and notes say where.
    """
    side, size = 6, 2 << 20
    rows = ((x + side * y, y) for y in reversed(range(side)) for x in range(1, side))
    back = sorted(rows, key=lambda one: (-one[1], one[0] if one[1] % 2 else -one[0]))
    near = [side * y for y in range(side)] + [npu for npu, _ in back]
    mesh = dimension("mesh", side, bytes_per_ns=64.0, latency_ns=1.0)
    network = [mesh, mesh, dimension("switch", 2, bytes_per_ns=64.0, latency_ns=1.0)]
    work = program([collective(CollectiveKind.ALL_REDUCE, size, group=1)])
    programs = [work] * side**2 + [program([])] * side**2
    mixed = [near[7 * i % side**2] for i in range(side**2)]
    for order, most in ((near, 1.05), (mixed, 9.0)):
        groups = {1: ListGroup(members=np.array(order, np.int64))}
        flit = Flit(network)
        runs = [
            run_of(network, programs, options(["ring"] * 3), backend=name, groups=groups)
            for name in ("congestion_unaware", "flit")
        ]
        plain = run_unfolded(runs[0]).finish_ns.max()
        found = run_unfolded(replace(runs[1], network=flit)).finish_ns.max()
        assert plain <= found <= most * plain
        (note,) = flit.account().notes
        assert ("no two of them shared a link" in note) == (order is near)
        assert (found > 1.05 * plain and "waited for others on links" in note) == (order is mixed)


def test_an_all_reduce_on_shared_links_says_by_how_much_it_differs_and_where() -> None:
    """Four NPUs in a line, each of which sends to all others: inner links carry most.

    In the first half of a direct all-reduce each sends a quarter to each other one, so that a link
    carries i (4 - i) quarters one way, i NPUs being before it: 4 in the middle and 3 beside it.
    Analytically no message waits for another.
    """
    network, size = [dimension("mesh", 4, bytes_per_ns=32.0, latency_ns=1.0)], 1 << 20
    flit = Flit(network)
    inputs = run_of(
        network,
        [program([collective(CollectiveKind.ALL_REDUCE, size)])],
        options(["direct"]),
        backend="flit",
    )
    found = run_unfolded(replace(inputs, network=flit)).finish_ns.max()
    unaware = run_unfolded(replace(inputs, backend="congestion_unaware")).finish_ns.max()
    middle_ns = 2 * 4 * size / 4 / 32  # both halves
    assert middle_ns <= found <= 1.4 * middle_ns
    assert found > 4 * unaware
    (note,) = flit.account().notes
    assert re.match(r"flit by flit, messages took \+\d+\.\d% against", note)
    assert re.search(r"most on the link from node (1 to 2|2 to 1)", note)


RUN: dict[str, Any] = {
    "workload": {
        "kind": "dlrm",
        "model": DLRM,
        "tables": {"sharding": "table"},
        "global_batch": 64,
    },
    "platform": {
        "npu": "h100_80",
        "dimensions": [{"topology": "mesh", "npus": 4, "bandwidth": "50 GB/s", "latency": "10 ns"}],
    },
    "plan": {"dp": 4},
    "backend": "flit",
}


def test_a_run_file_tells_the_routers_and_the_result_where_messages_met() -> None:
    found = simulate_run(load_run(RUN | {"routers": {"flit": "64 B", "channels": 8}}))
    assert any(note.startswith("flit by flit, messages took") for note in found.notes)
    unaware = simulate_run(load_run(RUN | {"backend": "congestion_unaware"}))
    assert found.iteration_time_s >= unaware.iteration_time_s


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "dimensions": ({"dimensions": 3}, "routers.dimensions: must be at most 2"),
    "outside": ({"dimensions": 1, "outside": "snail"}, "routers.outside: must be one of"),
    "unknown": ({"chanels": 2}, "did you mean 'channels'"),
    "channels": ({"channels": 1}, "routers.channels"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_settings_that_cannot_be_are_refused_in_one_sentence(case: str) -> None:
    told, sentence = REFUSED[case]
    with pytest.raises(ConfigError) as caught:
        arrivals([dimension("ring", 4), dimension("switch", 4)], [(0, 0, 2, 1000)], told)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
