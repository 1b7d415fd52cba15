"""What the knobs of a study bear on."""

from dse.evaluate.base import EvaluatorInput
from dse.space import Parameter
from simcore import DEFAULT_BACKEND

_UNCHECKED = (".bandwidth", ".latency", ".oversubscription", ".topology")
"""Ends of paths that neither structure nor memory depends on."""


def bears_on_memory(knob: Parameter) -> bool:
    """Whether the structure of a design or the memory that it needs depends on *knob*."""
    paths = knob.targets or (knob.name,)
    return not all(path.startswith("system.") or path.endswith(_UNCHECKED) for path in paths)


def backends_of(what: EvaluatorInput) -> frozenset[str]:
    """Names of the network backends that the designs of a study are simulated with."""
    runs = [what.run, *(scenario.run for scenario in what.scenarios)]
    found = {str(run.get("backend", DEFAULT_BACKEND)) for run in runs}
    knobs = [
        knob for knob in what.parameters.values() if "backend" in (knob.targets or (knob.name,))
    ]
    return frozenset(found.union(str(choice) for knob in knobs for choice in knob.choices))
