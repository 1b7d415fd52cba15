"""Holds costs that an evaluator tells of machines beforehand against those that it measures."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from math import isclose

from dse.evaluate.base import Evaluation
from dse.proof.machines import OF_MACHINE, PER_TIME, Machines, machines_of
from dse.proof.one_scenario import in_scenario
from dse.space import Design
from dse.study.compile import Study
from simcore import InfeasibleError, SimulationError

_HELD = 16
"""Evaluated designs that are looked at: to price every machine is work that only samplers need."""

_TOLERANCE = 1e-6
"""Relative; the same sum in another order differs by less."""


class ToldCosts:
    """Sees when costs that are known beforehand are not those of the first evaluated designs.

    What is concluded from them (designs that are left out, gaps) would be wrong. An evaluator that
    tells others in few designs alone is not found out.
    """

    def __init__(self, study: Study) -> None:
        self._study, self._left = study, _HELD

    @cached_property
    def _machines(self) -> Mapping[str, Machines]:
        """Machines of each scenario by the ending of its metrics."""
        study = self._study
        return {
            f"@{one.name}": machines_of(in_scenario(study, one))
            for one in study.evaluator_input.scenarios
        } or {"": machines_of(study)}

    @property
    def holds(self) -> bool:
        """True if more evaluations are looked at."""
        return self._left > 0

    def hold(self, design: Design, found: Evaluation) -> None:
        """Look at an evaluation, if it is among the first.

        Raises:
            SimulationError: A metric that was told is another one, or a machine that it says is not
                sold was evaluated.
        """
        if not self._left or not found.is_measured:
            return
        self._left -= 1
        for name, told, measured in self._pairs(design, found.metrics):
            if not isclose(measured, told, rel_tol=_TOLERANCE):
                raise SimulationError(
                    f"machine_costs of {self._study.file.evaluator} told {told:.6g} {name} of a "
                    f"design that it then gave {measured:.6g}: it must tell what account gives, or "
                    "return None."
                )

    def _pairs(
        self, design: Design, metrics: Mapping[str, float]
    ) -> Iterator[tuple[str, float, float]]:
        """Names of the metrics that are known of both, as they were told and as they are."""
        for ending, machines in self._machines.items():
            told = machines.metrics(design)
            if isinstance(told, InfeasibleError):
                name = self._study.file.evaluator
                rule = f"machine_costs of {name} refused a machine that account then took"
                raise SimulationError(f"{rule}: {told}")
            time_s = metrics.get(f"iteration_time_s{ending}")
            for name, amount in told.items():
                measured = metrics.get(name + ending)
                if measured is None or name == "iteration_time_s":
                    continue
                if name in OF_MACHINE:
                    yield name + ending, amount, measured
                elif name in PER_TIME and time_s is not None:
                    yield name + ending, amount * time_s, measured
