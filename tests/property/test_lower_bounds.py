"""No design is simulated faster than its lower bound, and vectorised footprints are exact."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from outside_algorithms import OUTSIDE
from outside_topologies import OUTSIDE_TOPOLOGIES

from simcore import (
    TOPOLOGIES,
    ConfigError,
    InfeasibleError,
    RunTemplate,
    SimulationError,
    Simulator,
    footprints,
    lower_bounds,
)
from simcore.collectives import ALGORITHMS

SMALL = {
    "workload": {"model": "gpt3_175b_4layers", "sequence": 256, "global_batch": 64},
    "platform": {
        "npu": "a100_80",
        "dimensions": [
            {"topology": "switch", "npus": 4, "bandwidth": "300 GB/s", "latency": "700 ns"},
            {"topology": "ring", "npus": 4, "bandwidth": "25 GB/s", "latency": "1700 ns"},
        ],
    },
    "plan": {"tp": 2, "dp": 4, "pp": 2},
}
DEGREES = [1, 2, 4, 8, 16]
KNOBS: dict[str, list[Any]] = {
    "workload.model": ["gpt3_175b_4layers", "gpt3_175b_4layers", "llama3_8b"],
    "plan.tp": DEGREES[:4],
    "plan.cp": DEGREES[:3],
    "plan.pp": DEGREES[:3],
    "plan.micro_batch": [1, 2],
    "plan.interleave": [1, 1, 2],
    "plan.schedule": ["1f1b", "1f1b", "gpipe"],
    "plan.sequence_parallel": [False, True],
    "plan.zero_stage": [0, 1, 2, 3],
    "plan.overlap_weights": [False, False, True],
    "plan.recompute": ["none", "selective", "full"],
    "plan.average_loss": [False, True],
    "plan.scale_loss": [False, True],
    "platform.dimensions[0].topology": ["ring", "fully_connected", "switch"],
    "platform.dimensions[1].topology": ["ring", "fully_connected", "switch"],
    "platform.dimensions[0].npus": [2, 4, 8],
    "platform.dimensions[1].npus": [2, 4, 8],
    "platform.dimensions[0].bandwidth": ["1 GB/s", "50 GB/s", "900 GB/s"],
    "platform.dimensions[1].bandwidth": ["0.5 GB/s", "10 GB/s", "200 GB/s"],
    "platform.dimensions[1].latency": ["0 ns", "1 us", "1 ms"],
    "system.all_reduce[0]": ["ring", "direct", "halving_doubling", "double_binary_tree"],
    "system.all_reduce[1]": ["ring", "direct2", "halving_doubling", "by_topology"],
    "system.collective_optimization": ["baseline", "local_bw_aware"],
    "system.inter_dimension": ["ascending", "ascending", "round_robin", "offline_greedy"],
    "system.chunks": [1, 3, 4, 16],
    "system.active_chunks_per_dimension": [1, 1, 2],
    "system.endpoint_delay": ["0 ns", "10 ns", "5 us"],
    "system.scheduling": ["lifo", "fifo"],
    "system.phase_end": ["together", "together", "each"],
}


NETWORKS = ["ring", "mesh", *OUTSIDE_TOPOLOGIES]
FROM_OUTSIDE: dict[str, list[Any]] = {
    **KNOBS,
    "platform.dimensions[0].topology": NETWORKS,
    "platform.dimensions[1].topology": NETWORKS,
    "platform.dimensions[0].npus": [2, 4, 8],
    "platform.dimensions[1].npus": [2, 8],
    "system.all_reduce[0]": ["ring", "direct", "sums_of_pairs", "halving_doubling"],
    "system.all_reduce[1]": ["ring", "direct2", "sums_of_pairs", "double_binary_tree"],
    "system.all_gather": ["backwards", "zigzag", "ring"],
    "system.reduce_scatter": ["backwards", "zigzag", "halving_doubling"],
}
"""With topologies and algorithms that are not the product's."""


