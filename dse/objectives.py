"""Objectives and limits of a study, as functions of an evaluation's metrics."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from simcore import ConfigError, Registry, SimulationError, plain_sum

Sense = Literal["minimise", "maximise"]
Metrics = Mapping[str, float]
Number = TypeVar("Number", float, NDArray[np.float64])


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """A number to be made small or large: the product of *metrics*.

    Attributes:
        metrics: Names of the metrics that are multiplied.
        unit: Unit of the product.
        sense: The direction that is usually wanted.
        label: Name for tables and pictures.
    """

    metrics: tuple[str, ...]
    unit: str
    label: str
    sense: Sense = "minimise"

    def value(self, metrics: Metrics) -> float:
        """The objective of one evaluation.

        Raises:
            SimulationError: A metric is missing or is not a finite number.
        """
        result = 1.0
        for name in self.metrics:
            if name not in metrics or not math.isfinite(metrics[name]):
                got = metrics.get(name)
                raise SimulationError(f"the evaluator must give a finite {name}, but got {got!r}.")
            result *= metrics[name]
        return result

    def column(self, metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """The objective of N evaluations, whose finite *metrics* are columns of as many rows."""
        result = np.array(1.0)
        for name in self.metrics:
            result = result * metrics[name]
        return result


UNITS = {
    "_bytes_per_s": "B/s",
    "_flop_per_s": "FLOP/s",
    "_usd_per_hour": "USD/h",
    "_usd": "USD",
    "_bytes": "B",
    "_flop": "FLOP",
    "_hz": "Hz",
    "_per_s": "1/s",
    "_s": "s",
    "_w": "W",
    "_j": "J",
    "_kg": "kg",
    "_m": "m",
    "_m2": "m2",
    "_k": "K",
    "_db": "dB",
    "_ratio": "",
    "_count": "",
}
"""Ends of the names of metrics, and the units that they stand for."""


def metric_objective(name: object) -> Objective | None:
    """A metric as an objective; None: *name* is no word that ends in a unit."""
    if not isinstance(name, str) or not name.isidentifier():
        return None
    end = max((end for end in UNITS if name.endswith(end)), key=len, default="")
    if not name.removesuffix(end) or not end:
        return None
    label = name.removesuffix(end).replace("_", " ")
    return Objective(metrics=(name,), unit=UNITS[end], label=label)


class _Objectives(Registry[Objective]):
    """The table, and beside it every metric whose name ends in its unit, as an objective.

    A study may name as such what its own code gives (``dse.study.own_metrics``). The name says all,
    so that each process that meets it knows what it means.
    """

    def __getitem__(self, name: str) -> Objective:
        metric = None if super().__contains__(name) else metric_objective(name)
        return super().__getitem__(name) if metric is None else metric

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or metric_objective(name) is not None


OBJECTIVES: Registry[Objective] = _Objectives(
    "an objective",
    {
        "iteration_time": Objective(
            metrics=("iteration_time_s",), unit="s", label="iteration time"
        ),
        "capital_cost": Objective(metrics=("capital_cost_usd",), unit="USD", label="capital cost"),
        "network_cost": Objective(metrics=("network_cost_usd",), unit="USD", label="network cost"),
        "usd_per_token": Objective(
            metrics=("usd_per_token",), unit="USD/token", label="cost per token"
        ),
        "usd_per_hour": Objective(
            metrics=("usd_per_hour",), unit="USD/h", label="cost of ownership per hour"
        ),
        "energy": Objective(metrics=("energy_j",), unit="J", label="energy per iteration"),
        "energy_per_token": Objective(
            metrics=("energy_j_per_token",), unit="J/token", label="energy per token"
        ),
        "carbon_per_token": Objective(
            metrics=("carbon_kg_per_token",), unit="kg/token", label="CO2 per token"
        ),
        "power": Objective(metrics=("power_w",), unit="W", label="power"),
        "footprint": Objective(metrics=("footprint_bytes",), unit="B", label="memory per NPU"),
        "mfu": Objective(metrics=("mfu",), unit="", label="MFU", sense="maximise"),
        "time_to_first_token": Objective(
            metrics=("time_to_first_token_s",), unit="s", label="time to first token"
        ),
        "time_per_output_token": Objective(
            metrics=("time_per_output_token_s",), unit="s", label="time per output token"
        ),
        "request_time": Objective(metrics=("request_s",), unit="s", label="time of a request"),
        "requests_per_s": Objective(
            metrics=("requests_per_s",), unit="1/s", label="requests/s", sense="maximise"
        ),
        "tokens_per_s": Objective(
            metrics=("tokens_per_s",), unit="1/s", label="tokens/s", sense="maximise"
        ),
        "tokens_per_s_per_npu": Objective(
            metrics=("tokens_per_s_per_npu",), unit="1/s", label="tokens/s/NPU", sense="maximise"
        ),
        "time_capital_cost": Objective(
            metrics=("iteration_time_s", "capital_cost_usd"), unit="s USD", label="time x capital"
        ),
        "time_network_cost": Objective(
            metrics=("iteration_time_s", "network_cost_usd"), unit="s USD", label="time x network"
        ),
        "time_bandwidth": Objective(
            metrics=("iteration_time_s", "npu_bandwidth_bytes_per_s"),
            unit="B",
            label="time x bandwidth",
        ),
    },
)

COST_METRICS = frozenset(
    {
        "capital_cost_usd",
        "network_cost_usd",
        "usd_per_hour",
        "usd_per_token",
        "power_w",
        "energy_j",
        "energy_j_per_token",
        "carbon_kg_per_token",
    }
)
"""Metrics that need the ``cost`` part of a study."""


SIMULATED = frozenset(
    {
        "iteration_time_s",
        "mfu",
        "time_to_first_token_s",
        "time_per_output_token_s",
        "request_s",
        "requests_per_s",
        "tokens_per_s",
        "tokens_per_s_per_npu",
        "usd_per_token",
        "energy_j",
        "energy_j_per_token",
        "carbon_kg_per_token",
    }
)
"""Metrics that are as wrong as the simulated time is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A constraint: an objective or a metric must be at most, or at least, a number.

    The violation is relative, ``value / bound - 1`` or its mirror: 0 or less is feasible.

    Attributes:
        told: What a design that exceeds it is told, beside by how much; holds names of metrics in
            the way of ``str.format``.
    """

    name: str
    metric: Objective
    bound: float
    sense: Literal["at_most", "at_least"] = "at_most"
    told: str = ""

    def violation(self, metrics: Metrics) -> float:
        """Excess over the limit, as a share of the bound; 0 or less is feasible."""
        return self._excess(self.metric.value(metrics))

    def violations(self, metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        """``violation`` of N evaluations, whose metrics are columns."""
        return self._excess(self.metric.column(metrics))

    def _excess(self, value: Number) -> Number:
        excess = value / self.bound - 1.0
        return excess if self.sense == "at_most" else -excess

    @property
    def broken(self) -> str:
        """Words before the share by which the limit does not hold."""
        return f"{self.name} is {'exceeded' if self.sense == 'at_most' else 'missed'} by"

    def excess(self, metrics: Metrics) -> str:
        """Excess of *metrics* over the limit, in words."""
        words = f"{self.broken} {self.violation(metrics):.1%}"
        return f"{words}: {self.told.format_map(metrics)}" if self.told else words


MEMORY = "fits_in_memory"
"""Name of the constraint that designs fit in memory."""

ROOM = "memory_suffices"
"""Name of the constraint that what comes on top of the tensors fits too, fragments included."""

CONSTRAINTS: Registry[Limit] = Registry(
    "a constraint",
    {
        MEMORY: Limit(
            name=MEMORY,
            metric=Objective(metrics=("memory_fill",), unit="", label="memory used / capacity"),
            bound=1.0,
        ),
        ROOM: Limit(
            name=ROOM,
            metric=Objective(
                metrics=("memory_fill_highest",), unit="", label="memory with fragments / capacity"
            ),
            bound=1.0,
            told=(
                "tensors take {memory_fill:.1%} of the memory, buffers and workspace make it "
                "{memory_fill_expected:.1%}, fragments {memory_fill_highest:.1%}"
            ),
        ),
        "links_within_capacity": Limit(
            name="links_within_capacity",
            metric=Objective(metrics=("link_load",), unit="", label="bytes / links' capacity"),
            bound=1.0,
            told=(
                "dimension {busiest_dimension:.0f} would carry {link_load:.3g} times what its "
                "links can in the time"
            ),
        ),
    },
)

DEFAULT_CHECKS = ("links_within_capacity",)
"""Names of the constraints that hold in a study that does not switch them off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """One value of the values that an objective has in several scenarios.

    Attributes:
        kind: Their weighted ``sum`` or ``mean``, the ``worst`` or a ``quantile`` of them.
        share: Share of the scenarios that are no worse than the quantile.
    """

    kind: Literal["sum", "mean", "worst", "quantile"] = "sum"
    share: float = 1.0

    def of(self, values: Sequence[float], weights: Sequence[float], sense: Sense) -> float:
        """The aggregate of *values*.

        Args:
            values: Per scenario.
            weights: Per scenario; a factor of its value, for the mean of its share.
            sense: Which direction is wanted.
        """
        weighted = [weight * value for weight, value in zip(weights, values, strict=True)]
        if self.kind in ("sum", "mean"):
            return math.fsum(weighted) / (math.fsum(weights) if self.kind == "mean" else 1.0)
        ordered = sorted(weighted, reverse=sense == "maximise")
        if self.kind == "worst":
            return ordered[-1]
        return ordered[math.ceil(self.share * len(ordered)) - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A name that ends the names of metrics (``iteration_time_s@name``), and a weight."""

    name: str
    weight: float = 1.0

    def metrics_of(self, metrics: Mapping[str, Number]) -> Mapping[str, Number]:
        """Its own ones among *metrics*, by their plain names."""
        ending = f"@{self.name}"
        return {
            name.removesuffix(ending): value
            for name, value in metrics.items()
            if name.endswith(ending)
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Goals:
    """The objectives of a study, with their senses, and its limits.

    With *scenarios*, an objective is the *aggregate* of its values in all of them, and a limit
    holds in each.
    """

    objectives: Mapping[str, Sense]
    limits: tuple[Limit, ...] = ()
    scenarios: tuple[Scenario, ...] = ()
    aggregate: Aggregate = Aggregate()

    def __post_init__(self) -> None:
        if not self.objectives:
            rule = f"must name at least one of {', '.join(OBJECTIVES)}"
            raise ConfigError("objectives", rule, got="nothing")
        for name in self.objectives:
            if name not in OBJECTIVES:
                raise OBJECTIVES.unknown(name, at="objectives")

    @property
    def signs(self) -> tuple[int, ...]:
        """+1 for each objective that is minimised, -1 for each that is maximised."""
        return tuple(1 if sense == "minimise" else -1 for sense in self.objectives.values())

    @property
    def signs_by_name(self) -> dict[str, int]:
        """``signs`` by the names of the objectives."""
        return dict(zip(self.objectives, self.signs, strict=True))

    @property
    def memory_margin(self) -> float | None:
        """Part of the memory that designs have to leave; None: memory is not bounded."""
        return next((1.0 - limit.bound for limit in self.limits if limit.name == MEMORY), None)

    @property
    def needs_room(self) -> bool:
        """True if designs have to hold what comes on top of their tensors, fragments included."""
        return any(limit.name == ROOM for limit in self.limits)

    @property
    def needs_costs(self) -> bool:
        """True if an objective or a limit needs the ``cost`` part of the study."""
        return bool(COST_METRICS & needed_metrics(self))

    def values(self, metrics: Metrics) -> dict[str, float]:
        """All objectives of one evaluation, by name."""
        if not self.scenarios:
            return {name: OBJECTIVES[name].value(metrics) for name in self.objectives}
        each = [scenario.metrics_of(metrics) for scenario in self.scenarios]
        weights = [scenario.weight for scenario in self.scenarios]
        return {
            name: self.aggregate.of([OBJECTIVES[name].value(own) for own in each], weights, sense)
            for name, sense in self.objectives.items()
        }

    def violations(self, metrics: Metrics) -> dict[str, float]:
        """All limits of one evaluation, by name; 0 or less is feasible."""
        each = [scenario.metrics_of(metrics) for scenario in self.scenarios] or [metrics]
        return {limit.name: max(limit.violation(own) for own in each) for limit in self.limits}

    def excesses(self, metrics: Metrics) -> Iterator[str]:
        """Excess over each limit that does not hold, in words, with the worst scenario."""
        each = [(f"in {one.name}: ", one.metrics_of(metrics)) for one in self.scenarios]
        for limit in self.limits:
            at, own = max(each or [("", metrics)], key=lambda one: limit.violation(one[1]))
            if limit.violation(own) > 0:
                yield at + limit.excess(own)


def needed_metrics(goals: Goals) -> frozenset[str]:
    """Names of all metrics that the objectives and limits of a study read."""
    used = [OBJECTIVES[name] for name in goals.objectives] + [x.metric for x in goals.limits]
    return frozenset(name for objective in used for name in objective.metrics)


def total_violation(violations: Mapping[str, float]) -> float:
    """Sum of all excesses; where nothing exceeds, the one that comes closest, 0 or less."""
    exceeding = [value for value in violations.values() if value > 0]
    return plain_sum(exceeding) if exceeding else max(violations.values(), default=0.0)
