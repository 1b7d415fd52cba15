"""Factors of speed of single NPUs and cables: of 1 they change no bit, slower ones gain nothing."""

from typing import Any

import pytest

from simcore.config import load_run
from simcore.simulation import Simulator

MODEL = {"name": "tiny", "layers": 1, "hidden": 64, "heads": 8, "ffn": 128, "vocabulary": 128}
BACKENDS = ["congestion_unaware", "congestion_aware_multidim", "flow", "packet"]
LEAVES = {
    "family": "leaf_spine",
    "params": {"leaves": 2, "npus_per_leaf": 4, "spines": 1},
    "bandwidth": "8 GB/s",
    "latency": "500 ns",
}
SIMULATOR = Simulator()


def time_s(backend: str, scale: str = "", cables: Any = None, plan: Any = None) -> float:
    network = {**LEAVES, "cable_scale": cables or {}}
    table = {
        "version": 1,
        "workload": {"model": MODEL, "sequence": 32, "global_batch": 4},
        "platform": {"npu": "h100_80", "network": network, "npu_scale": scale},
        "plan": plan or {"tp": 4, "dp": 2},
        "backend": backend,
    }
    return SIMULATOR.simulate(load_run(table)).iteration_time_s


@pytest.mark.parametrize("plan", [{"tp": 4, "dp": 2}, {"tp": 2, "dp": 4}], ids=str)
@pytest.mark.parametrize("backend", BACKENDS)
def test_factors_of_one_change_no_bit(backend: str, plan: dict[str, int]) -> None:
    plain = time_s(backend, plan=plan)
    assert time_s(backend, "0-7:1", plan=plan) == plain
    assert time_s(backend, "3:1.0,5:1", plan=plan) == plain
    assert time_s(backend, cables={3: {"bandwidth": 1, "latency": 1}}, plan=plan) == plain


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_slower_npu_is_never_faster(backend: str) -> None:
    times = [time_s(backend, scale) for scale in ("", "3:0.9", "3:0.5", "3:0.5,6:0.25")]
    assert times == sorted(times)
    assert times[-1] > times[0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("cable", [2, 8], ids=["of an NPU", "to the spine"])
def test_a_slower_or_longer_cable_is_never_faster(backend: str, cable: int) -> None:
    rates = [time_s(backend, cables={cable: {"bandwidth": rate}}) for rate in (1, 0.5, 0.125)]
    assert rates == sorted(rates)
    assert rates[-1] > rates[0]
    ways = [time_s(backend, cables={cable: {"latency": times}}) for times in (1, 3, 30)]
    assert ways == sorted(ways)
    assert ways[-1] > ways[0]