def random_designs(
    template: RunTemplate, seed: int, wanted: int, knobs: Mapping[str, Sequence[Any]] = KNOBS
) -> tuple[list[dict[str, object]], list[tuple[float, float, float]]]:
    """Designs that can be simulated, and iteration time, footprint and link load of each."""
    random = np.random.default_rng(seed)
    simulator = Simulator()
    designs: list[dict[str, object]] = []
    answers: list[tuple[float, float, float]] = []
    while len(designs) < wanted:
        values = random_values(random, knobs)
        if values is None:
            continue
        try:
            result = simulator.simulate(template.with_values(values))
        except (InfeasibleError, SimulationError, ConfigError):
            continue
        designs.append(values)
        answers.append((result.iteration_time_s, result.footprint_bytes, max(result.link_loads)))
    return designs, answers


def random_values(
    random: np.random.Generator, knobs: Mapping[str, Sequence[Any]]
) -> dict[str, object] | None:
    """A value for each knob, and the data parallel degree that fills the machine, if any does."""
    drawn = {path: random.choice(np.array(values, object)) for path, values in knobs.items()}
    npus = drawn["platform.dimensions[0].npus"] * drawn["platform.dimensions[1].npus"]
    others = drawn["plan.tp"] * drawn["plan.cp"] * drawn["plan.pp"]
    if npus % others:
        return None
    return {"system.all_reduce": ["ring", "ring"], **drawn, "plan.dp": npus // others}


@pytest.mark.parametrize("seed", range(3))
def test_no_random_design_is_faster_than_its_bound(seed: int) -> None:
    template = RunTemplate.from_table(SMALL)
    designs, answers = random_designs(template, seed, wanted=50)
    time_s, footprint_bytes, _ = np.array(answers).T
    bound_s = lower_bounds(template, designs)
    assert (bound_s > 0).all()
    above = np.flatnonzero(bound_s > time_s)
    assert not above.size, (bound_s[above] / time_s[above], [designs[i] for i in above])
    assert np.median(bound_s / time_s) > 0.7
    assert np.array_equal(footprints(template, designs), footprint_bytes)


@pytest.mark.parametrize("seed", range(2))
def test_none_is_with_components_from_outside_either(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ALGORITHMS, "_entries", {**dict(ALGORITHMS.items()), **OUTSIDE})
    known = {**dict(TOPOLOGIES.items()), **OUTSIDE_TOPOLOGIES}
    monkeypatch.setattr(TOPOLOGIES, "_entries", known)
    template = RunTemplate.from_table(SMALL)
    designs, answers = random_designs(template, seed, 40, FROM_OUTSIDE)
    time_s, _, load = np.array(answers).T
    for within_capacity in (False, True):
        bound_s = lower_bounds(template, designs, within_capacity=within_capacity)
        assert (bound_s > 0).all()
        above = np.flatnonzero(bound_s > time_s * np.maximum(load, 1))
        assert not above.size, (bound_s[above] / time_s[above], [designs[i] for i in above])
        assert np.median(bound_s / time_s) > 0.6


@pytest.mark.parametrize("seed", range(3))
def test_no_design_within_capacity_is_faster_than_its_collectives_pass_its_links(seed: int) -> None:
    crowded = {"all_gather": "direct", "reduce_scatter": "direct", "chunks": 2}
    template = RunTemplate.from_table({**SMALL, "system": crowded})
    designs, answers = random_designs(template, seed + 10, wanted=40)
    time_s, _, load = np.array(answers).T
    plain_s = lower_bounds(template, designs)
    bound_s = lower_bounds(template, designs, within_capacity=True)
    assert (plain_s <= time_s).all()
    assert (bound_s >= plain_s).all()
    above = np.flatnonzero(bound_s > time_s * np.maximum(load, 1))
    assert not above.size, (bound_s[above] / time_s[above], [designs[i] for i in above])
    over = load > 1
    assert 0 < over.sum() < 40
    assert (bound_s[over] > time_s[over]).any()  # known before anything is simulated
