"""Measured runs with what their errors are computed from, for ``fit_compute.py``."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from kernel_table import Floats, KernelTable, Operators
from numpy.typing import NDArray

from simcore import errors
from simcore.compute import Roofline
from simcore.config import Run
from simcore.machine import Efficiency, Npu
from simcore.simulation import Simulator
from simcore.terms import NodeKind
from simcore.validation.machine import Machines
from simcore.validation.mapping import run_of
from simcore.validation.report import training_s
from simcore.validation.rows import MeasuredRow
from simcore.validation.score import LAYOUT_GROUP, LEAST_LAYOUTS
from simcore.workload import build_graph, microbatches
from simcore.workload.graph import PassPhase

GROUP = ("source", "model", "gpu", "tp", "pp", "cp", "precision", "layers", "hidden", "seq_len")
"""Rows that agree in these columns are one configuration."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured run and its busiest stage.

    Attributes:
        operators: Its kernels, and how often they run per iteration.
        busy_s: Compute time of that stage.
        bubble: What a second more of the stage's compute adds to the iteration.
        rest_s: Simulated time that is not compute of that stage.
    """

    source: str
    group: str
    layouts: str
    run: Run
    measured_s: float
    operators: Operators
    busy_s: float
    bubble: float
    rest_s: float


@dataclass(frozen=True, slots=True)
class Samples:
    """Measured runs, with what their errors are computed from, each (R,).

    Attributes:
        sources, layouts: Numbers of the source and of the group of layouts that a run belongs to.
        varied: It is among enough different layouts.
    """

    listed: Sequence[Sample]
    kernels: KernelTable
    bubble: Floats
    rest_s: Floats
    measured_s: Floats
    sources: NDArray[np.int64]
    layouts: NDArray[np.int64]
    varied: NDArray[np.bool_]

    @classmethod
    def of(cls, listed: Sequence[Sample]) -> Self:
        table = KernelTable.of([(sample.run, sample.operators) for sample in listed])
        return cls(
            listed,
            table,
            np.array([sample.bubble for sample in listed]),
            np.array([sample.rest_s for sample in listed]),
            np.array([sample.measured_s for sample in listed]),
            np.unique([sample.source for sample in listed], return_inverse=True)[1],
            np.unique([sample.layouts for sample in listed], return_inverse=True)[1],
            _varied(listed),
        )

    def errors(self, efficiency: Efficiency) -> Floats:
        """(R,) of the predicted times, relative to the measured ones."""
        predicted_s = self.kernels.compute_s(efficiency) * self.bubble + self.rest_s
        return predicted_s / self.measured_s - 1

    def check(self, efficiency: Efficiency) -> None:
        """The table gives the same times as the compute model that it stands for."""
        busy_s = np.array([sample.busy_s for sample in self.listed])
        same = np.allclose(self.kernels.compute_s(efficiency), busy_s, rtol=1e-3)
        if not same:
            raise AssertionError("kernel_table.py differs from simcore.compute.Roofline")


def _varied(listed: Sequence[Sample]) -> NDArray[np.bool_]:
    """Which samples are among enough different layouts: the same one again has nothing to tell."""
    different: dict[str, set[str]] = defaultdict(set)
    for sample in listed:
        different[sample.layouts].add(sample.run.model_dump_json(exclude={"platform"}))
    return np.array([len(different[sample.layouts]) >= LEAST_LAYOUTS for sample in listed])


def stage_s(operators: Operators, npu: Npu, run: Run) -> float:
    model, precision = Roofline(), run.workload.precision
    return sum(
        count * model.operator_time_ns(kernels, npu, precision) * 1e-9
        for kernels, count in operators
    )


def busiest_stage(run: Run) -> Operators:
    """Operators of the stage that computes longest, with their counts in a whole iteration."""
    plan, batches = run.plan, microbatches(run.workload, run.plan)
    few = min(batches, plan.pp if plan.interleave > 1 else 1)
    short = run.workload.model_copy(update={"global_batch": few * plan.dp * plan.micro_batch})
    graph = build_graph(short, plan)
    stages = []
    for stage in graph.stages:
        counts = np.bincount(
            stage.item[stage.kind == NodeKind.COMPUTE], minlength=len(graph.operators)
        )
        stages.append(
            tuple(
                (op.kernels, int(n) * (1.0 if op.phase is PassPhase.OPTIMIZER else batches / few))
                for op, n in zip(graph.operators, counts, strict=True)
                if n
            )
        )
    return max(stages, key=lambda operators: stage_s(operators, run.platform.npu, run))


def samples(rows: Sequence[MeasuredRow], npus: Sequence[str]) -> Samples:
    """The measured runs on these accelerators that can be simulated."""
    machines, simulator = Machines(), Simulator()
    found = []
    for row in rows:
        try:
            run = run_of(row, machines)
            measured_s = training_s(row)
            if run.platform.npu.name in npus and measured_s:
                found.append(_sample(row, run, measured_s, simulator))
        except errors.SimcoreError:
            continue
    return Samples.of(found)


def _sample(row: MeasuredRow, run: Run, measured_s: float, simulator: Simulator) -> Sample:
    operators = busiest_stage(run)
    busy_s = stage_s(operators, run.platform.npu, run)
    batches = microbatches(run.workload, run.plan)
    bubble = 1 + (run.plan.pp - 1) / (batches * run.plan.interleave)
    return Sample(
        source=row.text("source"),
        group="|".join(row.text(column) for column in GROUP),
        layouts="|".join(row.text(column) for column in LAYOUT_GROUP),
        run=run,
        measured_s=measured_s,
        operators=operators,
        busy_s=busy_s,
        bubble=bubble,
        rest_s=simulator.simulate(run).iteration_time_s - bubble * busy_s,
    )
