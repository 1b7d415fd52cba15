"""simulate_many(): thousands of designs, as columns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcore.bounds.design_columns import Codes, DesignColumns
from simcore.config import RunTemplate
from simcore.errors import InfeasibleError, SimcoreError
from simcore.garbage import no_collection
from simcore.many.batch import Batch, Tables
from simcore.many.columns import (
    COMPLETE,
    FAILED,
    INFEASIBLE,
    TOGETHER,
    Simulations,
    Source,
)
from simcore.memory.fit import MemoryFit
from simcore.result import IterationResult
from simcore.simulation import Simulator

BLOCK = 4096
"""Designs whose times are in memory at once."""


class ManySimulator:
    """Simulates the designs of one run file, thousands at a time.

    Plans, machines and systems are worked out when a design first asks for them, and kept.

    Args:
        template: The run file, for everything that designs do not set.
        choices: By path in the run file, the values that designs choose from.
        memory: Refuse designs that need more memory than there is.
        margin: Part of the memory that such a design has to leave.
        simulator: Simulates designs by themselves; what it keeps is of use here too.
        share: Part of every link's bandwidth that can be used.
    """

    def __init__(
        self,
        template: RunTemplate,
        choices: Mapping[str, Sequence[Any]],
        *,
        memory: bool = False,
        margin: float = 0.0,
        simulator: Simulator | None = None,
        share: float = 1.0,
    ) -> None:
        self._share = share
        self._template, self._choices = template, dict(choices)
        self._memory, self._margin = memory, margin
        self._simulator = simulator or Simulator()
        memo = self._simulator.memo
        self._tables = Tables(
            template, choices, memo, margin=margin if memory else None, share=share
        )

    @property
    def joins(self) -> bool:
        """True if some designs can be simulated together; if not, all are one by one."""
        return self._tables.are_read

    def simulate(self, codes: Codes) -> Simulations:
        """Simulate N designs.

        Args:
            codes: By path, (N,) positions in the choices; -1 leaves the run file's own value.
        """
        designs = len(next(iter(codes.values()))) if codes else 1
        found = _Columns(designs)
        with no_collection():
            for rows in self._tables.blocks(codes, designs, BLOCK):
                block = {path: column[rows] for path, column in codes.items()}
                found.put(rows, self._tables.simulate(block, rows.size))
        for row in np.flatnonzero(found.is_open).tolist():
            self._alone(found, codes, row)
        return found.simulations(lambda row: self._result(codes, row))

    def _result(self, codes: Codes, row: int) -> IterationResult:
        chosen = {path: int(column[row]) for path, column in codes.items()}
        values = {path: self._choices[path][at] for path, at in chosen.items() if at >= 0}
        run = self._template.with_values(values)
        if self._share != 1.0:
            run = run.model_copy(update={"platform": run.platform.with_share(self._share)})
        return self._simulator.simulate(run, memory=self._memory, margin=self._margin)

    def _alone(self, found: "_Columns", codes: Codes, row: int) -> None:
        """Simulate one design by itself."""
        self._tables.recall(codes, row)
        try:
            result = self._result(codes, row)
        except SimcoreError as error:
            found.fail(row, error)
            return
        found.time_ns[row] = round(result.iteration_time_s * 1e9)
        metrics = result.metrics()
        for name, value in metrics.items():
            found.column(name)[row] = value
        found.state[row] = COMPLETE
        found.sources[row] = _Alone(tuple(metrics), result.notes, result.memory_fit), 0


@dataclass(frozen=True, slots=True)
class _Alone:
    """Remarks on one design that was simulated by itself."""

    own_names: tuple[str, ...]
    own_notes: tuple[str, ...]
    own_fit: MemoryFit

    def names(self, at: int) -> tuple[str, ...]:
        return self.own_names

    def notes(self, at: int) -> tuple[str, ...]:
        return self.own_notes

    def memory_fit(self, at: int) -> MemoryFit:
        return self.own_fit


class _Columns:
    """Figures of designs as they come in."""

    def __init__(self, designs: int) -> None:
        self.time_ns = np.zeros(designs, np.int64)
        self.metrics: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
        self.state = [""] * designs
        self.rule = [""] * designs
        self.ways = [TOGETHER] * designs
        self.errors: dict[int, Exception] = {}
        self.sources: dict[int, tuple[Source, int]] = {}

    @property
    def is_open(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """(N,) bool: designs that are still to be simulated."""
        return np.array([not state for state in self.state], np.bool_)

    def column(self, name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The metric *name* of all designs."""
        if name not in self.metrics:
            self.metrics[name] = np.full(len(self.state), np.nan)
        return self.metrics[name]

    def fail(self, row: int, error: Exception) -> None:
        """The design *row* breaks a rule, or has no result."""
        is_rule = isinstance(error, InfeasibleError)
        self.state[row] = INFEASIBLE if is_rule else FAILED
        self.rule[row] = error.rule if isinstance(error, InfeasibleError) else ""
        self.errors[row] = error

    def put(self, rows: np.ndarray[Any, np.dtype[np.int64]], batch: Batch) -> None:
        """Take over the designs *rows*."""
        self.time_ns[rows] = batch.time_ns
        for name, values in batch.metrics.items():
            self.column(name)[rows] = values
        for at, row in enumerate(rows.tolist()):
            if at in batch.remarks:
                self.sources[row] = batch.remarks[at]
            if at in batch.errors:
                self.fail(row, batch.errors[at])
            elif at in batch.apart:
                self.ways[row] = batch.apart[at]
            else:
                self.state[row] = COMPLETE

    def simulations(self, result: Any) -> Simulations:
        return Simulations(
            iteration_time_ns=self.time_ns,
            metrics=self.metrics,
            state=self.state,
            rule=self.rule,
            ways=self.ways,
            _errors=self.errors,
            _sources=self.sources,
            _result=result,
        )


def simulate_many(
    run: RunTemplate | Mapping[str, Any],
    designs: object,
    *,
    memory: bool = False,
    margin: float = 0.0,
) -> Simulations:
    """Simulate many designs; each has the result of ``simulate_run``, to the nanosecond.

    Args:
        run: The run file (its table, or a template) that the designs change.
        designs: What they change by path: a list of dicts, a mapping of columns, or a DataFrame.
        memory: Refuse designs that need more memory than there is.
        margin: Part of the memory that such a design has to leave.

    Returns:
        Columns: times, metrics, and which rule a design breaks.

    Raises:
        ConfigError: *designs* is none of these.
    """
    columns = DesignColumns.of(designs)
    template = run if isinstance(run, RunTemplate) else RunTemplate.from_table(dict(run))
    many = ManySimulator(template, columns.choices, memory=memory, margin=margin)
    return many.simulate(columns.codes)
