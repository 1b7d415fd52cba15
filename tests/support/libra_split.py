"""The best way to split a network's bandwidth over its dimensions, by a closed-form model.

A collective takes as long as its slowest dimension, ``max over d of bytes_d / bandwidth_d`` (its
chunks fill all dimensions, latencies are left out), and nothing overlaps. Source: W. Won et al.,
"LIBRA: Enabling Workload-Aware Multi-Dimensional Network Topology Optimization", ISPASS 2024 (arXiv
2109.11762), there solved by a commercial solver.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from simcore import CollectiveKind, ConfigError

Floats = NDArray[np.float64]

Goal = Literal["time", "time_cost"]
"""Minimised quantity: the time, or the time x the price of the network."""

_LEAST = 1e-9
"""Least part of the whole that a dimension gets."""

_MARGIN = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SplitProblem:
    """Compute and traffic of one iteration, for which bandwidth is split.

    Attributes:
        fixed_s: Time that no bandwidth changes.
        traffic_bytes: (K, D) float64, what an NPU sends in each collective over each dimension.
        counts: (K,) float64, how often each collective runs.
        unit_usd: (D,) float64, price of a byte per second in each dimension.
    """

    fixed_s: float
    traffic_bytes: Floats
    counts: Floats
    unit_usd: Floats

    def __post_init__(self) -> None:
        if not (self.traffic_bytes.sum(axis=0) > 0).all():
            rule = "every dimension must carry something"
            raise ConfigError("traffic", rule, got=self.traffic_bytes.sum(axis=0).tolist())

    def time_s(self, bandwidths_bytes_per_s: Sequence[float] | Floats) -> float:
        """Time of an iteration with (D,) bandwidths."""
        slowest = (self.traffic_bytes / np.asarray(bandwidths_bytes_per_s)).max(axis=1)
        return self.fixed_s + float(self.counts @ slowest)

    def cost_usd(self, bandwidths_bytes_per_s: Sequence[float] | Floats) -> float:
        """Price of the network with (D,) bandwidths."""
        return float(self.unit_usd @ np.asarray(bandwidths_bytes_per_s))

    def value(self, bandwidths_bytes_per_s: Floats, goal: Goal) -> float:
        """Value of *goal*."""
        time_s = self.time_s(bandwidths_bytes_per_s)
        return time_s if goal == "time" else time_s * self.cost_usd(bandwidths_bytes_per_s)


def split_bandwidth(problem: SplitProblem, total_bytes_per_s: float, goal: Goal) -> Floats:
    """(D,) bandwidths of sum *total_bytes_per_s* that are best for *goal*.

    The time alone is convex, and the optimum is the only one. Its product with the price need not
    be, so the search starts from several splits: even, and balanced for each collective.
    """
    traffic = problem.traffic_bytes
    starts = [np.ones(traffic.shape[1]), problem.counts @ traffic, *traffic]
    found = [_improved(problem, total_bytes_per_s, goal, start / start.sum()) for start in starts]
    return min(found, key=lambda split: problem.value(split, goal))


def _improved(problem: SplitProblem, total: float, goal: Goal, start: Floats) -> Floats:
    """The optimum near *start*, in parts of the whole, by sequential quadratic programming.

    Variables are the logarithms of the parts and of the times of the collectives, for which the
    rule "each takes at least as long as each of its dimensions" is linear.
    """
    from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize

    collectives, dimensions = problem.traffic_bytes.shape
    first = np.log(np.maximum(start, _LEAST * 10))
    needed = np.log(np.maximum(problem.traffic_bytes / total, np.finfo(float).tiny))
    times = (needed - first).max(axis=1)
    rows = [
        np.concatenate([np.eye(dimensions)[d], np.eye(collectives)[k]])
        for k in range(collectives)
        for d in range(dimensions)
    ]
    scale = problem.time_s(np.exp(first) * total)

    def value(at: Floats) -> float:
        time_s = problem.fixed_s + float(problem.counts @ np.exp(at[dimensions:]))
        price = float(problem.unit_usd @ np.exp(at[:dimensions])) if goal == "time_cost" else 1.0
        return float(np.log(time_s / scale) + np.log(price))

    done = minimize(
        value,
        np.concatenate([first, times]),
        method="SLSQP",
        bounds=[(np.log(_LEAST), 0.0)] * dimensions + [(None, None)] * collectives,
        constraints=[
            LinearConstraint(np.array(rows), needed.ravel(), np.inf),
            NonlinearConstraint(lambda at: np.exp(at[:dimensions]).sum(), 1.0, 1.0),
        ],
        options={"ftol": _MARGIN, "maxiter": 1000},
    )
    parts = np.exp(done.x[:dimensions])
    return np.asarray(parts / parts.sum() * total)


def bytes_per_dimension(
    kind: CollectiveKind, size_bytes: float, members: Sequence[int]
) -> tuple[float, ...]:
    """Bytes that one NPU sends over each dimension, whatever the order of the chunks.

    A reduction passes the dimensions from the innermost and leaves a p-th of the data behind each;
    a gathering goes the other way round; an all-to-all keeps its size.

    Args:
        kind: The kind of collective.
        size_bytes: What each NPU hands over at its start.
        members: NPUs of the group along each dimension, innermost first; 1 where it has none.

    Source: W. Won et al., "LIBRA", ISPASS 2024 (arXiv 2109.11762), section on collective time.
    """
    sent = [0.0] * len(members)
    left = size_bytes
    gathers = kind is CollectiveKind.ALL_GATHER
    order = range(len(members))
    for d in reversed(order) if gathers else order:
        p = members[d]
        if gathers:
            sent[d] = left * (p - 1)
            left *= p
            continue
        both_ways = 2 if kind is CollectiveKind.ALL_REDUCE else 1
        sent[d] = both_ways * left * (p - 1) / p
        if kind is not CollectiveKind.ALL_TO_ALL:
            left /= p
    return tuple(sent)
