"""Designs that are simulated together: from times of their nodes to figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcore.engines.collectives.members import Subsystem
from simcore.engines.stages.workspace import Workspace
from simcore.kernels.many import tables
from simcore.many.figures import Figures
from simcore.many.groups import Outcomes, Prepared, run_groups
from simcore.many.lists import Lists
from simcore.many.parts import PartRows, Parts, distinct_pairs
from simcore.many.plans import PlanRow

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Together:
    """N designs whose collectives and messages are timed.

    Attributes:
        plans, parts: All that are known, by number.
        part: Of each design.
        machine: Rows of the kernels' tables.
        times: Of collectives and messages.
        operator_ns: Times of the operators of a plan on an accelerator, by their numbers.
        lists: Collectives between stages.
    """

    plans: Mapping[int, PlanRow]
    parts: Parts
    part: PartRows
    machine: tables.MachineRows
    times: tables.RowTimes
    operator_ns: Callable[[int, int], Ints]
    lists: Lists

    def run(self, rows: Ints, workspace: Workspace) -> Outcomes:
        """Iterations of the designs *rows*."""
        part, systems = self.part, self.parts.systems.things
        profiles = [one.profile for one in systems]
        delays = np.array([one.endpoint_delay_ns for one in systems], np.int64)
        distinct = list(dict.fromkeys(profiles))
        number = np.array([distinct.index(one) for one in profiles], np.int64)
        # of one dimension a list has the topology and algorithm, of several it is a ring
        several = part.dimensions.shape[1] > 1
        prepared = Prepared(
            plans=self.plans,
            plan=part.work,
            operator_ns=self.operator_ns,
            accelerator=part.accelerator,
            links=self.machine.links,
            memory_bytes_per_s=self.machine.memory_bytes_per_s,
            times=self.times,
            profile=number[part.system],
            profiles=distinct,
            subsystem=self._subsystem,
            list_key=self.machine.system if several else np.arange(part.system.size),
            has_list_keys=several,
            lists=self.lists,
            lead_ns=delays[part.system],
        )
        return run_groups(prepared, rows, workspace)

    def _subsystem(self, row: int) -> Subsystem:
        part, parts = self.part, self.parts
        npu = parts.accelerators.things[part.accelerator[row]][0]
        dimensions = [parts.dimensions.things[d] for d in part.dimensions[row].tolist()]
        system = parts.systems.things[part.system[row]]
        return Subsystem(dimensions, system, npu.memory_bandwidth_bytes_per_s)

    def metrics(self, rows: Ints, outcomes: Outcomes) -> tuple[dict[str, Floats], Bools]:
        """Metrics by name, NaN but for *rows*, and (N,) bool: they are such as can be."""
        parts, part = self.parts, self.part.of(rows)
        pairs, _, which = distinct_pairs(part.work, part.accelerator)
        peaks = [
            parts.accelerators.things[number][0].peak(self.plans[plan].workload.precision)
            for plan, number in pairs
        ]
        usable = np.array([one.usable_bandwidth_bytes_per_s for one in parts.dimensions.things])
        figures = Figures(
            time_ns=outcomes.end_ns[rows],
            held_ns=self.times.held_ns[rows],
            sent_bytes=self.times.sent_bytes[rows],
            link_bytes=self.times.link_bytes[rows],
            rates=usable[part.dimensions],
            peak=np.array(peaks, np.float64)[which],
            **self._of_plans(part.work),
        ).metrics()
        possible = np.zeros(self.part.work.size, np.bool_)
        values = np.stack(list(figures.values()))
        possible[rows] = np.isfinite(values).all(axis=0) & (values >= 0).all(axis=0)
        found = dict(outcomes.columns)
        for name, column in figures.items():
            found[name] = np.full(possible.size, np.nan)
            found[name][rows] = column
        return found, possible

    def _of_plans(self, work: Ints) -> dict[str, Any]:
        """Columns that follow from plans alone."""
        numbers, which = np.unique(work, return_inverse=True)
        plans = [self.plans[number] for number in numbers.tolist()]
        columns: dict[str, Sequence[float]] = {
            "npus": [one.plan.npus for one in plans],
            "npus_per_stage": [one.plan.npus_per_stage for one in plans],
            "tokens": [one.workload.tokens for one in plans],
            "model_flop": [one.model_flop for one in plans],
            "matrix_flop": [one.counts.matrix_flop for one in plans],
            "footprint_bytes": [float(one.needed.total_bytes) for one in plans],
        }
        return {name: np.array(values)[which.ravel()] for name, values in columns.items()}


def empty_times(plans: tables.PlanTables, rows: tables.MachineRows) -> tables.RowTimes:
    """Room for the times of *rows*."""
    designs, dimensions = rows.links.shape
    counts = plans.plans["count"][rows.plan]
    messages = 2 * plans.plans["stages"][rows.plan]
    return tables.RowTimes(
        first=np.cumsum(counts) - counts,
        duration_ns=np.zeros(int(counts.sum()), np.int64),
        last_ns=np.zeros(int(counts.sum()), np.int64),
        first_message=np.cumsum(messages) - messages,
        message_ns=np.zeros(int(messages.sum()), np.int64),
        held_ns=np.zeros(designs, np.int64),
        sent_bytes=np.zeros((designs, dimensions)),
        link_bytes=np.zeros((designs, dimensions)),
        instant=np.zeros(designs, np.int64),
        state=np.zeros(designs, np.int64),
    )
