"""Checks a study's run file and its knobs against each other before anything is evaluated."""

from pathlib import Path

from dse.evaluate.assign import kept_slots, run_values, trimmed_run
from dse.evaluate.base import EvaluatorInput
from dse.space import Design, Value
from simcore import ConfigError, Run, RunTemplate


class RunChecker:
    """The run templates of a study, one per number of network dimensions."""

    def __init__(self, what: EvaluatorInput) -> None:
        self._input = what
        beside = Path(what.folder) if what.folder else None
        self._runs = {kept: trimmed_run(what.run, kept) for kept in what.dimensions.values()}
        try:
            self._templates = {
                kept: RunTemplate.from_table(run, beside=beside) for kept, run in self._runs.items()
            }
        except ConfigError as error:
            raise _of_run(error) from None

    def check(self) -> Run:
        """See whether the run is valid, and stays so with every value of every knob.

        Returns:
            The run without any knob's value.

        Raises:
            ConfigError: It is not; names the knob.
        """
        try:
            runs = [template.with_values({}) for template in self._templates.values()]
            runs[0].platform.npu.peak(runs[0].workload.precision)
        except ConfigError as error:
            raise _of_run(error) from None
        for name, parameter in self._input.parameters.items():
            values: tuple[Value, ...] = parameter.choices or (parameter.low, parameter.high)
            for value in values:
                self._check_value(name, value)
        return runs[0]

    def check_npus(self, design: Design) -> None:
        """See whether the plan of *design* uses as many NPUs as its platform has.

        Raises:
            ConfigError: It does not.
        """
        what = self._input
        kept = kept_slots(design, what.parameters, what.dimensions)
        values = run_values(design, what.parameters, kept, self._runs[kept])
        run = self._templates[kept].with_values(values)
        if run.plan.npus != run.platform.npus:
            rule = f"the plan must use the {run.platform.npus} NPUs that the dimensions multiply to"
            raise ConfigError("space", rule, got=f"tp x cp x pp x dp = {run.plan.npus}")

    def _check_value(self, name: str, value: Value) -> None:
        what = self._input
        slot = what.parameters[name].slot
        kept = next((k for k in what.dimensions.values() if slot is None or slot in k), None)
        try:
            if kept is None:
                known = ", ".join(str(k) for kept in what.dimensions.values() for k in kept)
                raise ConfigError("", f"positions in the run's list are {known}", got=slot)
            values = run_values({name: value}, what.parameters, kept, self._runs[kept])
            self._templates[kept].with_values(values)
        except ConfigError as error:
            raise ConfigError(f"space: {name}", error.rule, got=error.got) from None


def _of_run(error: ConfigError) -> ConfigError:
    """The same error, told from the study file, unless it is one of another file."""
    return error if ".yaml" in error.at or ".yml" in error.at else error.under("run")
