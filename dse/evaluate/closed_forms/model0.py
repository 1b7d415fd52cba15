"""MODEL-0: a closed form of training time on a 2-D network, to check search machinery with.

It is cheap enough to solve a small problem completely, so that what a search finds can be
compared with the true front. It is no prediction: studies use the simulator.

Source: problem P5 of this project's published set.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dse.evaluate.closed_forms.problem import VIT22B_64, Problem
from simcore import ConfigError, InfeasibleError, format_memory

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

TOPOLOGIES = ("ring", "fully_connected", "switch")
"""Topologies of the closed form; their position here is their code."""

_RING = TOPOLOGIES.index("ring")
_SWITCH = TOPOLOGIES.index("switch")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Designs:
    """D designs, one array per knob.

    Attributes:
        npus0, npus1: (D,) int64, sizes of the two dimensions.
        tp, pp, micro_batch: (D,) int64.
        topology0, topology1: (D,) int64, codes of ``TOPOLOGIES``.
        bandwidth0, bandwidth1: (D,) float64, B/s of one NPU's links together, one direction.
    """

    npus0: Ints
    npus1: Ints
    tp: Ints
    pp: Ints
    micro_batch: Ints
    topology0: Ints
    topology1: Ints
    bandwidth0: Floats
    bandwidth1: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Outcomes:
    """Outcomes of D designs; each (D,) float64."""

    iteration_time_s: Floats
    capital_cost_usd: Floats
    footprint_bytes: Floats


def broken_rules(problem: Problem, designs: Designs) -> dict[str, Flags]:
    """Per structural rule, (D,) bool: the designs that break it."""
    p, d = problem, designs
    dp = np.maximum(p.npus // (d.tp * d.pp), 1)
    inner_dp = np.maximum(np.minimum(dp, d.npus0 // d.tp), 1)
    return {
        "npus_equal_product_of_dimensions": d.npus0 * d.npus1 != p.npus,
        "tp_divides_inner_dimension": d.npus0 % d.tp != 0,
        "pp_divides_layers": p.layers % d.pp != 0,
        "plan_divides_npus": p.npus % (d.tp * d.pp) != 0,
        "tp_divides_heads": p.heads % d.tp != 0,
        "batch_divides_over_dp": p.batch % (dp * d.micro_batch) != 0,
        "inner_dp_divides_dp": dp % inner_dp != 0,
    }


def evaluate_designs(problem: Problem, designs: Designs) -> Outcomes:
    """Time, price and memory of *designs*, none of which may break a structural rule."""
    return Outcomes(
        iteration_time_s=_iteration_time_s(problem, designs),
        capital_cost_usd=_capital_cost_usd(problem, designs),
        footprint_bytes=_footprint_bytes(problem, designs),
    )


def fits_in_memory(problem: Problem, footprint_bytes: Floats) -> Flags:
    """(D,) bool: at most 95 % of the memory is used."""
    return footprint_bytes <= 0.95 * problem.memory_bytes


class Model0:
    """MODEL-0 as an evaluator of single designs.

    Args:
        problem: What is trained on what.
    """

    def __init__(self, problem: Problem = VIT22B_64) -> None:
        self.problem = problem

    def evaluate(self, values: Mapping[str, object]) -> dict[str, float]:
        """Outcome of the design with *values*, keyed as in a run file or by field of ``Designs``.

        Args:
            values: ``platform.dimensions[0].npus`` or ``npus0``, ``plan.tp`` or ``tp`` and so on;
                bandwidths in B/s. Other keys are left alone.

        Returns:
            ``iteration_time_s``, ``capital_cost_usd`` and ``footprint_bytes``.

        Raises:
            ConfigError: A value is missing or of the wrong kind.
            InfeasibleError: A rule is broken, or the memory does not suffice.
        """
        self.check(values)
        outcomes = evaluate_designs(self.problem, _one_design(values))
        return {
            "iteration_time_s": float(outcomes.iteration_time_s[0]),
            "capital_cost_usd": float(outcomes.capital_cost_usd[0]),
            "footprint_bytes": float(outcomes.footprint_bytes[0]),
        }

    def capital_cost_usd(self, values: Mapping[str, object]) -> float:
        """Price of the machine of the design with *values*, infinite where a part has none.

        Raises:
            ConfigError: A value is missing or of the wrong kind.
        """
        return float(_capital_cost_usd(self.problem, _one_design(values))[0])

    def check(self, values: Mapping[str, object]) -> None:
        """See whether the design with *values* can be built and fits, without timing it.

        Raises:
            ConfigError: A value is missing or of the wrong kind.
            InfeasibleError: A rule is broken, or the memory does not suffice.
        """
        design = _one_design(values)
        for rule, broken in broken_rules(self.problem, design).items():
            if broken[0]:
                raise InfeasibleError(rule, f"broken by {_told(design)}")
        used_bytes = _footprint_bytes(self.problem, design)
        if not fits_in_memory(self.problem, used_bytes)[0]:
            limit_bytes = 0.95 * self.problem.memory_bytes
            reason = f"needs {format_memory(used_bytes[0])} of {format_memory(limit_bytes)}"
            raise InfeasibleError("fits_in_memory", reason)


RUN_PATHS = {
    "npus0": "platform.dimensions[0].npus",
    "npus1": "platform.dimensions[1].npus",
    "tp": "plan.tp",
    "pp": "plan.pp",
    "micro_batch": "plan.micro_batch",
    "topology0": "platform.dimensions[0].topology",
    "topology1": "platform.dimensions[1].topology",
    "bandwidth0": "platform.dimensions[0].bandwidth",
    "bandwidth1": "platform.dimensions[1].bandwidth",
}
"""Path in a run file of each field of ``Designs``."""


def _one_design(values: Mapping[str, object]) -> Designs:
    columns: dict[str, NDArray[np.int64] | NDArray[np.float64]] = {}
    for name, path in RUN_PATHS.items():
        value = values.get(path, values.get(name))
        at = path if path in values else name
        if name.startswith("topology"):
            if value not in TOPOLOGIES:
                raise ConfigError(at, f"must be one of {', '.join(TOPOLOGIES)}", got=value)
            columns[name] = np.array([TOPOLOGIES.index(str(value))])
            continue
        if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
            raise ConfigError(at, "must be a number above 0", got=value)
        columns[name] = np.array([value])
    return Designs(**columns)  # type: ignore[arg-type]


def _told(design: Designs) -> str:
    names = ("npus0", "npus1", "tp", "pp", "micro_batch")
    return ", ".join(f"{name} {getattr(design, name)[0]}" for name in names)


def _footprint_bytes(problem: Problem, d: Designs) -> Floats:
    """Model state and activations of the first stage.

    2 + 2 + 12 B per parameter for weight, gradient and optimizer state, the last split over dp
    (ZeRO stage 1); activations with selective recompute, ``34 s b h / tp`` per layer, of the
    ``min(pp, m)`` micro-batches in flight.
    """
    dp = problem.npus // (d.tp * d.pp)
    micro_batches = problem.batch // (dp * d.micro_batch)
    stage_layers = -(-problem.layers // d.pp)
    embedding = problem.vocabulary * problem.hidden
    parameters = (stage_layers * problem.layer_parameters + embedding) / d.tp
    activation = 34 * problem.sequence * d.micro_batch * problem.hidden / d.tp
    in_flight = np.minimum(d.pp, micro_batches)
    total: Floats = parameters * (4 + 12 / dp) + activation * in_flight * stage_layers
    return total


def _capital_cost_usd(problem: Problem, d: Designs) -> Floats:
    def unit(topology: Ints, prices: tuple[float, float]) -> Floats:
        return np.where(topology == _SWITCH, prices[1], prices[0])

    network = unit(d.topology0, problem.usd_per_gb_per_s[0]) * d.bandwidth0 / 1e9
    network += unit(d.topology1, problem.usd_per_gb_per_s[1]) * d.bandwidth1 / 1e9
    total: Floats = problem.npus * (problem.npu_usd + network)
    return total


def _iteration_time_s(problem: Problem, d: Designs) -> Floats:
    """Compute and TP, filled and drained over the pipeline, then sends and exposed DP."""
    dp = problem.npus // (d.tp * d.pp)
    micro_batches = problem.batch // (dp * d.micro_batch)
    compute_s = problem.compute_s
    slots = micro_batches + d.pp - 1
    tp_s = micro_batches * problem.layers / d.pp * 4 * _tp_all_reduce_s(problem, d)
    exposed_dp_s = np.maximum(0.0, _dp_all_reduce_s(problem, d, dp) - compute_s / 2)
    pipeline_s = np.where(d.pp > 1, 2 * slots * _stage_send_s(problem, d, dp), 0.0)
    total: Floats = (compute_s + tp_s) * slots / micro_batches + pipeline_s + exposed_dp_s
    return total


def _tp_all_reduce_s(problem: Problem, d: Designs) -> Floats:
    """All-reduce of one layer's activations inside dimension 0."""
    size_bytes = 2.0 * d.micro_batch * problem.sequence * problem.hidden
    bandwidth = _usable_bandwidth(d.topology0, d.bandwidth0, d.npus0, d.tp)
    send_s = 2 * size_bytes * (d.tp - 1) / d.tp / bandwidth
    return send_s + _latency_s(d.topology0, d.tp, problem.latency_s[0])


