"""Measured runs with what their errors are computed from, for ``fit_compute.py``."""

import pickle
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from re import search
from typing import Self

import numpy as np
from kernel_table import Flags, Floats, KernelTable, Operators, Values
from numpy.typing import NDArray

from simcore import errors
from simcore.compute import Roofline
from simcore.config import Run
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
        group, layouts: Its configuration; what it shares with its other layouts.
        stack: Its software.
        operators: Its kernels, and how often they run per iteration.
        busy_s: Compute time of that stage.
        bubble: What a second more of the stage's compute adds to the iteration.
        rest_s: Simulated time that is not compute of that stage.
    """

    id: str
    source: str
    group: str
    layouts: str
    stack: str
    run: Run
    measured_s: float
    operators: Operators
    busy_s: float
    bubble: float
    rest_s: float

    @property
    def npu(self) -> str:
        return self.run.platform.npu.name

    @property
    def has_experts(self) -> bool:
        return self.run.workload.model.experts is not None


@dataclass(frozen=True, slots=True)
class Samples:
    """Measured runs, with what their errors are computed from, each (R,).

    Attributes:
        layouts: Number of the group of layouts that a run belongs to.
        varied: It is among enough different layouts.
    """

    listed: Sequence[Sample]
    kernels: KernelTable
    bubble: Floats
    rest_s: Floats
    measured_s: Floats
    layouts: NDArray[np.int64]
    varied: Flags

    @classmethod
    def of(cls, listed: Sequence[Sample]) -> Self:
        table = KernelTable.of([(sample.run, sample.operators) for sample in listed])
        return cls(
            listed,
            table,
            np.array([sample.bubble for sample in listed]),
            np.array([sample.rest_s for sample in listed]),
            np.array([sample.measured_s for sample in listed]),
            np.unique([sample.layouts for sample in listed], return_inverse=True)[1],
            _varied(listed),
        )

    def errors(self, values: Values) -> Floats:
        """(R,) logarithms of predicted over measured times."""
        predicted_s = self.kernels.compute_s(values) * self.bubble + self.rest_s
        return np.log(np.maximum(predicted_s / self.measured_s, 1e-2))

    def check(self, values: Values) -> None:
        """The table gives the same times as the compute model that it stands for."""
        busy_s = np.array([sample.busy_s for sample in self.listed])
        found_s = self.kernels.compute_s(values)
        worst = int(np.argmax(np.abs(found_s / busy_s - 1)))
        if not np.allclose(found_s, busy_s, rtol=1e-3):
            told = f"{self.listed[worst].id}: {found_s[worst]:.6g} s and {busy_s[worst]:.6g} s"
            raise AssertionError(f"kernel_table.py differs from simcore.compute.Roofline: {told}")


def _varied(listed: Sequence[Sample]) -> Flags:
    """True where a sample is among enough different layouts: the same again has nothing to tell."""
    different: dict[str, set[str]] = defaultdict(set)
    for sample in listed:
        different[sample.layouts].add(sample.run.model_dump_json(exclude={"platform"}))
    return np.array([len(different[sample.layouts]) >= LEAST_LAYOUTS for sample in listed])


def stage_s(operators: Operators, run: Run) -> float:
    """Compute time of *operators* per iteration, in s."""
    model, npu, precision = Roofline(), run.platform.npu, run.workload.precision
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
    return max(stages, key=lambda operators: stage_s(operators, run))


def samples(
    rows: Sequence[MeasuredRow], kept: Path | None = None, *, told: bool = False
) -> list[Sample]:
    """The measured runs that can be simulated.

    Args:
        rows: Of the table.
        kept: File with runs that were simulated before: where workload, plan and software are
            still the same, what is not compute of the busiest stage is taken from them.
        told: Rows tell the release of their software, where their publisher does.
    """
    machines, simulator, found = Machines(), Simulator(), []
    known: dict[str, Sample] = {}
    if kept is not None and kept.exists():
        known = {_key(sample.run): sample for sample in pickle.loads(kept.read_bytes())}
    for row in map(released, rows) if told else rows:
        try:
            run = run_of(row, machines)
            measured_s = training_s(row)
            if measured_s:
                found.append(_sample(row, run, measured_s, simulator, known))
        except errors.SimcoreError:
            continue
    if kept is not None:
        kept.write_bytes(pickle.dumps(found))
    return found


def released(row: MeasuredRow) -> MeasuredRow:
    """*row* with the release of its software, where its place in the publisher's table tells it.

    Predictions do not know it: the place tells the table of times too.
    """
    told = search(r"release ([\d.]+)", row.text("source_loc"))
    return replace(row, cells={**row.cells, "release": told[1]}) if told else row


def _key(run: Run) -> str:
    """Text that equal runs share, whatever values their accelerator has."""
    beside = {"workload": {"model": {"name"}}, "platform": {"npu": {"efficiency", "sources"}}}
    return run.model_dump_json(exclude=beside)


def _sample(
    row: MeasuredRow,
    run: Run,
    measured_s: float,
    simulator: Simulator,
    known: dict[str, Sample],
) -> Sample:
    key = _key(run)
    if key not in known:
        operators = busiest_stage(run)
        busy_s = stage_s(operators, run)
        batches = microbatches(run.workload, run.plan)
        bubble = 1 + (run.plan.pp - 1) / (batches * run.plan.interleave)
        rest_s = simulator.simulate(run).iteration_time_s - bubble * busy_s
        stack = run.stack or ""
        known[key] = Sample("", "", "", "", stack, run, 0.0, operators, busy_s, bubble, rest_s)
    same = known[key]
    return Sample(
        row.id,
        row.text("source"),
        "|".join(row.text(column) for column in GROUP),
        "|".join(row.text(column) for column in LAYOUT_GROUP),
        same.stack,
        run,
        measured_s,
        same.operators,
        stage_s(same.operators, run),
        same.bubble,
        same.rest_s,
    )
