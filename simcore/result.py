"""Result of one simulated iteration."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import inf
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from simcore.errors import SimulationError
from simcore.memory.fit import MemoryFit
from simcore.memory.footprint import Footprint
from simcore.memory.runtime import RuntimeMemory
from simcore.units import format_memory, format_quantity, plain_sum

Floats = NDArray[np.float64]
Number = TypeVar("Number", float, Floats)
"""A figure of one iteration, or of many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTimes:
    """Split of the iteration on one pipeline stage's NPUs.

    The parts add up to the iteration time: an instant counts as compute if the NPU computes, else
    as exposed communication if it communicates, else as idle.

    Attributes:
        compute_s: By phase: forward, recompute, backward, optimizer, ...; and what computes lost to
            communication beside them (``lost``), where the run names what moves data.
        exposed_communication_s: By parallel axis; and by port of a tier of memory, such as
            ``host_load``, the time in which the NPU does nothing but move data through it.
        bubble_s: Neither: waiting for other stages.
        finish_s: When the stage's last node ended.
    """

    compute_s: Mapping[str, float]
    exposed_communication_s: Mapping[str, float]
    bubble_s: float
    finish_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationResult:
    """One training iteration of one design.

    Attributes:
        iteration_time_s: From the first forward to the last weight update.
        stages: Where the time went, per pipeline stage.
        footprint: Memory of the fullest stage's NPUs, by component.
        memory_bytes: Capacity of one NPU.
        runtime: What they need of it beside that.
        mfu: Model FLOP (without recompute) over time x NPUs x peak.
        hfu: Executed FLOP over the same.
        dimension_utilization: Per network dimension, bytes sent by an NPU (mean over the stages)
            over what its links could have sent in the iteration.
        sent_bytes: Per network dimension, bytes sent by one NPU (mean over the stages).
        link_loads: Per network dimension, bytes that pass the ports of one NPU over what its links
            could have carried in the iteration; above 1 no such machine can be. Counted is the
            stage that sends most, what NPUs of a ring pass on for others, and what dimensions that
            share the ports send over them; on a graph whose messages meet, over all its ports.
        tokens: Tokens per iteration.
        npus: NPUs of the machine.
        simulated_npus: NPUs that stood for all others.
        nodes: Nodes of the workload graphs, on one NPU per stage.
        events: Nodes executed one by one; the others repeat them, period after period.
        backend: Network backend.
        compute: Compute model.
        compute_reason: Reason for that one.
        held_s: By how much the iteration would be shorter if every phase of a collective ended with
            its first member, which hints at what ``phase_end: together`` costs; 0: no member was
            held, the time is exact.
        staleness: Iterations by which the weights that a pass uses lack updates.
        figures: What the time leads to beside the throughput, such as the prompts read per second.
        traffic: What the network tells beside times, by name: packets, pauses, marks, queues.
        tier_bytes: By tier of memory and what it counts: ``host_load`` and ``host_store`` (and
            ``host_update``) what one NPU moves through the port in the iteration, of the stage that
            moves most; ``host_held`` what lies behind one port.
        notes: What the reader should know: algorithms that stood in for others, bounds in force.

    Raises:
        SimulationError: The iteration takes no time, or a figure is negative or not finite.
    """

    iteration_time_s: float
    stages: tuple[StageTimes, ...]
    footprint: Footprint
    memory_bytes: float
    mfu: float
    hfu: float
    dimension_utilization: tuple[float, ...]
    sent_bytes: tuple[float, ...]
    link_loads: tuple[float, ...]
    tokens: int
    npus: int
    simulated_npus: int
    nodes: int
    events: int
    backend: str
    held_s: float = 0.0
    runtime: RuntimeMemory = field(default_factory=RuntimeMemory)
    compute: str = field(default="", compare=False)
    compute_reason: str = field(default="", compare=False)
    engine: str = field(default="", compare=False)
    engine_reason: str = field(default="", compare=False)
    staleness: int = 0
    figures: Mapping[str, float] = field(default_factory=dict)
    traffic: Mapping[str, float] = field(default_factory=dict)
    tier_bytes: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if not 0 < self.iteration_time_s < inf:
            raise _impossible("iteration_time_s", self.iteration_time_s)
        found = (
            *(self.mfu, self.hfu, self.footprint_bytes),
            *self.figures.values(),
            *self.dimension_utilization,
            *self.sent_bytes,
        )
        if min(found) >= 0 and plain_sum(found) < inf:  # NaN makes the sum NaN
            return
        figures = [
            ("mfu", self.mfu),
            ("hfu", self.hfu),
            ("footprint_bytes", self.footprint_bytes),
            *self.figures.items(),
            *[("dimension_utilization", share) for share in self.dimension_utilization],
            *[("sent_bytes", sent) for sent in self.sent_bytes],
        ]
        for name, value in figures:
            if not 0 <= value < inf:
                raise _impossible(name, value)

    def _repr_html_(self) -> str:
        """The result as a notebook shows it: where the time goes, and the headline figures."""
        head = f"{format_quantity(self.iteration_time_s, 's')}, MFU {self.mfu:.1%}, "
        head += f"{format_memory(self.footprint_bytes)} of {format_memory(self.memory_bytes)}"
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{format_quantity(time_s, 's')}</td>"
            f"<td>{time_s / self.iteration_time_s:.1%}</td></tr>"
            for name, time_s in self._parts_s().items()
        )
        return f"<p>one iteration: {head}</p><table>{rows}</table>"

    def _parts_s(self) -> dict[str, float]:
        """Seconds by what they went to, mean over the stages; they sum to the iteration time."""
        parts = {f"compute: {name}": time for name, time in self.compute_by_phase_s().items()}
        for name, time in self.exposed_by_axis_s().items():
            parts[f"exposed communication: {name}"] = time
        return {**parts, "pipeline bubble and waiting": self.bubble_s}

    @property
    def footprint_bytes(self) -> float:
        """Peak bytes on the fullest NPU."""
        return self.footprint.total_bytes

    @property
    def memory_fit(self) -> MemoryFit:
        """Verdict on the memory: is it enough, and how sure is that?"""
        return MemoryFit.of(self.footprint, self.runtime, self.memory_bytes)

    @property
    def compute_s(self) -> float:
        """Compute time, mean over the stages."""
        return _mean([plain_sum(stage.compute_s.values()) for stage in self.stages])

    @property
    def exposed_communication_s(self) -> float:
        """Time in which an NPU communicates and computes nothing, mean over the stages."""
        return _mean([plain_sum(stage.exposed_communication_s.values()) for stage in self.stages])

    @property
    def bubble_s(self) -> float:
        """Idle time, mean over the stages."""
        return _mean([stage.bubble_s for stage in self.stages])

    @property
    def tokens_per_s(self) -> float:
        """Throughput of the machine: tokens, images or samples."""
        return self.tokens / self.iteration_time_s

    @property
    def busiest_dimension(self) -> int:
        """The first network dimension whose links are loaded most."""
        return self.link_loads.index(max(self.link_loads))

    def compute_by_phase_s(self) -> dict[str, float]:
        """Compute time by phase, mean over the stages."""
        return _means([stage.compute_s for stage in self.stages])

    def exposed_by_axis_s(self) -> dict[str, float]:
        """Exposed communication by parallel axis, mean over the stages."""
        return _means([stage.exposed_communication_s for stage in self.stages])

    def metrics(self) -> dict[str, float]:
        """The figures of a trials table: names with units, all plain floats."""
        flat = {
            "iteration_time_s": self.iteration_time_s,
            "compute_s": self.compute_s,
            "exposed_communication_s": self.exposed_communication_s,
            "bubble_s": self.bubble_s,
            "mfu": self.mfu,
            "hfu": self.hfu,
            "tokens_per_s": self.tokens_per_s,
            "footprint_bytes": float(self.footprint_bytes),
            "held_s": self.held_s,
            "link_load": max(self.link_loads),
            "busiest_dimension": float(self.busiest_dimension),
            **self.figures,
        }
        flat |= {f"compute_{name}_s": value for name, value in self.compute_by_phase_s().items()}
        flat |= {f"exposed_{name}_s": value for name, value in self.exposed_by_axis_s().items()}
        for dimension, share in enumerate(self.dimension_utilization):
            flat[f"utilization_dim{dimension}"] = share
        flat |= {f"traffic_{name}": value for name, value in self.traffic.items()}
        flat |= {f"{name}_bytes": float(value) for name, value in self.tier_bytes.items()}
        return flat