def _dp_all_reduce_s(problem: Problem, d: Designs, dp: Ints) -> Floats:
    """All-reduce of one stage's gradients, over both dimensions at once."""
    embedding = problem.vocabulary * problem.hidden
    stage = problem.layers / d.pp * problem.layer_parameters + embedding
    size_bytes = 2 * stage / d.tp
    inner = np.minimum(dp, d.npus0 // d.tp)
    outer = dp // inner
    bandwidth0 = _usable_bandwidth(d.topology0, d.bandwidth0, d.npus0, inner)
    bandwidth1 = _usable_bandwidth(d.topology1, d.bandwidth1, d.npus1, outer)
    send0_s = 2 * size_bytes * (inner - 1) / inner / bandwidth0
    send1_s = 2 * (size_bytes / inner) * (outer - 1) / outer / bandwidth1
    latency_s = _latency_s(d.topology0, inner, problem.latency_s[0])
    latency_s = latency_s + _latency_s(d.topology1, outer, problem.latency_s[1])
    total: Floats = np.maximum(send0_s, send1_s) + latency_s
    return total


def _stage_send_s(problem: Problem, d: Designs, dp: Ints) -> Floats:
    """One micro-batch's activations to the next stage, over one link."""
    size_bytes = 2.0 * d.micro_batch * problem.sequence * problem.hidden / d.tp
    outside = d.tp * dp >= d.npus0
    link0 = _link_bandwidth(d.topology0, d.bandwidth0, d.npus0)
    link1 = _link_bandwidth(d.topology1, d.bandwidth1, d.npus1)
    latency_s = np.where(outside, problem.latency_s[1], problem.latency_s[0])
    total: Floats = size_bytes / np.where(outside, link1, link0) + latency_s
    return total


def _usable_bandwidth(topology: Ints, bandwidth: Floats, npus: Ints, members: Ints) -> Floats:
    """Bandwidth of one NPU among *members* neighbours; 1 member gets a harmless positive."""
    ring = np.where(members == npus, bandwidth, bandwidth / 2)
    full = bandwidth * np.maximum(members - 1, 1) / (npus - 1)
    return np.where(topology == _RING, ring, np.where(topology == _SWITCH, bandwidth, full))


def _link_bandwidth(topology: Ints, bandwidth: Floats, npus: Ints) -> Floats:
    links = np.where(topology == _RING, 2, np.where(topology == _SWITCH, 1, npus - 1))
    per_link: Floats = bandwidth / links
    return per_link


def _latency_s(topology: Ints, members: Ints, hop_s: float) -> Floats:
    """Latency of one all-reduce: 2 (p - 1) hops on a ring, 2 if direct, 2 log2 p by a switch."""
    switch_hops = 2 * np.ceil(np.log2(members))
    direct_hops = np.where(members > 1, 2, 0)
    hops = np.where(topology == _SWITCH, switch_hops, direct_hops)
    result: Floats = np.where(topology == _RING, 2 * (members - 1), hops) * hop_s
    return result
