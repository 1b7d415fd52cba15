"""Laws of flows that share links, on random graphs."""

import itertools

import numpy as np
import pytest
from every_case import with_every
from hypothesis import given, settings
from hypothesis import strategies as st
from plain_flows import plain_finish, random_case

from simcore.flows.case import FlowCase, case_of
from simcore.flows.simulate import FlowTable, simulate_flows
from simcore.graphs.read import graph_of_table
from simcore.graphs.routing import ROUTINGS, Demands

SEEDS = st.integers(0, 10**9)


def _finish(case: FlowCase) -> np.ndarray:
    return simulate_flows(case.graph, case.routes, case.flows).finish_ns


@with_every("seed", range(60))
def test_finish_times_are_those_of_a_plain_oracle_in_fractions(seed: int) -> None:
    data = random_case(seed)
    np.testing.assert_allclose(_finish(case_of(data)), plain_finish(data), rtol=1e-9, atol=1e-9)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_faster_links_and_smaller_flows_scale_times_alike(seed: int) -> None:
    data = random_case(seed)
    for row in data["graph"]["links"]:
        row[4] = 0
    for row in data["flows"]:
        row[4], row[5] = 0, None
    one = _finish(case_of(data))
    for row in data["graph"]["links"]:
        row[3] *= 4
    for row in data["flows"]:
        row[3] *= 2
    np.testing.assert_allclose(_finish(case_of(data)), one / 2, rtol=1e-9)


@settings(max_examples=30, deadline=None)
@given(SEEDS)
def test_bytes_of_rates_over_time_are_the_sizes(seed: int) -> None:
    case = case_of(random_case(seed))
    done = simulate_flows(case.graph, case.routes, case.flows, rates=True)
    assert done.rates is not None
    lengths = np.diff(case.routes.offsets)
    for flow, steps in enumerate(done.rates):
        through = sum(
            rate * (end - begin) / 1e9 for (begin, rate), (end, _) in itertools.pairwise(steps)
        )
        unbounded = lengths[flow] == 0 and not steps
        assert unbounded or through == pytest.approx(case.flows.size_bytes[flow], rel=1e-9)


def _fair(capacity: np.ndarray, routes: list[np.ndarray], rates: np.ndarray) -> bool:
    """True if no link is overfull and every flow has a full link on which none is faster."""
    load, fastest = np.zeros(len(capacity)), np.zeros(len(capacity))
    for links, rate in zip(routes, rates, strict=True):
        load[links] += rate
        fastest[links] = np.maximum(fastest[links], rate)
    full = load >= capacity * (1 - 1e-9)
    held = [
        (full[links] & (rate >= fastest[links] * (1 - 1e-9))).any()
        for links, rate in zip(routes, rates, strict=True)
    ]
    return bool((load <= capacity * (1 + 1e-9)).all() and all(held))


@settings(max_examples=12, deadline=None)
@given(SEEDS)
def test_rates_are_fair_after_every_event_on_a_leaf_spine(seed: int) -> None:
    draw = np.random.default_rng(seed)
    params = {"leaves": 4, "npus_per_leaf": 4, "spines": 3}
    table = {"family": "leaf_spine", "params": params, "bandwidth": "10 GB/s", "latency": "1 us"}
    graph = graph_of_table(table)
    count = 60
    source = draw.integers(0, 16, count)
    target = (source + draw.integers(1, 16, count)) % 16
    size = draw.integers(1, 10**6, count).astype(float)
    demands = Demands(source=source, target=target, number=np.arange(count), size_bytes=size)
    routing = ROUTINGS["ecmp_hash"]
    routes = routing.routes(graph, demands, routing.options.build(seed=seed))
    flows = FlowTable(
        route=np.arange(count),
        size_bytes=size,
        start_ns=draw.integers(0, 10**5, count).astype(float),
    )
    done = simulate_flows(graph, routes, flows, rates=True)
    assert done.rates is not None
    links = np.split(routes.links, routes.offsets[1:-1])
    times = np.unique([step[0] for steps in done.rates for step in steps])
    for begin, end in itertools.pairwise(times):
        if end - begin < 1e-3:
            continue
        now = np.array(
            [
                max((s for s in steps if s[0] <= begin), default=(0.0, 0.0))[1]
                for steps in done.rates
            ]
        )
        moving = np.flatnonzero(now)
        assert _fair(graph.bytes_per_s, [links[flow] for flow in moving], now[moving])