HEAD = (
    "iteration_time_s",
    "compute_s",
    "exposed_communication_s",
    "bubble_s",
    "mfu",
    "hfu",
    "tokens_per_s",
    "footprint_bytes",
    "held_s",
    "link_load",
    "busiest_dimension",
)
"""The first of the metrics of every iteration, in their order."""

NS = 1e-9
"""Seconds of a nanosecond."""


def flop_shares(
    model_flop: Number, executed_flop: Number, time_s: Number, npus: Number, peak: Number
) -> tuple[Number, Number]:
    """MFU and HFU: FLOP of the model, and those executed, over what *npus* could do in the time."""
    budget = time_s * npus * peak
    return model_flop / budget, executed_flop / budget


def use_of(size_bytes: Number, rate: Number, time_s: Number) -> Number:
    """Bytes over what links with *rate* could carry in the time."""
    return size_bytes / (rate * time_s)


def _impossible(name: str, value: float) -> SimulationError:
    return SimulationError(
        f"the simulation gave {name} = {value:g}, which cannot be: look for a value of the run "
        "that is wrong by orders of magnitude"
    )


def _mean(values: Sequence[float]) -> float:
    return plain_sum(values) / len(values)


def _means(tables: list[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each name over the tables, which all hold the same names."""
    columns = zip(*[table.values() for table in tables], strict=True)
    return {name: _mean(column) for name, column in zip(tables[0], columns, strict=True)}
