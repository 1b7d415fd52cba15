"""All-reduces that switches add up: bytes, trees of switches, payloads, streams and formats."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from simcore import (
    ConfigError,
    InfeasibleError,
    RunTemplate,
    check_run,
    simulate_many,
    simulate_run,
)
from simcore.collectives import algorithm_named
from simcore.engines.collectives.alone import Asked, times_alone
from simcore.engines.collectives.placement import Placement
from simcore.engines.collectives.timer import CollectiveTimer
from simcore.graphs.network_table import InNetwork
from simcore.machine import Platform, load_npu
from simcore.machine.system import System
from simcore.terms import CollectiveKind

NPUS, SIZE, RATE, LATENCY_NS, DELAY_NS = 64, 1 << 22, 50.0, 400.0, 10


def machine(in_network: Mapping[str, object] | None = None) -> Platform:
    switch: dict[str, object] = {
        "topology": "switch", "npus": NPUS, "bandwidth": "50 GB/s", "latency": "400 ns",
    }  # fmt: skip
    if in_network is not None:
        switch["in_network"] = in_network
    return Platform.model_validate({"npu": load_npu("h100_80"), "dimensions": [switch]})


def last_ns(platform: Platform, backend: str = "congestion_unaware", size: int = SIZE) -> int:
    asked = Asked(collective="all_reduce", size_bytes=size, backend=backend, system={"chunks": 1})
    return times_alone(platform, asked, [("in_network",)])[0].last_ns


def test_every_buffer_goes_up_once_and_comes_down_once() -> None:
    """A tree without the switches sends it up and down again: 2 (n - 1) messages for n - 1 sums."""
    once = algorithm_named("in_network").sent(CollectiveKind.ALL_REDUCE, NPUS)
    ring = algorithm_named("ring").sent(CollectiveKind.ALL_REDUCE, NPUS)
    assert once == ring * Fraction(NPUS, 2 * (NPUS - 1)) == 1
    for backend in ("congestion_unaware", "congestion_aware_multidim"):
        asked = Asked(collective="all_reduce", size_bytes=SIZE, backend=backend)
        halved, whole = times_alone(machine(), asked, [("in_network",), ("ring",)])
        assert halved.sent_bytes == SIZE
        assert halved.sent_bytes * 2 * (NPUS - 1) == whole.sent_bytes * NPUS


@pytest.mark.parametrize(("radix", "levels"), [(64, 1), (63, 2), (8, 2), (7, 3), (2, 6)])
def test_a_tree_of_switches_takes_the_latency_of_each_level(radix: int, levels: int) -> None:
    assert InNetwork(radix=radix).levels(NPUS) == levels
    found = last_ns(machine({"reduces": True, "radix": radix}))
    assert found == 2 * DELAY_NS + int(2 * LATENCY_NS + SIZE / RATE) + 2 * LATENCY_NS * (levels - 1)


@pytest.mark.parametrize("streams", [1, 2, 4, 1024])
def test_operations_follow_each_other_as_the_window_comes_back(streams: int) -> None:
    payload = 65_536
    found = last_ns(machine({"reduces": True, "payload": f"{payload} B", "streams": streams}))
    operations, way = SIZE // payload, 2 * LATENCY_NS
    windows = -(-operations // streams)
    left = (operations - (windows - 1) * streams) * payload / RATE
    waits = (windows - 1) * (way + payload / RATE) + left
    assert found == pytest.approx(2 * DELAY_NS + way + max(SIZE / RATE, waits), abs=2)
    assert (found > last_ns(machine())) == (streams == 1)


@pytest.mark.parametrize("backend", ["congestion_aware_multidim", "flow", "packet", "flit"])
def test_limits_hold_on_every_backend(backend: str) -> None:
    limits = {"reduces": True, "radix": 8, "payload": "8 KiB", "streams": 2}
    idle, free, held = "congestion_unaware", machine(), machine(limits)
    added = last_ns(held, idle, 16_384) - last_ns(free, idle, 16_384)
    assert added == 2 * LATENCY_NS  # two operations under way, two levels of switches
    assert last_ns(held, backend, 16_384) - last_ns(free, backend, 16_384) == added


def test_the_closed_form_knows_the_limits() -> None:
    platform = machine({"reduces": True, "radix": 4, "payload": "16 KiB"})
    system = System(chunks=1, all_reduce=("in_network",))
    rate = platform.npu.memory_bandwidth_bytes_per_s
    timer = CollectiveTimer(platform.dimensions, system, rate)
    place = Placement(extent=(NPUS,), stride=(1,))
    time = timer.time(CollectiveKind.ALL_REDUCE, place, SIZE)
    assert time.duration_ns == last_ns(platform)


def run(in_network: Mapping[str, object] | None, algorithm: str = "in_network") -> object:
    table: dict[str, object] = {
        "workload": {"model": "gpt3_13b", "sequence": 512, "global_batch": 64},
        "plan": {"dp": 64},
        "system": {"all_reduce": algorithm, "chunks": 1},
    }
    table["platform"] = {
        "npu": "h100_80",
        "dimensions": [
            {"topology": "switch", "npus": NPUS, "bandwidth": "50 GB/s", "latency": "400 ns"}
            | ({} if in_network is None else {"in_network": in_network})
        ],
    }
    return simulate_run(RunTemplate.from_table(table).with_values({})).iteration_time_s


def test_formats_that_switches_do_not_add_up_are_refused() -> None:
    within = run({"reduces": True, "formats": ["bf16", "fp32"]})
    assert within == run(None)
    with pytest.raises(ConfigError, match=r"all_reduce\[0\]: .* add up fp32, not bf16: name"):
        run({"reduces": True, "formats": ["fp32"]})
    assert run({"reduces": True, "formats": ["fp32"]}, "ring") == run(None, "ring")


def test_only_switches_add_up() -> None:
    ring = {"topology": "ring", "npus": 4, "bandwidth": "50 GB/s", "latency": "400 ns"}
    table = {"npu": load_npu("h100_80"), "dimensions": [{**ring, "in_network": {"radix": 4}}]}
    with pytest.raises(ValueError, match="where no switches are"):
        Platform.model_validate(table)


@pytest.mark.parametrize(
    ("network", "told"),
    [
        ({"family": "torus", "params": {"dims": [4, 4]}}, "no switches that add up"),
        ({"family": "islands", "params": {"sizes": [6, 10], "joins": [[0, 6]]}}, "no switches"),
        ({"family": "dragonfly", "params": {"p": 2, "a": 2, "h": 1, "groups": 3}}, ""),
        (
            {"family": "star", "params": {"n": 16}, "in_network": {"reduces": False}},
            "add up nothing",
        ),
        ({"family": "star", "params": {"n": 16}, "in_network": {"radix": 4}}, ""),
    ],
)
def test_sums_in_switches_need_switches_that_add_up(network: dict[str, Any], told: str) -> None:
    npus = 12 if network["family"] == "dragonfly" else 16
    table = {
        "workload": {"model": "llama2_7b", "sequence": 512, "global_batch": npus},
        "plan": {"dp": npus},
        "system": {"all_reduce": "in_network", "chunks": 1},
        "platform": {
            "npu": "h100_80",
            "network": {**network, "bandwidth": "50 GB/s", "latency": "400 ns"},
        },
    }
    run = RunTemplate.from_table(table).with_values({})
    if not told:
        check_run(run, memory=False)
        return
    with pytest.raises(InfeasibleError, match=f"switches_add_up: .*{told}"):
        check_run(run, memory=False)


def test_no_ring_without_switches_adds_up_on_the_way() -> None:
    ring = {"topology": "ring", "npus": 64, "bandwidth": "50 GB/s", "latency": "400 ns"}
    table = {
        "workload": {"model": "gpt3_13b", "sequence": 512, "global_batch": 64},
        "plan": {"dp": 64},
        "system": {"all_reduce": "ring"},
        "platform": {"npu": "h100_80", "dimensions": [ring]},
    }
    template, choices = RunTemplate.from_table(table), ["ring", "in_network"] * 3
    many = simulate_many(template, {"system.all_reduce": choices}, memory=False)
    refused = [isinstance(many.error(row), InfeasibleError) for row in range(6)]
    assert refused == [False, True] * 3
