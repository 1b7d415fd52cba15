"""How closely designs can be judged, from the coarsest to the finest way."""

from dataclasses import dataclass, replace

from dse.evaluate.base import BOUND, EvaluatorInput
from simcore import Registry


@dataclass(frozen=True, slots=True, kw_only=True)
class Fidelity:
    """One way to judge designs.

    Attributes:
        backend: Network backend of the simulator, under which evaluations name it; empty: nothing
            is simulated, designs are screened by their bounds.
    """

    backend: str

    def judging(self, what: EvaluatorInput) -> EvaluatorInput:
        """The input of the evaluator that judges like this what *what* describes."""
        return replace(
            what,
            run={**what.run, "backend": self.backend},
            scenarios=tuple(
                replace(one, run={**one.run, "backend": self.backend}) for one in what.scenarios
            ),
        )


FIDELITIES = Registry(
    "a fidelity",
    {
        BOUND: Fidelity(backend=""),
        "congestion_unaware": Fidelity(backend="congestion_unaware"),
        "congestion_aware": Fidelity(backend="congestion_aware"),
        "congestion_aware_multidim": Fidelity(backend="congestion_aware_multidim"),
    },
)
"""From coarse to fine."""
