"""Checks a study's run file and its knobs against each other before anything is evaluated."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import product
from typing import Any, Generic, TypeVar

from dse.evaluate.base import EvaluatorInput
from dse.evaluate.designs.runs import DesignRuns, FilledDesigns
from dse.objectives import OBJECTIVES
from dse.space import Design, Value
from simcore import BACKENDS, COMPUTE_MODELS, ConfigError, InfeasibleError, Kernel, Registry, Run

R = TypeVar("R")
_NAMED: dict[str, Registry[Any]] = {"backend": BACKENDS, "compute": COMPUTE_MODELS}
"""Tables of the names at these paths of a run, which the run itself takes as any text."""

_NOTHING = Kernel("nothing", "elementwise", 0.0, 0.0)
"""The least kernel; a compute model that times it has read its tables."""


_BETWEEN = 0.381966
"""Share of a range at which a value is looked at beside both ends: a count is none there."""


class KnobChecker(Generic[R]):
    """Checks what a study's ``run`` holds, with the values of its knobs."""

    def __init__(
        self, what: EvaluatorInput, read: Callable[[EvaluatorInput], FilledDesigns[R]]
    ) -> None:
        self._input = what
        with errors_named_for_run():
            self._runs = read(what)

    def check(self) -> R:
        """See whether the run is valid, and stays so with every value of every knob.

        Returns:
            The run without any knob's value.

        Raises:
            ConfigError: It is not; names the knob.
        """
        with errors_named_for_run():
            run = self._runs.without_values()[0]
        for name, parameter in self._input.parameters.items():
            values: tuple[Value, ...] = parameter.choices
            if parameter.is_continuous:  # what lies between must be right too: no count is
                values = (parameter.low, parameter.high, parameter.value_at(_BETWEEN))
            for value in values:
                self._check_value(name, value)
        return run

    def _check_value(self, name: str, value: Value) -> None:
        what = self._input
        slot = what.parameters[name].slot
        kept = next((k for k in what.dimensions.values() if slot is None or slot in k), None)
        try:
            if kept is None:
                known = ", ".join(str(k) for kept in what.dimensions.values() for k in kept)
                raise ConfigError("", f"positions in the run's list are {known}", got=slot)
            self._check_values({name: value}, kept)
        except ConfigError as error:
            if not self._is_right_beside_others(name, value):
                raise ConfigError(f"space: {name}", error.rule, got=error.got) from None

    def _is_right_beside_others(self, name: str, value: Value) -> bool:
        """True if a value is one that the run takes with those of the knobs that rules tie to it.

        By itself it need not be: an option of one routing is none of the one that the run names.
        """
        what = self._input
        found = None if what.tied is None else what.tied(name, value)
        if found is None:
            return False
        tied, dimensions = found
        try:
            self._check_values(tied, what.dimensions[dimensions])
        except ConfigError:
            return False
        return True

    def _check_values(self, design: Design, kept: Sequence[int]) -> None:
        with suppress(InfeasibleError):  # which the other knobs may mend
            self._runs.partial_run(design, kept)


class RunChecker(KnobChecker[Run]):
    """Checks the runs of a study's designs."""

    def __init__(self, what: EvaluatorInput) -> None:
        super().__init__(what, DesignRuns)

    def check(self) -> Run:
        """Check the run; names must be known, and the precision to the accelerator."""
        run = super().check()
        for name, knob in self._input.parameters.items():
            tables = [one for path, one in _NAMED.items() if path in (knob.targets or (name,))]
            for table, choice in product(tables, knob.choices):
                try:
                    table[str(choice)]
                except ConfigError as error:
                    raise ConfigError(f"space: {name}", error.rule, got=error.got) from None
        with errors_named_for_run():
            run.platform.npu.peak(run.workload.precision)
            check_kernel_times(run)
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


def check_kernel_times(run: Run) -> None:
    """See whether the compute model of *run*, if there is such a one, can read its tables.

    Raises:
        ConfigError: It cannot.
    """
    if run.compute in COMPUTE_MODELS:
        model = COMPUTE_MODELS[run.compute]()
        model.kernel_time_ns(_NOTHING, run.platform.npu, run.workload.precision)


def check_goals(
    what: EvaluatorInput, known: Collection[str], noun: str, gives: Sequence[str] = ()
) -> None:
    """See whether designs have what objectives and limits are made of.

    Args:
        what: The study.
        known: Names of the metrics that the evaluator gives.
        noun: Name of what is evaluated, for the message.
        gives: Further metrics, which objectives may name as such.

    Raises:
        ConfigError: They have not; names the objectives that they have.
    """
    goals, given = what.goals, {*known, *gives, *(name for own in what.own for name in own.gives)}
    asked = [(f"objectives.{name}", name, OBJECTIVES[name]) for name in goals.objectives]
    asked += [("constraints", limit.name, limit.metric) for limit in goals.limits]
    for at, name, objective in asked:
        if not given.issuperset(objective.metrics):
            able = [each for each, own in OBJECTIVES.items() if given.issuperset(own.metrics)]
            raise ConfigError(at, f"{noun} has {', '.join([*able, *gives])}", got=name)


@contextmanager
def errors_named_for_run() -> Iterator[None]:
    """Errors are told from the study file, unless they are of another file."""
    try:
        yield
    except ConfigError as error:
        if error.names_file:
            raise
        raise error.under("run") from None
