"""What the knobs of a study bear on."""

from dse.space import Parameter

_UNCHECKED = (".bandwidth", ".latency", ".oversubscription", ".topology")
"""Ends of paths that neither structure nor memory depends on."""


def bears_on_memory(knob: Parameter) -> bool:
    """Whether the structure of a design or the memory that it needs depends on *knob*."""
    paths = knob.targets or (knob.name,)
    return not all(path.startswith("system.") or path.endswith(_UNCHECKED) for path in paths)
