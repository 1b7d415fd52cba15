"""Fidelities: ways to judge designs, from the coarsest to the finest."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dse.evaluate.base import BOUND, EvaluatorInput
from simcore import BACKENDS, Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """One way to judge designs.

    Attributes:
        name: Under which evaluations tell it.
        backend: Network backend of the simulator; empty: nothing is simulated, designs are screened
            by their bounds.
        phase_end: When NPUs go on after a phase of a collective; empty: as the run says.
    """

    name: str
    backend: str
    phase_end: str = ""

    def judging(self, what: EvaluatorInput) -> EvaluatorInput:
        """The input of the evaluator that judges like this what *what* describes."""
        return replace(
            what,
            run=self._run(what.run),
            scenarios=tuple(replace(one, run=self._run(one.run)) for one in what.scenarios),
            fidelity=self.name,
        )

    def _run(self, run: Mapping[str, Any]) -> dict[str, Any]:
        found = {**run, "backend": self.backend}
        if self.phase_end:
            found["system"] = {**(run.get("system") or {}), "phase_end": self.phase_end}
        return found


_COARSE_TO_FINE = (
    Fidelity(name=BOUND, backend=""),
    Fidelity(name="phases_together", backend="congestion_unaware", phase_end="together"),
    Fidelity(name="congestion_unaware", backend="congestion_unaware", phase_end="each"),
    Fidelity(name="flow", backend="flow"),
    Fidelity(name="congestion_aware", backend="congestion_aware"),
    Fidelity(name="congestion_aware_multidim", backend="congestion_aware_multidim"),
    Fidelity(name="packet", backend="packet"),
    Fidelity(name="flit", backend="flit"),
)

FIDELITIES = Registry("a fidelity", {one.name: one for one in _COARSE_TO_FINE})
"""From coarse to fine."""


def fidelity_named(name: str) -> Fidelity:
    """The level that *name* means: one of the table, or that of a network from outside.

    Raises:
        ConfigError: There is none; lists those there are.
    """
    if name not in FIDELITIES and name in BACKENDS:
        return Fidelity(name=name, backend=name)
    if name not in FIDELITIES:
        raise FIDELITIES.unknown(name)
    return FIDELITIES[name]
