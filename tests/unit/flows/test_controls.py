"""Senders of flows that react to congestion, against what their controls say of simple cases."""

from typing import Any

import numpy as np
import pytest

from simcore.errors import ConfigError, SimulationError
from simcore.flows.case import FlowCase, case_of

RATE = 12.5  # bytes per ns


def case(flows: list[list[Any]], control: Any, npus: int = 4, **more: Any) -> FlowCase:
    graph = {"family": "star", "params": {"n": npus}, "bandwidth": "12.5 GB/s", "latency": "1 us"}
    rows = [[number, *flow] for number, flow in enumerate(flows)]
    table = {"kind": "rule", "graph": graph, "routing": {"rule": "minimal_lowest"}}
    return case_of({**table, "flows": rows, "control": control, **more})


def ends(flows: list[list[Any]], control: Any, npus: int = 4) -> Any:
    return case(flows, control, npus).simulate().finish_ns


@pytest.mark.parametrize("name", ["dcqcn", "timely"])
def test_a_sender_alone_has_the_line_for_itself(name: str) -> None:
    (end,) = ends([[0, 1, 1_000_000, 0, None, []]], {"name": name, "header": "0 B", "ack": "48 B"})
    # two links there and two back, the last packet at the switch, its acknowledgement on two links
    assert end == pytest.approx(1_000_000 / RATE + 4_000 + 1_000 / RATE + 2 * 48 / RATE, rel=0.005)


def test_hpcc_uses_its_part_of_a_link() -> None:
    flows: list[list[Any]] = [[0, 1, 20_000_000, 0, None, []], [2, 1, 20_000_000, 0, None, []]]
    whole = 2 * 20_000 * 1_078 / RATE
    for part in (0.95, 0.7):
        last = ends(flows, {"name": "hpcc", "target_use": part, "added": "1.25 MB/s"}).max()
        assert last == pytest.approx(whole / part, rel=0.03)


def test_marks_halve_rates_that_timers_let_rise() -> None:
    # two at line rate fill a queue of 100 ns in 200 ns; cut by half every 4 us until it is empty
    marks = {"name": "dcqcn", "marked": "100 ns", "gain": 1.0, "rise": "1 s", "least": "12.5 MB/s"}
    flows: list[list[Any]] = [[0, 1, 1_000_000, 0, None, []], [2, 1, 1_000_000, 0, None, []]]
    cut = ends(flows, marks).max()
    free = ends(flows, {**marks, "marked": "1 s"}).max()
    assert free == pytest.approx(2 * 1_036_000 / RATE, rel=0.05)
    assert cut > 3 * free


def test_a_mouse_waits_for_the_queue_before_it_and_no_longer() -> None:
    flows: list[list[Any]] = [[0, 1, 4_000_000, 0, None, []], [2, 1, 4_000_000, 0, None, []]]
    mouse: list[list[Any]] = [[3, 1, 1_000, 16_000, None, []]]
    found = ends(flows + mouse, {"name": "dcqcn", "marked": "1 s"})
    # by then the two have brought twice what the link has passed
    assert found[2] - 16_000 == pytest.approx(16_000 + 4_000, rel=0.1)


def test_flows_follow_those_that_they_wait_for() -> None:
    chain: list[list[Any]] = [[0, 1, 100_000, 0, None, []], [1, 2, 100_000, 500, None, [0]]]
    first, second = ends(chain, {"name": "timely"})
    assert second == pytest.approx(2 * first + 500, rel=0.01)


def test_what_links_carry_counts_headers_and_acknowledgements() -> None:
    done = case([[0, 1, 1_000_000, 0, None, []]], {"name": "dcqcn"}).simulate()
    carried = np.sort(done.link_bytes[done.link_bytes > 0.0])
    np.testing.assert_allclose(carried, [48_000, 48_000, 1_036_000, 1_036_000], rtol=1e-6)


@pytest.mark.parametrize(
    ("control", "flow", "said"),
    [
        ({"name": "bbr"}, [0, 1, 1, 0, None, []], "control.name"),
        ("dcqcn", [0, 1, 1, 0, None, []], "control: must be a table with a name"),
        ({"name": "hpcc", "target_use": 2}, [0, 1, 1, 0, None, []], "control.target_use"),
        ({"name": "hpcc"}, [1, 1, 1, 0, None, []], "route"),
    ],
)
def test_what_no_control_can_do_is_refused(control: Any, flow: list[Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        case([flow], control).simulate()


def test_spread_ways_and_rates_over_time_are_refused_where_senders_react() -> None:
    one: list[list[Any]] = [[0, 1, 1_000, 0, None, []]]
    with pytest.raises(ConfigError, match="rates"):
        case(one, {"name": "timely"}).simulate(rates=True)
    graph = {"family": "leaf_spine", "params": {"leaves": 2, "npus_per_leaf": 2, "spines": 2}}
    spread: Any = {"graph": {**graph, "bandwidth": "1 GB/s", "latency": "1 us"}}
    with pytest.raises(ConfigError, match="one way"):
        case([[0, 3, 1, 0, None, []]], {"name": "timely"}, **spread,
             routing={"rule": "spray"}).simulate()  # fmt: skip


def test_flows_that_wait_for_each_other_are_named() -> None:
    circle: list[list[Any]] = [[0, 1, 1_000, 0, None, [1]], [1, 2, 1_000, 0, None, [0]]]
    with pytest.raises(SimulationError, match="the first is flow 0"):
        ends(circle, {"name": "dcqcn"})


def test_acknowledgements_need_a_way_back() -> None:
    columns = ["id", "a", "b", "Bps", "latency_ns", "duplex"]
    graph = {"nodes": 2, "npus": 2, "links_cols": columns}
    links = [[0, 0, 1, 1e9, 10, "simplex"]]
    flows: list[list[Any]] = [[0, 0, 1, 1_000, 0, None, [], [0]]]
    table = {"kind": "explicit", "graph": {**graph, "links": links}, "flows": flows}
    with pytest.raises(ConfigError, match="acknowledgements"):
        case_of({**table, "control": {"name": "dcqcn"}})
