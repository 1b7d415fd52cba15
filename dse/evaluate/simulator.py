"""Evaluates designs by simulating a training iteration, and pricing the machine."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dse.evaluate.assign import kept_slots, run_values, trimmed_run
from dse.evaluate.base import Evaluator, EvaluatorInput
from dse.evaluate.cost_file import CostFile
from dse.evaluate.money import CostMeter
from dse.evaluate.run_check import RunChecker
from dse.space import Design
from simcore import InfeasibleError, IterationResult, Run, RunTemplate, check_run, simulate_run


class SimulatorEvaluator(Evaluator):
    """One run template per number of network dimensions; names in the run are resolved once."""

    def __init__(self, what: EvaluatorInput) -> None:
        self._input = what
        beside = Path(what.folder) if what.folder else None
        self._runs = {kept: trimmed_run(what.run, kept) for kept in what.dimensions.values()}
        self._templates = {
            kept: RunTemplate.from_table(run, beside=beside) for kept, run in self._runs.items()
        }
        self._bounds_memory = any(limit.name == "fits_in_memory" for limit in what.goals.limits)
        self._meter: CostMeter | None = None
        if what.cost is not None:
            file = CostFile.from_file_data(dict(what.cost), at="cost")
            self._meter = CostMeter(file, what.goals, what.folder)
        self.fidelity = str(what.run.get("backend", "congestion_unaware"))

    def run(self, design: Design) -> Run:
        """The run that *design* means.

        Raises:
            ConfigError: A value that the run file does not allow.
        """
        what = self._input
        kept = kept_slots(design, what.parameters, what.dimensions)
        values = run_values(design, what.parameters, kept, self._runs[kept])
        return self._templates[kept].with_values(values)

    def simulate(self, run: Run) -> IterationResult:
        """Check structure, and memory if the study says so, then simulate.

        Raises:
            InfeasibleError: A rule is broken; nothing has been simulated.
        """
        check_run(run, memory=self._bounds_memory)
        return simulate_run(run)

    def metrics(self, design: Design) -> Mapping[str, float]:
        run = self.run(design)
        result = self.simulate(run)
        metrics = dict(result.metrics())
        metrics["memory_fill"] = result.footprint_bytes / result.memory_bytes
        metrics["npu_bandwidth_bytes_per_s"] = sum(
            dimension.bandwidth_bytes_per_s for dimension in run.platform.dimensions
        )
        if self._meter is not None:
            time_s = metrics["iteration_time_s"]
            metrics |= self._meter.metrics(run.platform, time_s, result.tokens)
        return metrics

    def check(self) -> None:
        run = RunChecker(self._input).check()
        with suppress(InfeasibleError):  # the knobs may mend that; names they cannot
            check_run(run, memory=False)
