"""Checks a study's run file and its knobs against each other before anything is evaluated."""

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.runs import DesignRuns
from dse.space import Design, Value
from simcore import ConfigError, Run


class RunChecker:
    """Checks the runs of a study's designs."""

    def __init__(self, what: EvaluatorInput) -> None:
        self._input = what
        try:
            self._runs = DesignRuns(what)
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
            run = self._runs.without_values()[0]
            run.platform.npu.peak(run.workload.precision)
        except ConfigError as error:
            raise _of_run(error) from None
        for name, parameter in self._input.parameters.items():
            values: tuple[Value, ...] = parameter.choices or (parameter.low, parameter.high)
            for value in values:
                self._check_value(name, value)
        return run

    def check_npus(self, design: Design) -> None:
        """See whether the plan of *design* uses as many NPUs as its platform has.

        Raises:
            ConfigError: It does not.
        """
        run = self._runs.run(design)
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
            self._runs.partial_run({name: value}, kept)
        except ConfigError as error:
            raise ConfigError(f"space: {name}", error.rule, got=error.got) from None


def _of_run(error: ConfigError) -> ConfigError:
    """The same error, told from the study file, unless it is one of another file."""
    return error if ".yaml" in error.at or ".yml" in error.at else error.under("run")
